//! Randomly changed texts of kernels from other repositories: they are returned, and no line moves.
use std::path::Path;

use harness::splitmix64;

use super::untrusted;

/// A sequence of random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 += 1;
        (splitmix64(self.0) % most.max(1) as u64) as usize
    }
}

/// The files of tests/strangers.
fn files() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/strangers");
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.retain(|path| path.is_file());
    paths.sort();
    paths
        .iter()
        .map(|path| std::fs::read(path).expect("a file"))
        .collect()
}

/// Tokens that have a meaning.
const PIECES: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    "<",
    ">",
    "[",
    "]",
    ";",
    ":",
    "::",
    ",",
    "\"",
    "'",
    "/*",
    "*/",
    "//",
    "\\\n",
    "\n",
    "#if 1\n",
    "\n#else\n",
    "\n#endif\n",
    "\n#define X(a) {\n",
    "X(1)",
    "R\"(",
    "template <",
    "operator",
    "struct",
    "enum",
    "class",
    "using",
    "typedef",
    "namespace a {",
    "extern \"C\" {",
    "__global__ void",
    "__device__",
    "= default;",
    "static_assert(",
    "<<<",
    ">>>",
    "\u{feff}",
    "\u{e9}",
    "\0",
];

/// A text with random changes: tokens inserted, removed or doubled, bytes flipped.
fn mutated(files: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut text = files[random.below(files.len())].clone();
    let start = random.below(text.len());
    let end = start + random.below((text.len() - start).min(4000));
    text = text[start..end].to_vec();
    for _ in 0..random.below(12) {
        let at = random.below(text.len() + 1);
        let piece = PIECES[random.below(PIECES.len())].as_bytes();
        match random.below(4) {
            0 => drop(text.splice(at..at, piece.iter().copied())),
            1 => drop(text.drain(at..(at + random.below(40)).min(text.len()))),
            2 => {
                let end = (at + random.below(200)).min(text.len());
                let copy = text[at..end].to_vec();
                let to = random.below(text.len() + 1);
                text.splice(to..to, copy);
            }
            _ => {
                if let Some(byte) = text.get_mut(at) {
                    *byte = random.below(256) as u8;
                }
            }
        }
    }
    text
}

fn feed(rounds: u64, seed: u64) {
    let files = files();
    let mut random = Random(seed << 32);
    for round in 0..rounds {
        let text = mutated(&files, &mut random);
        let source = String::from_utf8_lossy(&text).into_owned();
        let kernel = [None, Some("reduce<float, 256>"), Some("nosuch")][random.below(3)];
        let left = untrusted::device_code(source.as_bytes(), kernel);
        let same =
            |(old, new): (u8, u8)| old == new || new == b' ' && !matches!(old, b'\n' | b'\r');
        assert!(
            left.len() == source.len() && source.bytes().zip(left.bytes()).all(same),
            "round {round}:\n{source}"
        );
        untrusted::launch(&source);
    }
}

#[test]
fn changed_sources_terminate() {
    feed(300, 1);
}

/// Runs for minutes.
#[test]
#[ignore = "takes minutes"]
fn many_changed_sources_terminate() {
    feed(30_000, 2);
}

/// Words of launches and arrays, with random bytes changed.
#[test]
fn changed_words_and_arrays_terminate() {
    let words = "f32[4096]=normal:7\nbf16[64,2]=uniform(-1,1)\nu8[2x3]=1,2,3,4,5,6\na.npy\nf16=a.npy\nf16=0.5\nhex:00 ff\n@0\nnull\n-0x1f\n1e-3\n\
        // cargo ladder emulate: --kernel 'a<b, 4>' --grid 8,2 --arg 'f32[4]=iota' --symbol a=f32=1 --expect 1=c.npy --tolerance 1e-3,0\n";
    let array = super::npy::write(&super::npy::Array {
        element: super::element::Element::F16,
        shape: vec![3, 2],
        bytes: vec![7; 12],
    });
    let mut random = Random(3 << 32);
    for _ in 0..20_000 {
        let mut text = words.as_bytes().to_vec();
        let mut file = array.clone();
        for bytes in [&mut text, &mut file] {
            for _ in 0..=random.below(4) {
                let at = random.below(bytes.len());
                match random.below(3) {
                    0 => bytes[at] = random.below(256) as u8,
                    1 => drop(bytes.remove(at)),
                    _ => bytes.insert(at, b"0123456789[](){},=-:x'"[random.below(22)]),
                }
            }
        }
        untrusted::launch(&String::from_utf8_lossy(&text));
        if let Ok(written) = untrusted::array(&file) {
            assert_eq!(untrusted::array(&written), Ok(written));
        }
    }
}
