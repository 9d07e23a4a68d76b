//! The clock model's predictions against an H200's measurements.
use std::env;

use harness::records::{Errors, Predicted};
use harness::tools;
use ladder_tests::workspace::{read, root, rung, skipped};
use serde_json::Value;

/// Rungs whose predictions at 2048 are repeated: one of each kind.
const PREDICTED: [&str; 3] = ["05_swizzle", "09_tma", "13_persistent"];

fn has_ptxas() -> bool {
    let found = ["ptxas", "nvdisasm"]
        .iter()
        .all(|name| tools::locate(name).is_some());
    let required = env::var("GEMM_REQUIRE_PTXAS").is_ok_and(|value| value == "1");
    assert!(
        found || !required,
        "GEMM_REQUIRE_PTXAS=1, but there is no ptxas or nvdisasm"
    );
    if !found {
        skipped("no ptxas (`cargo ladder get-nvrtc --ptxas` fetches it)");
    }
    found
}

/// The rows of `results/h200/clock.csv`.
fn recorded() -> Vec<Predicted> {
    let text = read(&root().join("results/h200/clock.csv"));
    let rows = csv::Reader::from_reader(text.as_bytes()).into_deserialize();
    rows.collect::<Result<_, _>>().expect("a record")
}

/// Clocks of an SM that the rung's kernel took on the card, and the SM's clock in MHz, from its record.
fn measured(record: &Value, row: &Predicted) -> Option<(u64, f64)> {
    let mut of_rung = record.as_array()?.iter();
    let of_rung = of_rung.find(|one| row.rung == one["rung"].as_str().unwrap_or_default())?;
    let mut sizes = of_rung["sizes"].as_array()?.iter();
    let kernel = &sizes.find(|run| run["size"] == row.size.as_str())?["time"]["contestants"][0];
    let sm_mhz = kernel["sm_mhz"].as_f64()?;
    let clocks = kernel["median_ms"].as_f64()? * sm_mhz * 1e3;
    Some((clocks.round() as u64, sm_mhz.round()))
}

#[test]
fn the_record_is_what_the_clock_predicts_and_the_card_took() {
    let rows = recorded();
    let bench = read(&root().join("results/h200/bench.json"));
    let bench: Value = serde_json::from_str(&bench).expect("a record");
    for row in &rows {
        let (measured, sm_mhz) = measured(&bench, row).unzip();
        assert_eq!(Some(row.measured), measured, "{} at {}", row.rung, row.size);
        assert_eq!(Some(row.sm_mhz), sm_mhz, "{} at {}", row.rung, row.size);
    }
    if !has_ptxas() {
        return;
    }
    for name in PREDICTED {
        let mut of_rung = rows.iter().filter(|row| row.rung == name);
        let row = of_rung.find(|row| row.size == "2048x2048x2048");
        let row = row.unwrap_or_else(|| panic!("{name} at 2048 is not in clock.csv"));
        let clock = format!("mhz={}", row.sm_mhz);
        let mut out = Vec::new();
        let words = [
            name, "time", "--json", "--device", "emulator", "--size", "2048", "--set", &clock,
        ];
        let code = harness::main_with(&rung(name), &words, &mut out);
        let said = String::from_utf8_lossy(&out);
        assert_eq!(code, 0, "{name}: {said}");
        let answer: Value = serde_json::from_str(&said).expect("JSON");
        let predicted = answer["clocks"].as_f64().expect("clocks").round() as u64;
        assert_eq!(
            row.predicted, predicted,
            "{name}: `cargo ladder clock --record` makes clock.csv again"
        );
    }
}

/// The accuracy reached over all rungs and sizes, rounded up: a change that makes the model worse fails here.
#[test]
fn predictions_are_as_near_to_the_card_as_they_were() {
    let rows = recorded();
    let errors = Errors::new(rows.iter().map(Predicted::error)).expect("a record");
    assert_eq!(errors.count, 68, "all rungs at four sizes");
    assert!(errors.median < 0.05, "{:.3} in the median", errors.median);
    assert!(errors.mean < 0.07, "{:.3} in the mean", errors.mean);
    assert!(errors.worst < 0.21, "{:.3} at worst", errors.worst);
}

/// A row of `results/h200/kernels.csv`.
#[derive(serde::Deserialize)]
struct Kernel {
    kernel: String,
    ms: f64,
    sm_mhz: f64,
    predicted: Option<u64>,
    from_ptx: Option<u64>,
}

/// Families, how many of them are predicted, the mean errors that have been reached with ptxas and without, and the rank correlations.
const FAMILIES: [(&str, usize, [f64; 2], [f64; 2]); 4] = [
    // Two, 0.7% apart in their time, change places.
    ("f32", 10, [0.09, 0.12], [0.97, 0.92]),
    ("hopper", 12, [0.05, 0.10], [0.95, 0.91]),
    ("mma_sync", 9, [0.09, 0.16], [0.96, 0.91]),
    ("strange", 5, [0.17, 0.18], [0.9, 0.9]),
];

/// Spearman's, of pairs without ties.
fn rank_correlation(pairs: &[(f64, f64)]) -> f64 {
    let rank = |of: fn(&(f64, f64)) -> f64, value: f64| {
        pairs.iter().filter(|pair| of(pair) < value).count() as f64
    };
    let apart: f64 = (pairs.iter())
        .map(|pair| (rank(|pair| pair.0, pair.0) - rank(|pair| pair.1, pair.1)).powi(2))
        .sum();
    let n = pairs.len() as f64;
    1.0 - 6.0 * apart / (n * (n * n - 1.0))
}

/// The accuracy reached for kernels outside the ladder, family by family.
#[test]
fn kernels_outside_the_ladder_are_predicted_as_well_as_they_were() {
    let text = read(&root().join("results/h200/kernels.csv"));
    let rows = csv::Reader::from_reader(text.as_bytes()).into_deserialize();
    let rows: Vec<Kernel> = rows.collect::<Result<_, _>>().expect("a record");
    for (family, count, means, orders) in FAMILIES {
        let own = (rows.iter()).filter(|row| row.kernel.starts_with(&format!("{family}/")));
        let of = |value: fn(&Kernel) -> Option<u64>| -> Vec<(f64, f64)> {
            let pairs = own
                .clone()
                .filter_map(|row| Some((value(row)? as f64, row.ms * row.sm_mhz * 1e3)));
            pairs.collect()
        };
        let both = [of(|row| row.predicted), of(|row| row.from_ptx)];
        for ((pairs, mean), order) in both.iter().zip(means).zip(orders) {
            assert_eq!(
                pairs.len(),
                count,
                "{family}: `cargo ladder clock --kernels tests/kernels --record`"
            );
            let errors = Errors::new(pairs.iter().map(|pair| pair.0 / pair.1 - 1.0));
            let errors = errors.expect("some");
            assert!(
                errors.mean < mean,
                "{family}: {:.3} in the mean",
                errors.mean
            );
            let found = rank_correlation(pairs);
            assert!(found >= order, "{family}: a rank correlation of {found:.3}");
        }
    }
}

/// A row of `results/h200/experiments.csv`.
#[derive(serde::Deserialize)]
struct Experiment {
    kernel: String,
    rung: String,
    ms: f64,
    sm_mhz: f64,
    predicted: u64,
}

/// What the pages say about rung 06 with two CTAs per SM, and with stages for which only one fits.
#[test]
fn the_errors_that_pages_name_are_those_of_the_records() {
    let percent = |errors: Vec<f64>| {
        let errors = Errors::new(errors).expect("recorded errors");
        (100.0 * errors.mean).round()
    };
    let rows = recorded();
    let two = rows.iter().filter(|row| row.rung == "06_pipeline");
    let two = two.filter(|row| row.size != "1024x1024x1024");
    let two: Vec<f64> = two.map(Predicted::error).collect();
    assert!(two.iter().all(|error| *error < 0.0), "{two:?}");
    let text = read(&root().join("results/h200/experiments.csv"));
    let experiments = csv::Reader::from_reader(text.as_bytes()).into_deserialize();
    let experiments: Vec<Experiment> = experiments.collect::<Result<_, _>>().expect("a record");
    let one = experiments.iter().filter(|row| row.rung == "06_pipeline");
    let one = one.filter(|row| row.kernel.ends_with("one block an SM"));
    let one: Vec<f64> = one
        .map(|row| row.predicted as f64 / (row.ms * row.sm_mhz * 1e3) - 1.0)
        .collect();
    assert!(one.iter().all(|error| *error > 0.0), "{one:?}");
    let (fast, slow) = (percent(two), percent(one));
    for (page, block) in [
        ("common/clock/README.md", "CTAs"),
        ("book/src/clock.md", "blocks"),
    ] {
        let said = format!(
            "about {fast}% too fast with two {block} per SM, and {slow}% too slow with one"
        );
        assert!(
            read(&root().join(page)).contains(&said),
            "{page} does not say: {said}"
        );
    }
}

/// The same for predictions without ptxas.
#[test]
fn predictions_from_ptx_are_as_near_to_the_card_as_they_were() {
    let errors = Errors::new(recorded().iter().filter_map(Predicted::error_from_ptx));
    let errors = errors.expect("a record");
    assert!(errors.count >= 64, "{} are recorded", errors.count);
    assert!(errors.median < 0.07, "{:.3} in the median", errors.median);
    assert!(errors.mean < 0.10, "{:.3} in the mean", errors.mean);
    // The worst are rungs 07 and 08, whose loads ptxas moves ahead of more products.
    assert!(errors.worst < 0.33, "{:.3} at worst", errors.worst);
}
