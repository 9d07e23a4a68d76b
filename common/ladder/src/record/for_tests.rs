//! Invented timings for tests.
use serde_json::{Value, json};

/// The timings of one rung.
pub fn bench(rung: &str, sizes: Vec<Value>) -> Value {
    json!({ "rung": rung, "sizes": sizes })
}

/// A size with the times of the kernel and of cuBLAS in microseconds, without spread.
pub fn right(size: &str, tile: &str, microseconds: [f64; 2]) -> Value {
    with_samples(size, tile, microseconds.map(|one| vec![one; 3]))
}

/// A size with all samples of the kernel and of cuBLAS in microseconds; the middle ones are the medians.
pub fn with_samples(size: &str, tile: &str, [kernel, cublas]: [Vec<f64>; 2]) -> Value {
    let sides: Vec<f64> = size
        .split('x')
        .map(|side| side.parse().expect("a number"))
        .collect();
    let flop = 2.0 * sides.iter().product::<f64>();
    let median = |samples: &[f64]| samples[samples.len() / 2];
    let contest = |name: &str, samples: &[f64]| {
        let ms = median(samples) / 1e3;
        let kernel_speed = median(samples) / median(&kernel);
        let samples_ms: Vec<f64> = samples.iter().map(|one| one / 1e3).collect();
        json!({ "name": name, "median_ms": ms, "p10_ms": ms, "p90_ms": ms, "tflops": flop / ms / 1e9,
            "kernel_speed": kernel_speed, "samples_ms": samples_ms })
    };
    let contestants = [contest("kernel", &kernel), contest("cuBLAS f16", &cublas)];
    json!({ "size": size, "tile": tile, "verify": { "ok": true }, "provenance": provenance(),
        "time": { "tflops": contestants[0]["tflops"], "rounds": kernel.len(), "launches_per_sample": 20,
            "contestants": contestants } })
}

/// A size at which C was wrong.
pub fn wrong(size: &str) -> Value {
    json!({ "size": size, "verify": { "ok": false }, "provenance": provenance(), "time": null })
}

fn provenance() -> Value {
    json!({ "gpu": "NVIDIA H100 80GB HBM3", "driver": "580.1", "cuda": "13.0", "cublas": "13.0.2",
        "power_limit_watts": 700.0, "sm_mhz": [1300.0, 1400.0, 1980.0], "power_watts": null,
        "commit": "abc1234", "date": "2026-11-21T09:30:00Z" })
}
