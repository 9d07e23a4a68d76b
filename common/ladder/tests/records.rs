//! What is committed under results/ is what its bench.json gives, and what is no record is refused.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

fn ladder(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ladder"))
        .args(arguments)
        .output()
        .expect("the ladder starts")
}

fn said(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8(text).expect("text")
}

/// The folders of results/ that hold a record.
fn records() -> Vec<PathBuf> {
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../results");
    let entries = fs::read_dir(results).expect("results/").flatten();
    let folders = entries.map(|entry| entry.path());
    folders
        .filter(|path| path.join("bench.json").is_file())
        .collect()
}

/// A copy of the first record, to be spoilt.
fn copy() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let record = records().swap_remove(0);
    for name in [
        "bench.json",
        "bench.csv",
        "bench.md",
        "rungs.svg",
        "sizes.svg",
    ] {
        fs::copy(record.join(name), folder.path().join(name)).expect(name);
    }
    folder
}

#[test]
fn committed_tables_and_plots_are_what_bench_json_gives() {
    assert!(!records().is_empty());
    let output = ladder(&["plot", "--check"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let current = said(&output).matches(" is current").count();
    assert_eq!(current, records().len());
}

#[test]
fn what_is_stale_is_named_and_made_anew() {
    let folder = copy();
    let path = folder.path().to_str().expect("text");
    let svg = folder.path().join("rungs.svg");
    let right = fs::read_to_string(&svg).expect("it was copied");
    fs::write(&svg, right.replace("678.3", "778.3")).expect("writable");
    fs::remove_file(folder.path().join("bench.csv")).expect("it was copied");

    let check = ladder(&["plot", "--check", path]);
    let text = said(&check);
    assert_eq!(check.status.code(), Some(1), "{text}");
    assert!(
        text.contains("rungs.svg is not") && text.contains("bench.csv is not"),
        "{text}"
    );
    assert!(!text.contains("sizes.svg"), "{text}");

    assert_eq!(ladder(&["plot", path]).status.code(), Some(0));
    assert_eq!(fs::read_to_string(&svg).expect("it was written"), right);
    assert_eq!(ladder(&["plot", "--check", path]).status.code(), Some(0));
}
