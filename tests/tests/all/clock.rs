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

/// Clocks of an SM that the rung's kernel took on the card, from its record.
fn measured(record: &Value, row: &Predicted) -> Option<u64> {
    let mut of_rung = record.as_array()?.iter();
    let of_rung = of_rung.find(|one| row.rung == one["rung"].as_str().unwrap_or_default())?;
    let mut sizes = of_rung["sizes"].as_array()?.iter();
    let kernel = &sizes.find(|run| run["size"] == row.size.as_str())?["time"]["contestants"][0];
    let clocks = kernel["median_ms"].as_f64()? * kernel["sm_mhz"].as_f64()? * 1e3;
    Some(clocks.round() as u64)
}

#[test]
fn the_record_is_what_the_clock_predicts_and_the_card_took() {
    let rows = recorded();
    let bench = read(&root().join("results/h200/bench.json"));
    let bench: Value = serde_json::from_str(&bench).expect("a record");
    for row in &rows {
        let measured = measured(&bench, row);
        assert_eq!(Some(row.measured), measured, "{} at {}", row.rung, row.size);
    }
    if !has_ptxas() {
        return;
    }
    for name in PREDICTED {
        let mut out = Vec::new();
        let words = [
            name, "time", "--json", "--device", "emulator", "--size", "2048",
        ];
        let code = harness::main_with(&rung(name), &words, &mut out);
        let said = String::from_utf8_lossy(&out);
        assert_eq!(code, 0, "{name}: {said}");
        let answer: Value = serde_json::from_str(&said).expect("JSON");
        let predicted = answer["clocks"].as_f64().expect("clocks").round() as u64;
        let mut of_rung = rows.iter().filter(|row| row.rung == name);
        let row = of_rung.find(|row| row.size == "2048x2048x2048");
        let row = row.unwrap_or_else(|| panic!("{name} at 2048 is not in clock.csv"));
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
    assert_eq!(errors.count, 64, "all rungs at four sizes");
    assert!(errors.median < 0.07, "{:.3} in the median", errors.median);
    assert!(errors.mean < 0.08, "{:.3} in the mean", errors.mean);
    assert!(errors.worst < 0.21, "{:.3} at worst", errors.worst);
}
