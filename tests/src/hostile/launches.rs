//! Sources, words and arrays that strangers give to `cargo ladder emulate`.
use ladder::untrusted::emulate;

/// The first byte says whether one kernel is asked for; the rest is CUDA source, of which the host's part becomes blank
/// and nothing else changes.
///
/// # Panics
/// If more changes.
pub(super) fn sources(bytes: &[u8]) {
    let (&choice, source) = bytes.split_first().unwrap_or((&0, &[]));
    let kernel = (choice % 2 == 1).then_some("lab::reduce<float, 256>");
    // What is no UTF-8 is replaced before.
    let source = String::from_utf8_lossy(source);
    let left = emulate::device_code(source.as_bytes(), kernel);
    assert_eq!(left.len(), source.len());
    // What follows the word is mostly the variable.
    for words in source.split("__shared__").skip(1).take(4) {
        let name = words.split(|c: char| !c.is_alphanumeric() && c != '_');
        name.filter(|name| !name.is_empty())
            .take(4)
            .for_each(|name| drop(emulate::declared(&source, name)));
    }
    let same = |(old, new): (u8, u8)| old == new || new == b' ' && !matches!(old, b'\n' | b'\r');
    assert!(source.bytes().zip(left.bytes()).all(same), "a line moved");
}

/// The first byte says whether it is an array's file, or words, one a line, and a file with a head.
pub(super) fn launches(bytes: &[u8]) {
    let (&choice, text) = bytes.split_first().unwrap_or((&0, &[]));
    match choice % 2 {
        0 => drop(emulate::launch(&String::from_utf8_lossy(text))),
        _ => {
            if let Ok(written) = emulate::array(text) {
                // What is written can be read, and is the same then.
                assert_eq!(emulate::array(&written).as_deref(), Ok(&*written));
            }
        }
    }
}
