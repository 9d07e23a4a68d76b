//! The bound of each rung, predicted from the emulator's counters, compared with an H200's recorded speed.
mod roofline;

use std::collections::BTreeSet;
use std::{env, fs};

use harness::ceilings::Ceilings;
use ladder_tests::workspace::{program, read, root, run, rungs};
use serde_json::Value;

/// The bound of a rung.
fn bound(label: &str) -> Value {
    let rung = root().join("rungs").join(label);
    let output = run(&rung, &["profile", "--json"]);
    assert!(output.status.success(), "{label}: {output:?}");
    let mut profile: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    profile["bound"].take()
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

/// A block's demand on a resource, and the clocks that it takes.
fn of(bound: &Value, resource: &str) -> Option<(f64, f64)> {
    let resources = bound["resources"].as_array().expect("a list");
    let one = resources.iter().find(|one| one["resource"] == resource)?;
    Some((number(&one["amount"]), number(&one["clocks"])))
}

/// Rung, size and TFLOP/s of every kernel in the record.
fn recorded() -> Vec<(String, String, f64)> {
    let text = read(
        &root()
            .join(harness::ceilings::RECORD)
            .with_file_name("bench.csv"),
    );
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().expect("a head").split(',').collect();
    let column = |name| {
        head.iter()
            .position(|column| *column == name)
            .expect("a column")
    };
    let [rung, size, regime, contestant, tflops] =
        ["rung", "size", "regime", "contestant", "tflops"].map(column);
    lines
        .map(|line| line.split(',').collect::<Vec<_>>())
        .filter(|line| (line[contestant], line[regime]) == ("kernel", "sustained"))
        .map(|line| {
            let tflops = line[tflops].parse().expect("a number");
            (line[rung].into(), line[size].into(), tflops)
        })
        .collect()
}

#[test]
#[ignore = "long; `cargo test -- --include-ignored` runs it"]
fn no_rung_is_faster_than_its_bound() {
    let recorded = recorded();
    let labels: BTreeSet<&String> = recorded.iter().map(|(label, ..)| label).collect();
    assert_eq!(labels.len(), rungs().len(), "{labels:?}");
    let mut compared = 0;
    for name in &labels {
        let bound = bound(name);
        let most = number(&bound["tflops"]);
        for (_, size, tflops) in recorded.iter().filter(|(label, ..)| label == *name) {
            assert!(*tflops <= most, "{name} at {size}: {tflops} of {most}");
            if bound["size"] == size.as_str() {
                // A bound far above every measurement predicts nothing.
                assert!(*tflops > 0.3 * most, "{name} at {size}: {tflops} of {most}");
                compared += 1;
            }
        }
    }
    assert_eq!(compared, labels.len());
    let ladder = program("ladder").arg("bound").output().expect("the ladder");
    assert!(ladder.status.success(), "{ladder:?}");
}

/// Eight wavefronts for every `ldmatrix`, derived by hand: they bound 64x64 warp tiles to about 16% of cuBLAS.
#[test]
fn the_l1_data_pipe_bounds_04_and_frees_05() {
    let (mma, swizzle) = (bound("04_mma"), bound("05_swizzle"));
    assert_eq!(mma["limited_by"], "L1 data pipe");
    let of_cublas = number(&mma["of_cublas"]);
    assert!((0.15..0.18).contains(&of_cublas), "{of_cublas}");

    // A warp loads 4 + 4 times four matrices for each 16 of K, the block has four warps, and K is 4096. Every matrix
    // takes 8 wavefronts, or 1 with the swizzle.
    let matrices = 4.0 * (4.0 + 4.0) * 4.0 * (4096.0 / 16.0);
    // For each of K, 128 + 128 elements of two bytes are loaded.
    let copies = 2.0 * 256.0 * 4096.0 / 128.0;
    let tile_of_c = 2.0 * 128.0 * 128.0 / 128.0;
    // C is staged in shared memory: written (8-way conflicts without the swizzle, 4 bytes a lane), read, stored.
    let [slow, fast] = [8.0, 1.0].map(|ways| ways * matrices + copies + (ways + 2.0) * tile_of_c);
    assert_eq!(
        of(&mma, "L1 data pipe").map(|(amount, _)| amount),
        Some(slow)
    );
    assert_eq!(
        of(&swizzle, "L1 data pipe").map(|(amount, _)| amount),
        Some(fast)
    );

    // The same products, without bypassing a cache whose data could be reused.
    let flop = 2.0 * 128.0 * 128.0 * 4096.0;
    for bound in [&mma, &swizzle] {
        assert_eq!(of(bound, "mma.sync").map(|(amount, _)| amount), Some(flop));
        assert!(
            of(bound, "L2, no reuse in L1").is_none(),
            "cp.async.cg leaves no choice"
        );
        assert!(of(bound, "wgmma").is_none());
    }
    assert_ne!(swizzle["limited_by"], "L1 data pipe");
    let step = number(&swizzle["tflops"]) / number(&mma["tflops"]);
    assert!((2.5..6.0).contains(&step), "{step}");
}

#[test]
fn cuda_cores_are_bound_by_issuing_and_padding_changes_nothing() {
    let (naive, smem, padded) = (bound("01_naive"), bound("02_smem"), bound("03_padded"));
    assert_eq!(naive["limited_by"], "L1 data pipe");
    // Two requests for each step of K; a block of 16 x 64 has 32 warps, and stores once.
    assert_eq!(
        of(&naive, "L1 data pipe").map(|(amount, _)| amount),
        Some(32.0 * (2.0 * 4096.0 + 1.0))
    );
    for bound in [&smem, &padded] {
        let (lanes, clocks) = of(bound, "FMA lanes").expect("f32");
        assert_eq!(lanes, 128.0 * 128.0 * 4096.0);
        assert!(of(bound, "L1 data pipe").expect("shared memory").1 < clocks);
    }
    let step = number(&padded["tflops"]) / number(&smem["tflops"]);
    assert!((step - 1.0).abs() < 0.01, "{step}");
}

/// INSTA_UPDATE=always rewrites it.
#[test]
#[ignore = "long; `cargo test -- --include-ignored` runs it"]
fn the_books_roofline_is_what_bounds_and_record_give() {
    let size = "4096x4096x4096";
    let points: Vec<_> = recorded()
        .into_iter()
        .filter(|(_, timed, _)| timed == size)
        .map(|(name, _, measured)| {
            let bound = bound(&name);
            assert_eq!(bound["size"], size);
            let tile = bound["tile"].as_str().expect("a tile").split('x');
            let sides = tile.map(|side| side.parse::<f64>().expect("a number"));
            let flop = 2.0 * sides.product::<f64>() * 4096.0;
            let (wavefronts, _) = of(&bound, "L1 data pipe").expect("wavefronts");
            roofline::Point {
                name,
                intensity: flop / wavefronts,
                measured,
                bound: number(&bound["tflops"]),
            }
        })
        .collect();
    assert_eq!(points.len(), rungs().len());
    let ceilings = Ceilings::recorded().expect("a record");
    let tflops = |rate: &str, flop: f64| {
        let per_clock = ceilings.per_clock(rate).expect("a ceiling");
        flop * ceilings.per_second(per_clock) / 1e12
    };
    let roofs = [
        ("f32 multiply-adds", "fma", 2.0),
        ("mma.sync", "mma_sync", 1.0),
        ("wgmma", "wgmma", 1.0),
    ]
    .map(|(name, rate, flop)| roofline::Roof {
        name,
        tflops: tflops(rate, flop),
    });
    let svg = roofline::svg(&points, &roofs, tflops("shared", 1.0));
    let file = root().join("book/figures/roofline_rungs.svg");
    if env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::write(&file, &svg).expect("writable");
    }
    assert!(
        fs::read_to_string(&file).is_ok_and(|there| there == svg),
        "{} does not match the record; INSTA_UPDATE=always rewrites it",
        file.display()
    );
}
