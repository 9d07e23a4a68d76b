//! The clock against what an H200 took.
use std::env;

use harness::tools;
use ladder_tests::workspace::{read, root, rung, skipped};
use serde_json::Value;

/// Rungs at 2048, and how far the prediction is off at most: what has been reached, rounded up.
const REACHED: [(&str, f64); 3] = [
    ("05_swizzle", 0.10),
    ("09_tma", 0.10),
    ("13_persistent", 0.10),
];

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

/// Clocks of an SM that the rung's kernel took at 2048 on an H200.
fn measured(record: &Value, name: &str) -> Option<f64> {
    let of_rung = record.as_array()?.iter().find(|one| one["rung"] == name)?;
    let sizes = of_rung["sizes"].as_array()?;
    let run = sizes.iter().find(|run| run["size"] == "2048x2048x2048")?;
    let kernel = &run["time"]["contestants"][0];
    Some(kernel["median_ms"].as_f64()? * kernel["sm_mhz"].as_f64()? * 1e3)
}

#[test]
fn predictions_are_as_near_to_the_card_as_they_were() {
    if !has_ptxas() {
        return;
    }
    let record = read(&root().join("results/h200/bench.json"));
    let record: Value = serde_json::from_str(&record).expect("a record");
    let mut wrong = Vec::new();
    for (name, reached) in REACHED {
        let mut out = Vec::new();
        let words = [
            name, "time", "--json", "--device", "emulator", "--size", "2048",
        ];
        let code = harness::main_with(&rung(name), &words, &mut out);
        let said = String::from_utf8_lossy(&out);
        assert_eq!(code, 0, "{name}: {said}");
        let answer: Value = serde_json::from_str(&said).expect("JSON");
        let predicted = answer["clocks"].as_f64().expect("clocks");
        let measured = measured(&record, name).expect("a recorded time");
        let error = predicted / measured - 1.0;
        if error.abs() > reached {
            wrong.push(format!(
                "{name}: {predicted:.0} clocks predicted, {measured:.0} measured: {:+.1}%",
                100.0 * error
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
