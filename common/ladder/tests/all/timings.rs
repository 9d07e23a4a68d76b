//! `bench` and `tiles` from the first timing to the files, with scripts in place of rungs on a GPU.
#![cfg(unix)]
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::json;
use tempfile::TempDir;

/// A rung as a shell script: it prints the file for its arguments, and fails if there is a file that says so.
const RUNG: &str = r#"#!/bin/sh
here=$(dirname "$0")
asked=list size= tile=
while [ $# -gt 0 ]; do
    case $1 in
        bench | tiles) asked=$1 ;;
        --size) size=$2 ;;
        --tile) tile=$2 ;;
    esac
    shift
done
if [ $asked = bench ]; then
    [ -e "$here/fails" ] && grep -q "^$size$" "$here/fails" && exit 2
    sed "s/SIZE/$size/" "$here/bench$tile.json"
else
    cat "$here/$(basename "$0").$asked.json"
fi
"#;

/// One test at a time: a program that another thread's child still has open for writing cannot be started.
static ALONE: Mutex<()> = Mutex::new(());

/// A folder with the ladder and two rungs beside it; the second has two tiles and takes 64x64.
struct House(TempDir, #[allow(dead_code)] MutexGuard<'static, ()>);

impl House {
    fn new() -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let house = Self(folder, alone);
        let at = |name: &str| house.0.path().join(name);
        fs::copy(env!("CARGO_BIN_EXE_ladder"), at("ladder")).expect("writable");
        for rung in ["rung01_first", "rung02_last"] {
            fs::write(at(rung), RUNG).expect("writable");
            fs::set_permissions(at(rung), Permissions::from_mode(0o755)).expect("its owner");
        }
        let one = json!({ "kernels": [{ "arch": "sm_80", "tile": null }] });
        house.write("rung01_first.list.json", &one.to_string());
        let tile = |tile: &str| json!({ "arch": "sm_90a", "tile": tile });
        let two = json!({ "kernels": [tile("64x64"), tile("32x32")] });
        house.write("rung02_last.list.json", &two.to_string());
        let choice = json!({ "size": "512x512x512", "tile": "64x64" });
        let choices = json!({ "arch": "sm_90a", "multiprocessors": 132, "choices": [choice] });
        house.write("rung02_last.tiles.json", &choices.to_string());
        house.is_as_fast("", 0.9);
        house
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).expect("writable");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.path().join("results/h100").join(name)).expect(name)
    }

    /// Every timing with this tile, or without a tile, has this ratio to cuBLAS.
    fn is_as_fast(&self, tile: &str, of_cublas: f64) {
        let contest = |name: &str, ms: f64, speed: f64| {
            json!({ "name": name, "median_ms": ms, "p10_ms": ms, "p90_ms": ms, "tflops": 1.0 / ms,
                "kernel_speed": speed, "samples_ms": [ms, ms, ms] })
        };
        let contestants = [
            contest("kernel", 1.0, 1.0),
            contest("cuBLAS f16", of_cublas, of_cublas),
        ];
        let provenance = json!({ "gpu": "NVIDIA H100", "driver": "580", "cuda": "13.0", "cublas": "13.1",
            "sm_mhz": null, "power_watts": null, "power_limit_watts": null, "commit": "abc1234",
            "date": "2026-11-21T09:30:00Z" });
        let run = json!({ "size": "SIZE", "tile": "64x64", "verify": { "ok": true }, "provenance": provenance,
            "time": { "tflops": 1.0, "of_cublas": of_cublas, "rounds": 3, "launches_per_sample": 1,
                "contestants": contestants } });
        let bench = json!({ "rung": "?", "sizes": [run] });
        self.write(&format!("bench{tile}.json"), &bench.to_string());
    }

    fn ladder(&self, arguments: &[&str]) -> Output {
        Command::new(self.0.path().join("ladder"))
            .args(arguments)
            .current_dir(self.0.path())
            .env_remove("CARGO_MANIFEST_DIR")
            .output()
            .expect("the ladder starts")
    }
}

/// The exit code, standard output and standard error.
fn told(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn a_bench_times_all_and_says_what_remains() {
    let house = House::new();
    let (code, out, err) = told(&house.ladder(&["bench"]));
    assert_eq!(code, Some(0), "{err}");
    assert!(
        err.starts_with(
            "timing 1 of 28: 01_first at 512x512x512\n  1.0 TFLOP/s, 90.0% of cuBLAS f16\n"
        ),
        "{err}"
    );
    assert!(
        err.contains("timing 6 of 28: 01_first at 16384x16384x16384\n"),
        "{err}"
    );
    assert!(
        err.contains("timing 28 of 28: 02_last at 4096x14336x14336\n"),
        "{err}"
    );
    assert!(
        out.contains("| 02_last  | 4000x3000x2000    |     1.0 |         90.0% |"),
        "{out}"
    );
    assert_eq!(house.read("bench.csv").lines().count(), 1 + 28 * 2);
    assert!(
        house
            .read("bench.csv")
            .contains("02_last,4000x3000x2000,64x64,true,sustained,kernel,3,1,")
    );
    assert!(
        house
            .read("rungs.svg")
            .contains("02_last: 1.0 TFLOP/s, 90.0% of cuBLAS")
    );
    assert!(house.read("sizes.svg").contains("90.0% at 16384"));
}

#[test]
fn what_cannot_be_timed_is_omitted_and_reported() {
    let house = House::new();
    house.write("fails", "2048x2048x2048\n");
    let (code, _, err) = told(&house.ladder(&["bench"]));
    assert_eq!(code, Some(2), "{err}");
    assert!(
        err.contains(
            "02_last at 2048x2048x2048\n  02_last could not be run; see its message above"
        ),
        "{err}"
    );
    assert!(err.contains("2 of 28 could not be timed"), "{err}");
    assert!(!house.read("bench.md").contains("2048x2048x2048"));

    // If the first timing fails, all others will too.
    house.write("fails", "512x512x512\n");
    let (code, _, err) = told(&house.ladder(&["bench"]));
    assert_eq!((code, err.matches("timing").count()), (Some(2), 1), "{err}");
}

#[test]
fn a_bench_against_a_record_finds_what_became_slower_and_writes_nothing() {
    let house = House::new();
    let sizes = ["bench", "--sizes", "512,64x128x256"];
    assert_eq!(house.ladder(&sizes).status.code(), Some(0));
    let recorded = house.read("bench.json");
    let against = ["bench", "--against", "results/h100"];
    for (of_cublas, expected, words) in [
        (0.89, 0, "nothing is slower"),
        (0.95, 0, "faster"),
        (0.85, 1, "slower or wrong: 4 of 4"),
    ] {
        house.is_as_fast("", of_cublas);
        let (code, out, err) = told(&house.ladder(&against));
        assert_eq!(code, Some(expected), "{out}{err}");
        assert!(out.contains(words), "{out}");
        assert!(
            err.contains("timing 4 of 4: 02_last at 64x128x256"),
            "{err}"
        );
    }
    let (_, out, _) = told(&house.ladder(&[&against[..], &["--rungs", "2"]].concat()));
    assert!(out.contains("not timed at all: 01_first\n"), "{out}");
    assert!(out.contains("slower or wrong: 2 of 2"), "{out}");
    assert_eq!(house.read("bench.json"), recorded);
}

#[test]
fn tiles_are_timed_each_and_a_slow_choice_is_named() {
    let house = House::new();
    house.is_as_fast("64x64", 0.99);
    house.is_as_fast("32x32", 1.0);
    let tiles = ["tiles", "--sizes", "512"];
    let (code, out, err) = told(&house.ladder(&tiles));
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(
        err.contains("timing 2 of 2: 02_last at 512x512x512 with 32x32"),
        "{err}"
    );
    assert!(out.contains("every choice is within 3%"), "{out}");
    let csv = house.read("tiles.csv");
    let rows: Vec<_> = csv.lines().skip(1).collect();
    let [first, second] = rows[..] else {
        panic!("{csv}")
    };
    assert!(
        first.starts_with("02_last,sm_90a,512x512x512,64x64,1.0,0.99,yes,3,NVIDIA H100,132,"),
        "{csv}"
    );
    assert!(
        second.starts_with("02_last,sm_90a,512x512x512,32x32,1.0,1.0,no,"),
        "{csv}"
    );

    house.is_as_fast("64x64", 0.9);
    let (code, out, _) = told(&house.ladder(&tiles));
    assert_eq!(code, Some(1), "{out}");
    assert!(
        out.contains("64x64 is taken and has 90.0% of cuBLAS; 32x32 has 100.0%"),
        "{out}"
    );
}
