//! The host selects the fastest of a kernel's tiles, by the recorded timings.
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

/// The tile that rung 16 selects at [`SIZE`].
fn taken() -> String {
    let rung = root().join("rungs/16_stream_k");
    let output = run(&rung, &["tiles", "--json", "--size", SIZE]);
    let json: Value = serde_json::from_slice(&output.stdout).expect("one object");
    let taken = json["choices"][0]["tile"].as_str();
    taken.expect("it has several tiles").into()
}

#[test]
fn the_host_takes_the_best_tile_that_was_recorded() {
    let output = check(None);
    assert!(output.status.success(), "{}", said(&output));
    if said(&output).contains("no tiles.csv is recorded") {
        // Written directly, since the test runner captures eprintln!.
        let _ = writeln!(std::io::stderr(), "skipped: {}", said(&output).trim());
    }
}

/// They differ in which tiles are split or narrower, not in which is the fastest.
#[test]
fn rungs_16_and_17_have_one_table_of_tiles() {
    let table = |rung: &str| {
        let path = root().join("rungs").join(rung).join("src/tiles.rs");
        fs::read_to_string(path).expect("a table")
    };
    assert_eq!(table("16_stream_k"), table("17_narrow_tiles"));
}

#[test]
fn a_choice_that_is_slower_than_another_is_found() {
    let folder = env::temp_dir().join(format!("ladder-tiles-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a writable folder for temporary files");
    let taken = taken();
    for (tile, of_taken, of_other, code, word) in [
        (taken.as_str(), "0.98", "1.0", 0, "every choice"),
        (&taken, "0.965", "1.0", 1, "96.5% of cuBLAS"),
        (&taken, "", "1.0", 1, "a wrong C"),
        (
            "8x8",
            "0.98",
            "1.0",
            0,
            "no tiles.csv is recorded for the current kernels",
        ),
    ] {
        let head = "rung,arch,size,tile,tflops,of_cublas_f16,chosen,rounds,gpu,multiprocessors,sm_mhz_median,power_watts_median,commit,date";
        let row = |tile: &str, speed: &str| {
            format!("16_stream_k,sm_90a,{SIZE},{tile},,{speed},no,30,a GPU,132,,,,")
        };
        let text = [head, &row(tile, of_taken), &row("32x32", of_other), ""].join("\n");
        fs::write(folder.join("tiles.csv"), text).expect("writable");
        let output = check(Some(&folder));
        let said = said(&output);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(word), "{said}");
    }
    fs::remove_dir_all(folder).expect("it was made above");
}
