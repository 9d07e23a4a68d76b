//! The patches in `results/attempts/` apply to the current rungs and make kernels that compute a correct C.
use std::collections::BTreeSet;

use ladder_tests::attempts::{self, Attempt};
use ladder_tests::workspace::{files, has_nvrtc, read, root, run};
use rayon::prelude::*;

/// One tile for each CTA, with more steps than the ring has stages or L2 prefetches ahead; and a C that is not a
/// multiple of the tile, of which each CTA computes several tiles, whatever their shape.
const SIZES: [&str; 2] = ["256x256x840", "17000x40x72"];

#[test]
fn every_patch_applies_to_its_rung() {
    let all = attempts::all().unwrap_or_else(|error| panic!("{error:#}"));
    for Attempt { name, rung, source } in &all {
        let kernel = read(&root().join("rungs").join(rung).join("kernel.cu"));
        assert_ne!(*source, kernel, "{name}.patch changes nothing");
    }
    assert_eq!(all.len(), patches().len());
}

/// The log describes the measurement of each patch, and names no patch that does not exist.
#[test]
fn the_log_names_every_patch() {
    let log = read(&root().join("results/attempts.md"));
    let is_name = |word: &&str| {
        let stem = word.strip_suffix(".patch").unwrap_or_default();
        !stem.is_empty() && stem.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let named: BTreeSet<String> = log.split('`').filter(is_name).map(str::to_owned).collect();
    assert_eq!(named, patches());
}

/// Of the attempts that `results/record.sh` wrote to a file, the log's table has the figures of that file.
#[test]
fn the_log_has_the_recorded_figures() {
    let log = read(&root().join("results/attempts.md"));
    let table: Vec<Vec<&str>> = log
        .lines()
        .filter_map(|line| line.strip_prefix("| "))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    let head = table.iter().find(|cells| cells[0] == "patch");
    let head = head.expect("the table of the attempts that were made again");
    let record = read(&root().join("results/h200/attempts.csv"));
    for line in record.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let [name, _, size, _, patched, unpatched] = cells[..] else {
            panic!("{line}");
        };
        let patch = format!("`{name}.patch`");
        let row = table.iter().find(|cells| cells[0].starts_with(&patch));
        let column = head.iter().position(|cell| *cell == format!("at {size}"));
        let (row, column) = row.zip(column).unwrap_or_else(|| panic!("no {line}"));
        let percent = |cell: &str| 100.0 * cell.parse::<f64>().expect("a ratio");
        let recorded = format!("{:.1}; {:.1}", percent(patched), percent(unpatched));
        assert_eq!(row[column], recorded, "{name} at {size}");
    }
}

/// The emulator supports every instruction of every patch, so there are no exceptions. Without `GEMM_WHOLE_SUITE=1`, patches take turns:
/// each is launched at one of the sizes.
#[test]
fn every_patched_kernel_multiplies() {
    if !has_nvrtc(gpu::Nvrtc::find().is_ok()) {
        return;
    }
    let folder = std::env::temp_dir().join(format!("ladder-attempts-{}", std::process::id()));
    let all = attempts::all().unwrap_or_else(|error| panic!("{error:#}"));
    let is_whole = std::env::var_os("GEMM_WHOLE_SUITE").is_some();
    all.par_iter().enumerate().for_each(|(number, attempt)| {
        let path = attempt.write(&folder).expect("a temporary file");
        let path = path.to_str().expect("a path");
        let sizes = match is_whole {
            true => &SIZES[..],
            false => &SIZES[number % SIZES.len()..][..1],
        };
        for &size in sizes {
            let rung = root().join("rungs").join(&attempt.rung);
            // `launch` does not predict the time, for which ptxas would have to compile it.
            let output = run(&rung, &["launch", "--size", size, "--kernel", path]);
            let text =
                String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
            let name = &attempt.name;
            assert_eq!(output.status.code(), Some(0), "{name} at {size}: {text}");
        }
    });
    std::fs::remove_dir_all(folder).expect("it was made above");
}

/// The names of the files.
fn patches() -> BTreeSet<String> {
    let patches = files(&root().join("results/attempts"), ".patch");
    let names = patches.iter().filter_map(|path| path.file_name()?.to_str());
    names.map(str::to_owned).collect()
}
