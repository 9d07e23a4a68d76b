//! The emulator against recordings of hardware: every recorded row is executed again, as a kernel, and
//! what comes out is compared. Where there is a GPU, the same kernels make the recording anew.
//!
//! A recording is known by its file name; a suffix such as `_2` before the ending is free.
//!
//! | file | a row | file here |
//! | --- | --- | --- |
//! | `shared_memory.csv` | one access of a warp; wavefronts, bank conflicts | `access` |
//! | `global_memory.csv` | one access of a warp; sectors, requests | `access` |
//! | `mma_m16n8k{8,16}_{f16,bf16}.bin` | A, B, C, and the D that came out | `matrix` |
//! | `wgmma_m64n8k16_{f16,bf16}.bin` | the same, 16 of the 64 rows | `matrix` |
//! | `wgmma_layout.csv` | one descriptor; the byte of each element | `wgmma_layout` |
//! | `tma_layout.csv` | one tile; what lies where in shared memory | `tma_layout` |
//! | `arithmetic.csv` | one instruction; a digest of its results | `arithmetic` |
//! | `tensor.csv` | many products of matrices from a seed; a digest of the results | `tensor` |
//!
//! `patterns` makes the accesses to be recorded, `random` the random bits of all that is made here. `experiment` is a kernel with its input, `placement` what recordings of layouts share, `table` reads CSV.
mod access;
mod arithmetic;
mod experiment;
mod matrix;
mod patterns;
mod placement;

mod table;
mod tensor;
pub mod tma_layout;
pub mod wgmma_layout;

pub use access::Pattern;
pub use arithmetic::{ArithmeticRow, digest};
pub use experiment::{Experiment, ExperimentError, Observed, Tensor};
pub use table::{BadRow, Row, Table};

use crate::{Card, Options};

/// One kind of recording.
trait Recording {
    /// Executes on the emulator of this card and compares.
    fn compare(&self, bytes: &[u8], card: Card) -> Result<Comparison, CalibrateError>;
    /// What was executed, one after the other.
    fn experiments(&self, bytes: &[u8]) -> Result<Vec<Experiment>, CalibrateError>;
    /// The same recording with what `hardware` measures in place of what was measured.
    fn record(&self, bytes: &[u8], hardware: &mut dyn Hardware) -> Result<Vec<u8>, RecordError>;
}

/// Tells by a file's name, without its ending, whether it is of a kind.
type Kind = fn(stem: &str) -> Option<Box<dyn Recording>>;

/// Every kind of recording, with the ending of its files.
const KINDS: [(&str, Kind); 7] = [
    ("csv", access::shared),
    ("csv", access::global),
    ("csv", arithmetic::kind),
    ("csv", tensor::kind),
    ("csv", wgmma_layout::kind),
    ("csv", tma_layout::kind),
    ("bin", matrix::kind),
];

/// A GPU to record.
pub trait Hardware {
    /// Makes experiments; the bytes of their outputs.
    ///
    /// # Errors
    /// If the GPU cannot.
    fn outputs(&mut self, experiments: &[Experiment]) -> Result<Vec<Vec<u8>>, Failure>;
    /// Makes the recording's [`experiments`] under Nsight Compute: two of its metrics for each of them, which
    /// `metrics` names.
    ///
    /// # Errors
    /// If the GPU or Nsight Compute cannot.
    fn counts(&mut self, metrics: &[[&'static str; 2]]) -> Result<Vec<[u64; 2]>, Failure>;
}

/// Whatever went wrong with the hardware.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Why nothing could be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The recording that was to be repeated.
    #[error("{0}")]
    Recording(#[from] CalibrateError),
    /// The hardware.
    #[error("{0}")]
    Hardware(Failure),
    /// The hardware gave results of which there are too few or too many.
    #[error("{found} results of {wanted} experiments")]
    Count {
        /// Results that came.
        found: usize,
        /// Results that should have come.
        wanted: usize,
    },
}

/// A recording held against the emulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// What is compared: `rows` or `records`.
    pub unit: &'static str,
    /// How many there are.
    pub all: usize,
    /// Those that differ, in the order of the file.
    pub differences: Vec<Difference>,
}

impl Comparison {
    /// How many came out as recorded.
    pub fn equal(&self) -> usize {
        self.all - self.differences.len()
    }
}

/// A row or a record that does not come out as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// `line 7`, counted from 1, or `record 7`, counted from 0.
    pub place: String,
    /// What was executed.
    pub what: String,
    /// As recorded.
    pub expected: String,
    /// As emulated.
    pub found: String,
}

/// A recording that cannot be read or executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CalibrateError {
    /// Nothing in it.
    #[error("it holds no {0}")]
    Empty(&'static str),
    /// A row of a table.
    #[error("line {line}: {why}")]
    Row {
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        why: BadRow,
    },
    /// A file of records that ends in the middle of one.
    #[error(
        "record {record} is cut off: {bytes} bytes are no multiple of the {record_bytes} of a record"
    )]
    CutOff {
        /// Counted from 0.
        record: usize,
        /// Bytes of the file.
        bytes: usize,
        /// Bytes of a record.
        record_bytes: usize,
    },
    /// Records that the emulator cannot execute.
    #[error("{0}")]
    Execute(#[from] ExperimentError),
}

/// Executes what the recording `name` holds on the emulator of `card` and compares; none if no kind of recording has
/// such a name.
///
/// # Errors
/// If it holds nothing, is malformed, or has an instruction that the emulator refuses.
pub fn compare(name: &str, bytes: &[u8], card: Card) -> Option<Result<Comparison, CalibrateError>> {
    recording(name).map(|recording| recording.compare(bytes, card))
}

/// What the recording `name` was made with; none if no kind of recording has such a name.
///
/// # Errors
/// If it holds nothing or is malformed.
pub fn experiments(name: &str, bytes: &[u8]) -> Option<Result<Vec<Experiment>, CalibrateError>> {
    recording(name).map(|recording| recording.experiments(bytes))
}

/// Repeats the recording `name` on hardware: the same file, with what it measures now; none if no kind of
/// recording has such a name.
///
/// # Errors
/// If the recording is malformed, or the hardware fails.
pub fn record(
    name: &str,
    bytes: &[u8],
    hardware: &mut dyn Hardware,
) -> Option<Result<Vec<u8>, RecordError>> {
    recording(name).map(|recording| recording.record(bytes, hardware))
}

/// Recordings that are made here and not by hand, by name: all rows that shall be recorded, with zeros for what a GPU
/// has to tell.
pub fn planned() -> [(&'static str, String); 3] {
    [
        (
            "shared_memory_patterns.csv",
            patterns::plan(access::Space::Shared),
        ),
        (
            "global_memory_patterns.csv",
            patterns::plan(access::Space::Global),
        ),
        ("tensor.csv", tensor::plan()),
    ]
}

/// Whether some kind of recording has such a name.
pub fn is_known(name: &str) -> bool {
    recording(name).is_some()
}

fn recording(name: &str) -> Option<Box<dyn Recording>> {
    let (stem, ending) = name.rsplit_once('.')?;
    let kinds = KINDS.iter().filter(|(kind, _)| *kind == ending);
    kinds.into_iter().find_map(|(_, kind)| kind(stem))
}

/// Options of an experiment on the emulator of a card.
fn on(card: Card) -> Options<'static> {
    Options {
        card,
        ..Options::default()
    }
}

/// As many results as experiments.
fn all<T>(results: Vec<T>, wanted: usize) -> Result<Vec<T>, RecordError> {
    let found = results.len();
    if found == wanted {
        Ok(results)
    } else {
        Err(RecordError::Count { found, wanted })
    }
}

/// Whether a file's stem is `name`, or that and a suffix.
fn is_named(stem: &str, name: &str) -> bool {
    stem.strip_prefix(name)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', '-', '.']))
}
