//! What is on record of the card that the clock models: how long cuBLAS takes, and how far predictions are off.
use serde::Deserialize;

use crate::{Error, Result, Size};

/// `cargo ladder bench` on the card, and what `build.rs` takes from it: the fewest clocks of cuBLAS's f16 GEMM at each size.
const BENCH: (&str, &str) = (
    "results/h200/bench.csv",
    include_str!(concat!(env!("OUT_DIR"), "/cublas_clocks.csv")),
);
/// `cargo ladder clock --record`: rungs that no constant was fitted on.
const PREDICTED: (&str, &str) = (
    "results/h200/clock.csv",
    include_str!("../../../../results/h200/clock.csv"),
);

/// The files of which something is compiled in, from the workspace's root.
pub const FILES: [&str; 2] = [BENCH.0, PREDICTED.0];

#[derive(Deserialize)]
struct Row {
    size: String,
    clocks: f64,
}

/// A kernel that was predicted, and timed on the card: a row of results/h200/clock.csv.
#[derive(Clone, Debug, PartialEq, Deserialize, serde::Serialize)]
pub struct Predicted {
    /// Which.
    pub rung: String,
    /// The problem.
    pub size: String,
    /// The part of C that a CTA computes at a time; empty if the rung has one only.
    pub tile: String,
    /// Clocks of an SM.
    pub predicted: u64,
    /// The same from list-scheduled PTX, as without ptxas.
    pub from_ptx: Option<u64>,
    /// Clocks of an SM: the median time by the clock that the SMs counted.
    pub measured: u64,
    /// That clock, for which it was predicted; memory does not follow it.
    pub sm_mhz: f64,
    /// The stall reason that most clocks of warps were predicted for.
    pub reason: String,
    /// The stall reason that ncu sampled most often, if the rung was sampled at this size.
    pub sampled: String,
}

impl Predicted {
    /// How far the prediction is off, as a part of what was measured.
    pub fn error(&self) -> f64 {
        self.predicted as f64 / self.measured as f64 - 1.0
    }

    /// The same of the prediction from list-scheduled PTX.
    pub fn error_from_ptx(&self) -> Option<f64> {
        Some(self.from_ptx? as f64 / self.measured as f64 - 1.0)
    }
}

/// How far predictions are off, as parts of what was measured.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Errors {
    /// In the median.
    pub median: f64,
    /// In the mean.
    pub mean: f64,
    /// At worst.
    pub worst: f64,
    /// Kernels and sizes that were predicted and timed.
    pub count: usize,
}

impl Errors {
    /// Over these, each with its sign; none over none.
    pub fn new(errors: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut errors: Vec<f64> = errors.into_iter().map(f64::abs).collect();
        errors.sort_by(f64::total_cmp);
        let count = errors.len();
        Some(Self {
            median: *errors.get(count / 2)?,
            mean: errors.iter().sum::<f64>() / count as f64,
            worst: *errors.last()?,
            count,
        })
    }

    /// Over what is recorded.
    ///
    /// # Errors
    /// If the record cannot be read.
    pub fn recorded() -> Result<Option<Self>> {
        Ok(Self::new(predicted()?.iter().map(Predicted::error)))
    }

    /// Over what is recorded of predictions from list-scheduled PTX.
    ///
    /// # Errors
    /// If the record cannot be read.
    pub fn recorded_from_ptx() -> Result<Option<Self>> {
        let all = predicted()?;
        Ok(Self::new(all.iter().filter_map(Predicted::error_from_ptx)))
    }
}

/// What was predicted and measured.
///
/// # Errors
/// If the record cannot be read.
pub fn predicted() -> Result<Vec<Predicted>> {
    rows(PREDICTED)
}

/// The fewest clocks of an SM that cuBLAS's f16 GEMM took for this problem, if it was recorded.
///
/// # Errors
/// If the record cannot be read.
pub fn cublas_clocks(size: Size) -> Result<Option<f64>> {
    let size = size.to_string();
    let mut rows = rows::<Row>(BENCH)?.into_iter();
    Ok(rows.find(|row| row.size == size).map(|row| row.clocks))
}

fn rows<T: for<'a> Deserialize<'a>>((path, text): (&'static str, &str)) -> Result<Vec<T>> {
    let rows = csv::Reader::from_reader(text.as_bytes()).into_deserialize();
    rows.collect::<std::result::Result<_, _>>()
        .map_err(|error| Error::Ceilings(path, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cublas_is_on_record_and_predictions_are() {
        let clocks = cublas_clocks(Size::cube(4096)).expect("a record");
        assert!(clocks.is_some_and(|clocks| (2e5..4e5).contains(&clocks)));
        assert_eq!(cublas_clocks(Size::cube(4095)).expect("a record"), None);
        assert!(Errors::recorded().expect("a record").is_some());
    }

    #[test]
    fn errors_count_without_their_signs() {
        let errors = Errors::new([0.1, -0.3, 0.05]).expect("errors");
        assert_eq!((errors.median, errors.worst, errors.count), (0.1, 0.3, 3));
        assert!((errors.mean - 0.15).abs() < 1e-12);
        assert_eq!(Errors::new([]), None);
    }
}
