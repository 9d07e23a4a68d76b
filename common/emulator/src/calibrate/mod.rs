//! The emulator against recordings of hardware: every recorded row is executed again, as a kernel, and
//! what comes out is compared.
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
//! | `arithmetic.csv` | one instruction; a digest of its results | `arithmetic` |
//!
//! `experiment` is a kernel with its input, `table` reads CSV.
mod access;
mod arithmetic;
mod experiment;
mod matrix;
mod table;
pub mod tma_layout;
pub mod wgmma_layout;

pub use access::Pattern;
pub use arithmetic::{ArithmeticRow, digest};
pub use experiment::{Experiment, ExperimentError, Observed};
pub use table::{BadRow, Row, Table};

/// How one kind of recording is compared, told by a file's name; none if the name is of another kind.
type Kind = fn(stem: &str) -> Option<Compare>;
type Compare = Box<dyn Fn(&[u8]) -> Result<Comparison, CalibrateError>>;

/// Every kind of recording, with the ending of its files.
const KINDS: [(&str, Kind); 5] = [
    ("csv", access::shared),
    ("csv", access::global),
    ("csv", arithmetic::kind),
    ("csv", wgmma_layout::kind),
    ("bin", matrix::kind),
];

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

/// Executes what the recording `name` holds and compares; none if no kind of recording has such a name.
///
/// # Errors
/// If it holds nothing, is malformed, or has an instruction that the emulator refuses.
pub fn compare(name: &str, bytes: &[u8]) -> Option<Result<Comparison, CalibrateError>> {
    comparer(name).map(|compare| compare(bytes))
}

/// Whether some kind of recording has such a name.
pub fn is_known(name: &str) -> bool {
    comparer(name).is_some()
}

fn comparer(name: &str) -> Option<Compare> {
    let (stem, ending) = name.rsplit_once('.')?;
    let kinds = KINDS.iter().filter(|(kind, _)| *kind == ending);
    kinds.into_iter().find_map(|(_, kind)| kind(stem))
}

/// Whether a file's stem is `name`, or that and a suffix.
fn is_named(stem: &str, name: &str) -> bool {
    stem.strip_prefix(name)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', '-', '.']))
}
