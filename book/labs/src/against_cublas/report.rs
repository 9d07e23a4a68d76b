//! What was timed, as JSON and as text for a terminal.
use harness::table::{plural, table};
use harness::{CUBLAS_BF16_TN, CUBLAS_LT_BF16_TN, Provenance, Regime};
use serde::Serialize;

use crate::experiments::bf16_tn::LAB;

/// All sizes.
#[derive(Serialize)]
pub struct Timed {
    pub lab: &'static str,
    /// The kernel in both regimes of every size.
    pub summary: Vec<Summary>,
    pub sizes: Vec<SizeTiming>,
    pub provenance: Provenance,
}

/// The kernel in one regime, compared with the libraries.
#[derive(Serialize)]
pub struct Summary {
    pub size: String,
    pub regime: &'static str,
    pub tflops: Option<f64>,
    pub percent_of_cublas: Option<f64>,
    pub percent_of_cublaslt: Option<f64>,
    /// The library of `--beside`; null if there is none, or if it does not multiply this size.
    pub other: Option<String>,
    pub percent_of_other: Option<f64>,
    /// The kernel's SM clock, counted by the SMs.
    pub sm_mhz: Option<f64>,
}

/// One size.
#[derive(Serialize)]
pub struct SizeTiming {
    pub size: String,
    /// The kernel's tile: the fastest of those tried in a first pass, whose samples are not reported.
    pub tile: String,
    pub tiles_tried: usize,
    /// Elements compared with a product in f64, and with cuBLAS's C.
    pub checked: usize,
    pub checked_against_cublas: usize,
    pub buffer_sets: usize,
    /// Number of cuBLASLt's algorithms that were tried.
    pub algorithms: usize,
    /// The library of `--beside`, if it multiplies this size.
    pub other: Option<String>,
    pub sustained: Regime,
    pub cool: Regime,
}

impl SizeTiming {
    /// The kernel in each regime.
    pub fn summary(&self) -> [Summary; 2] {
        [("sustained", &self.sustained), ("cool", &self.cool)].map(|(name, regime)| {
            let of = |library: &str| {
                let found = regime.contestants.iter().find(|one| one.name == library);
                found.map(|one| 100.0 * one.kernel_speed)
            };
            let kernel = regime.contestants.first();
            Summary {
                size: self.size.clone(),
                regime: name,
                tflops: kernel.map(|kernel| kernel.tflops),
                percent_of_cublas: of(CUBLAS_BF16_TN),
                percent_of_cublaslt: of(CUBLAS_LT_BF16_TN),
                percent_of_other: self.other.as_deref().and_then(of),
                other: self.other.clone(),
                sm_mhz: kernel.and_then(|kernel| kernel.sm_mhz),
            }
        })
    }
}

impl Timed {
    /// As text for a terminal.
    pub fn text(&self) -> String {
        let head = [
            "",
            "median ms",
            "middle 80%",
            "TFLOP/s",
            "kernel is at",
            "SM MHz",
            "W",
        ];
        let mut lines = Vec::new();
        for timing in &self.sizes {
            lines.push(format!(
                "{}, tile {}, the fastest of {} in a first pass",
                timing.size,
                timing.tile,
                plural(timing.tiles_tried as u64, "tile"),
            ));
            for (name, regime) in [("sustained", &timing.sustained), ("cool", &timing.cool)] {
                lines.push(format!(
                    "  {name}: {} of {} each, interleaved, over {}, idle for {:.0} ms after each",
                    plural(regime.rounds as u64, "sample"),
                    plural(regime.launches_per_sample as u64, "launch"),
                    plural(timing.buffer_sets as u64, "buffer set"),
                    regime.rest_ms,
                ));
                let rows: Vec<_> = rows(regime).collect();
                lines.extend(
                    table(&head, &rows)
                        .into_iter()
                        .map(|row| format!("    {row}")),
                );
            }
            lines.push(String::new());
        }
        lines.extend(self.provenance.lines());
        let lines: String = lines
            .iter()
            .map(|line| format!("{}\n", format!("  {line}").trim_end()))
            .collect();
        format!("{}  {}\n\n{lines}", self.lab, LAB.about)
    }
}

/// A row for each contestant, with its clock, and the power of all contestants together.
fn rows(regime: &Regime) -> impl Iterator<Item = Vec<String>> {
    let median =
        |of: Option<[f64; 3]>| of.map_or("-".into(), |[_, median, _]| format!("{median:.0}"));
    regime.contestants.iter().map(move |one| {
        vec![
            one.name.clone(),
            format!("{:.4}", one.median_ms),
            format!("{:.4} to {:.4}", one.p10_ms, one.p90_ms),
            format!("{:.1}", one.tflops),
            format!("{:.1}%", 100.0 * one.kernel_speed),
            one.sm_mhz
                .map_or_else(|| median(regime.sm_mhz), |mhz| format!("{mhz:.0}")),
            median(regime.power_watts),
        ]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use harness::{Contest, KERNEL, Size};

    const SIZE: Size = Size {
        m: 1024,
        n: 1024,
        k: 1024,
    };

    #[test]
    fn the_report_has_clock_and_power_in_every_row() {
        let contest = |name: &str, median_ms| Contest {
            name: name.into(),
            kernel: None,
            median_ms,
            p10_ms: median_ms,
            p90_ms: median_ms,
            tflops: SIZE.flop() / median_ms / 1e9,
            kernel_speed: median_ms,
            sm_mhz: None,
            samples_ms: Vec::new(),
        };
        let regime = |rest_ms, mhz| Regime {
            rounds: 30,
            launches_per_sample: 1,
            rest_ms,
            contestants: vec![contest(KERNEL, 1.0), contest(CUBLAS_BF16_TN, 1.25)],
            sm_mhz: Some([mhz, mhz, mhz]),
            power_watts: None,
        };
        let sizes = vec![SizeTiming {
            size: SIZE.to_string(),
            tile: "128x256".into(),
            tiles_tried: 4,
            checked: 65,
            checked_against_cublas: 1 << 20,
            buffer_sets: 2,
            algorithms: 8,
            other: None,
            sustained: regime(0.0, 1500.0),
            cool: regime(24.0, 1980.0),
        }];
        let timed = Timed {
            lab: LAB.name,
            summary: sizes.iter().flat_map(SizeTiming::summary).collect(),
            sizes,
            provenance: Provenance::of("kernel.cu".into(), "committed".into()),
        };
        let cool = timed.summary.last().expect("two regimes");
        assert_eq!((cool.regime, cool.percent_of_cublas), ("cool", Some(125.0)));
        let text = timed.text();
        for line in [
            "1024x1024x1024, tile 128x256, the fastest of 4 tiles in a first pass",
            "sustained: 30 samples of 1 launch each, interleaved, over 2 buffer sets, idle for 0 ms after each",
            "idle for 24 ms after each",
        ] {
            assert!(text.contains(line), "no {line:?} in\n{text}");
        }
        let rows = text.lines().filter(|line| line.contains(CUBLAS_BF16_TN));
        let ends: Vec<Vec<&str>> = rows
            .map(|row| row.split_whitespace().rev().take(3).collect())
            .collect();
        assert_eq!(ends, [["-", "1500", "125.0%"], ["-", "1980", "125.0%"]]);
        assert!(
            harness::schema::LABS_TIME
                .pretty(&timed)
                .contains("\"sm_mhz\"")
        );
    }
}
