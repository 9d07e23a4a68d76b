//! The host takes the best of a kernel's tiles, by what was recorded on a GPU.
use std::io::Write;
use std::path::PathBuf;
use std::process::Output;
use std::{env, fs};

use ladder_tests::workspace::{program, root, run};
use serde_json::Value;

const SIZE: &str = "2048x2048x2048";

fn check(folder: Option<&PathBuf>) -> Output {
    let mut ladder = program("ladder");
    ladder.args(["tiles", "--check"]).args(folder);
    ladder.output().expect("the ladder")
}

fn said(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8(text).expect("text")
}

/// What rung 06 takes for Hopper at [`SIZE`] on so many multiprocessors, and another of its tiles.
fn taken(multiprocessors: &str) -> [String; 2] {
    let rung = root().join("rungs/06_pipeline");
    let arguments = ["tiles", "--json", "--size", SIZE, "--arch", "sm_90a"];
    let output = run(
        &rung,
        &[&arguments[..], &["--multiprocessors", multiprocessors]].concat(),
    );
    let json: Value = serde_json::from_slice(&output.stdout).expect("one object");
    let choice = &json["choices"][0];
    let taken = choice["tile"].as_str().expect("it has several tiles");
    let tiles = choice["estimates"].as_array().expect("a list");
    let mut tiles = tiles.iter().filter_map(|tile| tile[0].as_str());
    let other = tiles.find(|tile| *tile != taken).expect("it has several");
    [taken.into(), other.into()]
}

#[test]
fn the_host_takes_the_best_tile_that_was_recorded() {
    let output = check(None);
    assert!(output.status.success(), "{}", said(&output));
    if said(&output).contains("no tiles.csv is recorded") {
        // Not by eprintln!, which the test runner keeps to itself.
        let _ = writeln!(std::io::stderr(), "skipped: {}", said(&output).trim());
    }
}

#[test]
fn a_choice_that_is_slower_than_another_is_found() {
    let folder = env::temp_dir().join(format!("ladder-tiles-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a writable folder for temporary files");
    for multiprocessors in ["132", "16"] {
        let [taken, other] = taken(multiprocessors);
        for (of_taken, of_other, code, word) in [
            ("0.98", "1.0", 0, "every choice"),
            ("0.965", "1.0", 1, "96.5% of cuBLAS"),
            ("", "1.0", 1, "a wrong C"),
        ] {
            let head = "rung,arch,size,tile,tflops,of_cublas_f16,chosen,rounds,gpu,multiprocessors,sm_mhz_median,power_watts_median,commit,date";
            let row = |tile: &str, speed: &str| {
                format!(
                    "06_pipeline,sm_90a,{SIZE},{tile},,{speed},no,30,a GPU,{multiprocessors},,,,"
                )
            };
            let text = [head, &row(&taken, of_taken), &row(&other, of_other), ""].join("\n");
            fs::write(folder.join("tiles.csv"), text).expect("writable");
            let output = check(Some(&folder));
            let said = said(&output);
            assert_eq!(output.status.code(), Some(code), "{said}");
            assert!(said.contains(word), "{said}");
        }
    }
    fs::remove_dir_all(folder).expect("it was made above");
}

#[test]
fn an_exception_is_of_one_record_and_has_to_be_one() {
    let record = "h100-80gb-hbm3-2026-11-21";
    let recorded = root().join("results").join(record).join("tiles.csv");
    let recorded = fs::read_to_string(recorded).expect("the record that the exception is of");
    let size = "06_pipeline,sm_80,8192x1024x8192";
    let without: Vec<_> = recorded
        .lines()
        .filter(|row| !row.starts_with(size))
        .collect();
    let head = recorded.lines().next().expect("a head");
    let row = |tile: &str| format!("{size},{tile},,1.0,no,30,a GPU,132,,,,");
    let good = [head, &row("128x128"), &row("128x192"), ""].join("\n");
    let folder = env::temp_dir().join(format!("ladder-exceptions-{}", std::process::id()));
    for (name, text, code, word) in [
        (record, &recorded, 0, "but for what is named above"),
        (
            "another-record",
            &recorded,
            1,
            "at 8192x1024x8192: 128x128 is taken",
        ),
        (
            record,
            &without.join("\n"),
            1,
            "the exception is not recorded",
        ),
        (record, &good, 1, "the exception is none"),
    ] {
        let folder = folder.join(name);
        fs::create_dir_all(&folder).expect("a writable folder for temporary files");
        fs::write(folder.join("tiles.csv"), text).expect("writable");
        let output = check(Some(&folder));
        let said = said(&output);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(word), "{said}");
    }
    fs::remove_dir_all(folder).expect("it was made above");
}
