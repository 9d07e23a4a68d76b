//! CUDA sources, words and arrays that users give to `cargo ladder emulate`.
use ladder::untrusted::emulate;

/// The first byte says whether one kernel is selected; the rest is CUDA source. Extracting its device code replaces
/// the host code by blanks and changes nothing else.
///
/// # Panics
/// If anything else changes.
pub(super) fn sources(bytes: &[u8]) {
    let (&choice, source) = bytes.split_first().unwrap_or((&0, &[]));
    let kernel = (choice % 2 == 1).then_some("lab::reduce<float, 256>");
    // Invalid UTF-8 is replaced first.
    let source = String::from_utf8_lossy(source);
    let left = emulate::device_code(source.as_bytes(), kernel);
    assert_eq!(left.len(), source.len());
    // The rest of the line is usually the variable.
    for words in source.split("__shared__").skip(1).take(4) {
        let name = words.split(|c: char| !c.is_alphanumeric() && c != '_');
        name.filter(|name| !name.is_empty())
            .take(4)
            .for_each(|name| drop(emulate::declared(&source, name)));
    }
    let same = |(old, new): (u8, u8)| old == new || new == b' ' && !matches!(old, b'\n' | b'\r');
    assert!(source.bytes().zip(left.bytes()).all(same), "a line moved");
}

/// The first byte selects the input: an array's file, or words, one on each line, and a file with a head.
pub(super) fn launches(bytes: &[u8]) {
    let (&choice, text) = bytes.split_first().unwrap_or((&0, &[]));
    match choice % 2 {
        0 => drop(emulate::launch(&String::from_utf8_lossy(text))),
        _ => {
            if let Ok(written) = emulate::array(text) {
                // A written array can be read back unchanged.
                assert_eq!(emulate::array(&written).as_deref(), Ok(&*written));
            }
        }
    }
}
