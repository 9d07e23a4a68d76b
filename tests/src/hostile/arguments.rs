//! Words of a command line.
use std::io::sink;
use std::sync::OnceLock;

use harness::{Rung, Switch};

use crate::workspace::rung;

/// Words after `cargo ladder layout`.
pub(super) fn layouts(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let words: Vec<&str> = text.lines().collect();
    if let Err(error) = ladder::untrusted::layout(&words) {
        drop(format!("{error:#}"));
    }
}

/// Words of rung 01. The limits come last, since the last flag counts.
pub(super) fn arguments(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let words = text.lines().filter(|word| !word.starts_with("--kernel"));
    let bounds =
        "--device emulator --max-memory 1M --max-instructions 20000 --max-blocks 64 --runs 1";
    let words: Vec<&str> = ["rung01_naive"]
        .into_iter()
        .chain(words)
        .chain(bounds.split(' '))
        .collect();
    harness::main_with(naive(), &words, &mut sink());
}

/// Rung 01, with its switch.
fn naive() -> &'static Rung {
    static RUNG: OnceLock<Rung> = OnceLock::new();
    RUNG.get_or_init(|| Rung {
        switches: &[Switch {
            name: "uncoalesced",
            help: "",
        }],
        ..rung("01_naive")
    })
}
