//! The files committed under results/ match their bench.json, and malformed records are refused.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
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

/// A copy of the first record, for modification.
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
fn stale_files_are_named_and_regenerated() {
    let folder = copy();
    let path = folder.path().to_str().expect("text");
    let svg = folder.path().join("rungs.svg");
    let right = fs::read_to_string(&svg).expect("it was copied");
    fs::write(&svg, right.replacen("TFLOP/s", "GFLOP/s", 1)).expect("writable");
    fs::remove_file(folder.path().join("bench.csv")).expect("it was copied");

    let check = ladder(&["plot", "--check", path]);
    let text = said(&check);
    assert_eq!(check.status.code(), Some(1), "{text}");
    assert!(
        text.contains("rungs.svg does not match") && text.contains("bench.csv does not match"),
        "{text}"
    );
    assert!(!text.contains("sizes.svg"), "{text}");

    assert_eq!(ladder(&["plot", path]).status.code(), Some(0));
    assert_eq!(fs::read_to_string(&svg).expect("it was written"), right);
    assert_eq!(ladder(&["plot", "--check", path]).status.code(), Some(0));
}

/// Rewrites a copy's bench.json, with every ratio to cuBLAS of one rung multiplied.
fn scale(folder: &TempDir, rung: &str, factor: f64) {
    let file = folder.path().join("bench.json");
    let text = fs::read_to_string(&file).expect("it was copied");
    let mut benches: Vec<Value> = serde_json::from_str(&text).expect("a record");
    let of_rung = benches.iter_mut().filter(|bench| bench["rung"] == rung);
    for bench in of_rung {
        for run in bench["sizes"].as_array_mut().expect("sizes") {
            for contest in run["time"]["contestants"]
                .as_array_mut()
                .expect("contestants")
            {
                let speed = contest["kernel_speed"].as_f64().expect("a number");
                contest["kernel_speed"] = (factor * speed).into();
            }
        }
    }
    fs::write(&file, serde_json::to_string(&benches).expect("plain")).expect("writable");
}

#[test]
fn a_rung_that_became_slower_is_found() {
    let (old, new) = (copy(), copy());
    let compare = || {
        let paths = [&old, &new].map(|folder| folder.path().to_str().expect("text"));
        ladder(&["compare", paths[0], paths[1]])
    };
    let same = compare();
    assert_eq!(same.status.code(), Some(0), "{}", said(&same));
    assert!(said(&same).contains("nothing is slower"));
    assert!(!said(&same).contains("SLOWER"));

    scale(&new, "05_swizzle", 0.9);
    let slower = compare();
    let text = said(&slower);
    assert_eq!(slower.status.code(), Some(1), "{text}");
    let bad: Vec<_> = text
        .lines()
        .filter(|line| line.contains("SLOWER"))
        .collect();
    assert!(
        !bad.is_empty() && bad.iter().all(|line| line.starts_with("| 05_swizzle")),
        "{text}"
    );
}

#[test]
fn what_is_missing_or_garbled_exits_with_2_and_is_named() {
    let good = copy();
    let bad = copy();
    fs::write(bad.path().join("bench.json"), "[{]").expect("writable");
    fs::write(bad.path().join("tiles.csv"), "rung,size\n1,2\n").expect("writable");
    let [good, bad] = [&good, &bad].map(|folder| folder.path().to_str().expect("text"));
    for (arguments, file, remedy) in [
        (&["compare", good, bad][..], "bench.json", "record it again"),
        (
            &["compare", "nowhere", good],
            "nowhere/bench.json",
            "cargo ladder bench",
        ),
        (
            &["bench", "--against", "nowhere"],
            "nowhere/bench.json",
            "cargo ladder bench",
        ),
        (
            &["bench", "--against", bad],
            "bench.json",
            "record it again",
        ),
        (
            &["plot", "nowhere"],
            "nowhere/bench.json",
            "cargo ladder bench",
        ),
        (
            &["bound", "--against", bad],
            "bench.json",
            "record it again",
        ),
        (
            &["tiles", "--check", bad],
            "tiles.csv",
            "cargo ladder tiles",
        ),
        (
            &["tiles", "--check", "nowhere"],
            "nowhere/tiles.csv",
            "cargo ladder tiles",
        ),
    ] {
        let output = ladder(arguments);
        let text = said(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        let text = text.replace('\\', "/");
        assert!(
            text.contains(file) && text.contains(remedy),
            "{arguments:?}: {text}"
        );
    }
}
