//! The cost of `sanitize`: `cargo bench -p ladder-tests --bench sanitizer`.
//!
//! Every kernel of the rungs and every lab, plain and under `sanitize`, interleaved, so that other load on the machine affects
//! both. `--json` suppresses the prediction of a plain run, which `sanitize` does not make. The goal is a median of at most 3 times a plain run, and 6 times at worst.
//! Criterion stores the times of both, for `--save-baseline` and `--baseline`.
use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use harness::Rung;
use ladder_tests::workspace::{rung, rungs};

/// Pairs of runs, of which the fastest counts: at least `PAIRS`, and more until the time is over, because other load
/// easily delays a run of a few milliseconds; but at most a fixed number.
const PAIRS: u32 = 5;
const LONG_ENOUGH: Duration = Duration::from_millis(500);
const MOST_PAIRS: u32 = 100;

/// One thing that can be run plain and under `sanitize`.
struct Contestant {
    name: String,
    run: Box<dyn Fn(&str) -> Duration>,
}

fn timed(words: &[&str], run: impl Fn(&[&str], &mut Vec<u8>) -> u8) -> Duration {
    let mut report = Vec::new();
    let begin = Instant::now();
    run(words, &mut report);
    begin.elapsed()
}

fn contestants() -> Vec<Contestant> {
    let mut all = Vec::new();
    for folder in rungs() {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let rung: &'static Rung = Box::leak(Box::new(rung(name.to_string().leak())));
        for kernel in rung.kernels {
            let tile = match kernel.configuration {
                "" => vec![],
                tile => vec!["--tile", tile],
            };
            all.push(Contestant {
                name: format!("{name} {} {}", kernel.arch, kernel.configuration),
                run: Box::new(move |command| {
                    let words = [
                        "rung",
                        command,
                        "--device",
                        "emulator",
                        "--arch",
                        kernel.arch,
                        "--json",
                    ];
                    timed(&[&words[..], &tile[..]].concat(), |words, out| {
                        harness::main_with(rung, words, out)
                    })
                }),
            });
        }
    }
    for lab in labs::names() {
        all.push(Contestant {
            name: format!("lab {lab}"),
            run: Box::new(move |command| {
                timed(
                    &["labs", lab, command, "--device", "emulator"],
                    labs::main_with,
                )
            }),
        });
    }
    all
}

fn ratios(criterion: &mut Criterion) {
    let mut ratios = Vec::new();
    for Contestant { name, run } in contestants() {
        let mut best = [Duration::MAX; 2];
        let begin = Instant::now();
        for pair in 0..MOST_PAIRS {
            if pair >= PAIRS && begin.elapsed() > LONG_ENOUGH {
                break;
            }
            for (best, command) in best.iter_mut().zip(["run", "sanitize"]) {
                *best = run(command).min(*best);
            }
        }
        let [plain, sanitize] = best.map(|time| time.as_secs_f64());
        ratios.push((sanitize / plain, name.clone(), plain));
        let mut group = criterion.benchmark_group(name);
        group
            .sample_size(10)
            .warm_up_time(Duration::from_millis(100));
        group.measurement_time(Duration::from_secs(1));
        for command in ["run", "sanitize"] {
            group.bench_function(command, |bencher| {
                bencher.iter_custom(|times| (0..times).map(|_| run(command)).sum());
            });
        }
    }
    ratios.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (ratio, name, plain) in &ratios {
        println!("{ratio:6.2}  {:8.1} ms plain  {name}", plain * 1e3);
    }
    if let (Some(median), Some(worst)) = (ratios.get(ratios.len() / 2), ratios.last()) {
        println!(
            "`sanitize` takes {:.2} times a plain run in the median, {:.2} at worst ({})",
            median.0, worst.0, worst.1
        );
    }
}

criterion_group!(benches, ratios);
criterion_main!(benches);
