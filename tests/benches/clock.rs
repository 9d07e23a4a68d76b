//! The time of the clock model's predictions: `cargo bench -p ladder-tests --bench clock`.
//!
//! A rung of each kind at typical sizes, as `time` runs it. The goal is 3 s on two cores, for every rung at 4096 and
//! 8192. ONLY=13 measures one rung.
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use ladder_tests::workspace::rung;

/// One load for each operand; a pipeline; TMA and `wgmma`; persistent blocks that wait for each other; tiles in pieces.
const RUNGS: [&str; 5] = [
    "01_naive",
    "06_pipeline",
    "11_specialized",
    "13_persistent",
    "16_stream_k",
];
const SIZES: [&str; 2] = ["4096", "8192"];

fn predict(name: &'static str, size: &str) {
    let mut out = Vec::new();
    let words = [
        name, "time", "--json", "--device", "emulator", "--size", size,
    ];
    let code = harness::main_with(&rung(name), &words, &mut out);
    assert_eq!(code, 0, "{}", String::from_utf8_lossy(&out));
}

fn clock(criterion: &mut Criterion) {
    let only = std::env::var("ONLY").unwrap_or_default();
    let mut group = criterion.benchmark_group("prediction");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(10));
    for name in RUNGS.into_iter().filter(|name| name.starts_with(&only)) {
        for size in SIZES {
            group.bench_function(format!("{name} at {size}"), |bencher| {
                bencher.iter(|| predict(name, size));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, clock);
criterion_main!(benches);
