//! Records of the card that the clock model describes: cuBLAS's times, and the accuracy of predictions.
use crate::{Error, Result, RowError, Size, Table, TableError};

/// `cargo ladder bench` on the card, and `build.rs`'s extract of it: the fewest clocks of cuBLAS's f16 GEMM at each
/// size.
const BENCH: (&str, &str) = (
    "results/h200/bench.csv",
    include_str!(concat!(env!("OUT_DIR"), "/cublas_clocks.csv")),
);
/// `cargo ladder clock --record`: rungs, on which no constant was fitted.
const PREDICTED: (&str, &str) = (
    "results/h200/clock.csv",
    include_str!("../../../../results/h200/clock.csv"),
);

/// The files that are partly compiled in, relative to the workspace's root.
pub const FILES: [&str; 2] = [BENCH.0, PREDICTED.0];

/// A kernel with its prediction and its time on the card: a row of results/h200/clock.csv.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
pub struct Predicted {
    /// The rung.
    pub rung: String,
    /// The problem.
    pub size: String,
    /// The tile of C that a CTA computes at a time; empty if the rung has only one.
    pub tile: String,
    /// Predicted clocks per SM.
    pub predicted: u64,
    /// The same from list-scheduled PTX, as without ptxas.
    pub from_ptx: Option<u64>,
    /// Measured clocks per SM: the median time, converted by the clock that the SMs counted.
    pub measured: u64,
    /// That clock, for which it was predicted; memory does not follow it.
    pub sm_mhz: f64,
    /// The stall reason that most clocks of warps were predicted for.
    pub reason: String,
    /// The stall reason that ncu sampled most often, if it sampled the rung at this size.
    pub sampled: String,
}

impl Predicted {
    /// The relative error of the prediction.
    pub fn error(&self) -> f64 {
        self.predicted as f64 / self.measured as f64 - 1.0
    }

    /// The relative error of the prediction from list-scheduled PTX.
    pub fn error_from_ptx(&self) -> Option<f64> {
        Some(self.from_ptx? as f64 / self.measured as f64 - 1.0)
    }
}

/// Relative errors of predictions.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Errors {
    /// The median.
    pub median: f64,
    /// The mean.
    pub mean: f64,
    /// The largest.
    pub worst: f64,
    /// Number of predictions that were compared with a measurement.
    pub count: usize,
}

impl Errors {
    /// From signed errors; none for an empty list.
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

    /// The errors of all recorded predictions.
    ///
    /// # Errors
    /// If the record cannot be read.
    pub fn recorded() -> Result<Option<Self>> {
        Ok(Self::new(predicted()?.iter().map(Predicted::error)))
    }

    /// The errors of all recorded predictions from list-scheduled PTX.
    ///
    /// # Errors
    /// If the record cannot be read.
    pub fn recorded_from_ptx() -> Result<Option<Self>> {
        let all = predicted()?;
        Ok(Self::new(all.iter().filter_map(Predicted::error_from_ptx)))
    }
}

/// All recorded predictions with their measurements.
///
/// # Errors
/// If the record cannot be read.
pub fn predicted() -> Result<Vec<Predicted>> {
    rows(
        PREDICTED,
        [
            "rung",
            "size",
            "tile",
            "predicted",
            "from_ptx",
            "measured",
            "sm_mhz",
            "reason",
            "sampled",
        ],
        |[
            rung,
            size,
            tile,
            predicted,
            from_ptx,
            measured,
            sm_mhz,
            reason,
            sampled,
        ]| {
            Ok(Predicted {
                rung: rung.into(),
                size: size.into(),
                tile: tile.into(),
                predicted: clocks(predicted)?,
                from_ptx: match from_ptx {
                    "" => None,
                    text => Some(clocks(text)?),
                },
                measured: clocks(measured)?,
                sm_mhz: number(sm_mhz)?,
                reason: reason.into(),
                sampled: sampled.into(),
            })
        },
    )
}

/// The fewest clocks per SM that cuBLAS's f16 GEMM took for this problem, if it was recorded.
///
/// # Errors
/// If the record cannot be read.
pub fn cublas_clocks(size: Size) -> Result<Option<f64>> {
    let size = size.to_string();
    let all = rows(BENCH, ["size", "clocks"], |[size, clocks]| {
        Ok((size.to_owned(), number(clocks)?))
    })?;
    let found = all.into_iter().find(|(recorded, _)| *recorded == size);
    Ok(found.map(|(_, clocks)| clocks))
}

/// The rows of a record, each from these columns.
fn rows<T, const N: usize>(
    (path, text): (&'static str, &str),
    columns: [&str; N],
    row: impl Fn([&str; N]) -> std::result::Result<T, RowError>,
) -> Result<Vec<T>> {
    let read = || {
        let table = Table::read(text.as_bytes(), ',', &columns)?;
        let rows = table.rows.iter().map(|one| {
            let fields = table.pick(one, &columns);
            let fields = fields.map(|fields| std::array::from_fn(|column| fields[column]));
            fields.and_then(&row).map_err(|why| TableError::Row {
                line: one.line,
                why,
            })
        });
        rows.collect::<std::result::Result<_, _>>()
    };
    read().map_err(|error| Error::Ceilings(path, error.to_string()))
}

fn number(text: &str) -> std::result::Result<f64, RowError> {
    let number = emulator::parse_f64(text);
    number.ok_or_else(|| RowError(format!("{text} is not a number")))
}

/// A number of clocks.
fn clocks(text: &str) -> std::result::Result<u64, RowError> {
    let clocks = text.parse();
    clocks.map_err(|_| RowError(format!("{text} is not a number of clocks")))
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
