//! Whole kernels against real cards: the bits of every rung's C, and its accesses line by line by the instrumented
//! counters. `cargo ladder calibrate --record` recorded all rungs on an H200, and 01 to 05 on an H100.
use std::path::PathBuf;

use harness::KernelOnDisk;
use ladder_tests::workspace::{program, read, root, rungs, skipped};

/// The card on which all rungs were recorded.
fn recorded() -> PathBuf {
    root().join("calibration/h200")
}

#[test]
fn every_rung_has_the_bits_and_counters_of_the_cards() {
    if !recorded().join("rungs.csv").is_file() {
        skipped("no rungs are recorded (`cargo ladder calibrate --record DIR --only rungs`)");
        return;
    }
    // The recordings of single instructions must include the rungs' own.
    let output = program("ladder")
        .args(["calibrate", "--only", "rungs"])
        .output();
    let output = output.expect("the ladder starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let aside = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}{aside}");
    for card in ["h100", "h200"] {
        assert!(said.contains(&format!("{card}/accesses.csv ")), "{said}");
    }
}

/// The comparison covers the rows that exist; this test checks that none is missing.
#[test]
fn every_committed_kernel_is_recorded_at_both_sizes() {
    let path = recorded().join("rungs.csv");
    let rows = csv::Reader::from_path(path).expect("a table");
    let rows: Vec<[String; 4]> = rows
        .into_deserialize::<[String; 5]>()
        .map(|row| row.expect("a row"))
        .map(|[rung, arch, tile, size, _]| [rung, arch, tile, size])
        .collect();
    let mut sizes: Vec<&str> = rows.iter().map(|[.., size]| size.as_str()).collect();
    sizes.sort_unstable();
    sizes.dedup();
    assert_eq!(sizes.len(), 2, "{sizes:?}");
    let mut expected = Vec::new();
    for folder in rungs() {
        let kernels = KernelOnDisk::in_folder(&folder).expect("kernels");
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        for kernel in &kernels {
            // Only a rung with several tiles for an architecture has a tile in its label.
            let tile = match kernels.len() {
                1 => String::new(),
                _ => kernel.kernel().tile(),
            };
            let arch = kernel.kernel().arch;
            expected.extend(
                sizes
                    .iter()
                    .map(|size| [&name, arch, &tile, size].map(str::to_owned)),
            );
        }
    }
    let sorted = |mut rows: Vec<[String; 4]>| {
        rows.sort();
        rows
    };
    assert_eq!(sorted(rows), sorted(expected));
}

/// Every line of kernel.cu makes its accesses in machine code: ptxas merges and drops none.
#[test]
fn machine_code_merges_no_access() {
    for card in ["h100", "h200"] {
        let table = read(&root().join("calibration").join(card).join("merged.csv"));
        assert_eq!(table, "rung,arch,tile,line,access,reason\n");
    }
}

/// At this size a third of the tiles are split between several clusters. `shared_tiles.json` is the output of
/// `rung16_stream_k --device gpu --tile 128x256 --size 2304x2816x2048 --runs 100 --json`, without its times.
#[test]
#[ignore = "long; `cargo test -- --include-ignored` runs it"]
fn tiles_in_pieces_have_the_bits_of_the_card() {
    let recorded: serde_json::Value =
        serde_json::from_str(&read(&recorded().join("shared_tiles.json"))).expect("JSON");
    let of = |key: &str| recorded[key].as_str().expect("text");
    let output = program(&format!("rung{}", of("rung")))
        .args(["--device", "emulator", "--json", "--arch", of("arch")])
        .args(["--tile", of("tile"), "--size", of("size")])
        .output();
    let output = output.expect("the rung starts");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["c_sha256"], recorded["c_sha256"]);
    let loads = report["counters"]["global_requests"].as_u64();
    assert!(loads > Some(0), "no piece was read: {loads:?}");
}
