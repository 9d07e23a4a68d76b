//! Compares the emulator with recordings of hardware, instruction by instruction: every recorded row is executed as a
//! kernel, and the results are compared. On a GPU the same kernels make the recording.
//!
//! A recording is identified by its file name; a suffix such as `_2` before the extension is allowed.
//!
//! | file | a row | file here |
//! | --- | --- | --- |
//! | `shared_memory.csv` | one access of a warp; wavefronts, bank conflicts | `access` |
//! | `global_memory.csv` | one access of a warp; sectors, requests | `access` |
//! | `mma_m16n8k{8,16}_{f16,bf16}.bin` | A, B, C, and the resulting D | `matrix` |
//! | `wgmma_m64n8k16_{f16,bf16}.bin` | the same, 16 of the 64 rows | `matrix` |
//! | `wgmma_layout.csv` | one descriptor; the byte of each element | `wgmma_layout` |
//! | `wmma_layout.csv` | one `wmma` fragment; a digest of its registers | `wmma_layout` |
//! | `tma_layout.csv` | one tile; the element at each place in shared memory | `tma_layout` |
//! | `arithmetic.csv` | one instruction; a digest of its results | `arithmetic` |
//! | `approximate*.csv` | one approximate instruction, a block of its inputs; a sum over its results | `approximate` |
//! | `tensor.csv` | many matrix products from a seed; a digest of the results | `tensor` |
//! | `mma_fragments.csv` | the same in every format, register by register | `fragments` |
//!
//! `table` reads, compares and writes the recordings that are tables. `experiment` is a kernel with its input, and
//! runs on the emulator or a GPU. `patterns` lists the accesses to record, `random` generates the random bits of all
//! inputs.
mod access;
mod approximate;
mod arithmetic;
mod experiment;
mod fragments;
mod matrix;
mod patterns;
mod random;
mod table;
mod tensor;
pub mod tma_layout;
pub mod wgmma_layout;
mod wmma_layout;

pub use arithmetic::ArithmeticRow;
pub use experiment::{Experiment, Observed, Tensor};
pub use table::{Digest, Recorded, Row, rows};

use anyhow::{Result, ensure};
use emulator::{Card, Options};
use table::TableOf;

/// One kind of recording.
trait Recording: Sync {
    /// The first line, if it is a table.
    fn header(&self) -> &'static str {
        ""
    }
    /// Executes it on the emulator of this card and compares.
    fn compare(&self, bytes: &[u8], card: Card) -> Result<Comparison>;
    /// The experiments, one after the other.
    fn experiments(&self, bytes: &[u8]) -> Result<Vec<Experiment>>;
    /// The same recording with the results of a GPU.
    fn record(&self, bytes: &[u8], recorder: &mut dyn Recorder) -> Result<Vec<u8>>;
}

/// Every kind of recording, with the name and the extension of its files, except those of [`matrix::SHAPES`].
const TABLES: [(&str, &dyn Recording); 9] = [
    (
        "shared_memory",
        &TableOf::<access::Access<access::Shared>>::NEW,
    ),
    (
        "global_memory",
        &TableOf::<access::Access<access::Global>>::NEW,
    ),
    ("arithmetic", &TableOf::<ArithmeticRow>::NEW),
    ("approximate", &TableOf::<approximate::Block>::NEW),
    ("tensor", &TableOf::<tensor::Batch>::NEW),
    ("mma_fragments", &TableOf::<fragments::Products>::NEW),
    ("wgmma_layout", &TableOf::<wgmma_layout::Case>::NEW),
    ("wmma_layout", &TableOf::<wmma_layout::Fragment>::NEW),
    ("tma_layout", &TableOf::<tma_layout::Case>::NEW),
];

/// All inputs of approximate instructions of 32 and 64 bits, which take minutes to compare.
pub const APPROXIMATE_ALL: &str = "approximate_all.csv";

/// Makes recordings on a GPU.
pub trait Recorder {
    /// Runs an experiment; returns its output.
    ///
    /// # Errors
    /// If the GPU cannot.
    fn output(&mut self, experiment: &Experiment) -> Result<Vec<u8>>;
    /// Runs all of the recording's [`experiments`] under Nsight Compute; returns the two metrics that `metrics` names
    /// for each of them.
    ///
    /// # Errors
    /// If the GPU or Nsight Compute fails.
    fn counters(&mut self, metrics: &[[String; 2]]) -> Result<Vec<[u64; 2]>>;
}

/// Checks that there is one result for each experiment.
fn check_count(found: usize, wanted: usize) -> Result<()> {
    ensure!(found == wanted, "{found} results of {wanted} experiments");
    Ok(())
}

/// The comparison of a recording with the emulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The unit of comparison: `rows` or `records`.
    pub unit: &'static str,
    /// Number of units.
    pub all: usize,
    /// The units that differ, in the order of the file.
    pub differences: Vec<Difference>,
}

impl Comparison {
    /// Number of equal units.
    pub fn equal(&self) -> usize {
        self.all - self.differences.len()
    }
}

/// A row or a record whose result differs from the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// `line 7`, counted from 1, or `record 7`, counted from 0.
    pub place: String,
    /// The instruction.
    pub what: String,
    /// The recorded result.
    pub expected: String,
    /// The emulated result.
    pub found: String,
}

/// Executes the recording `name` on the emulator of `card` and compares; `None` if no kind of recording has this
/// name.
///
/// # Errors
/// If it is empty or malformed, or has an instruction that the emulator refuses.
pub fn compare(name: &str, bytes: &[u8], card: Card) -> Option<Result<Comparison>> {
    recording(name).map(|recording| recording.compare(bytes, card))
}

/// The experiments of the recording `name`; `None` if no kind of recording has this name.
///
/// # Errors
/// If it is empty or malformed.
pub fn experiments(name: &str, bytes: &[u8]) -> Option<Result<Vec<Experiment>>> {
    recording(name).map(|recording| recording.experiments(bytes))
}

/// Repeats the recording `name` on a GPU: returns the same file with new results; `None` if no kind of recording has
/// this name.
///
/// # Errors
/// If the recording is malformed, or the GPU fails.
pub fn record(name: &str, bytes: &[u8], recorder: &mut dyn Recorder) -> Option<Result<Vec<u8>>> {
    recording(name).map(|recording| recording.record(bytes, recorder))
}

/// Generated recordings, by name: all rows to record, with zeros for the results.
pub fn planned() -> [(&'static str, String); 11] {
    [
        (
            "shared_memory_patterns.csv",
            patterns::plan::<access::Shared>(),
        ),
        (
            "global_memory_patterns.csv",
            patterns::plan::<access::Global>(),
        ),
        ("tensor.csv", tensor::plan()),
        ("mma_fragments.csv", fragments::plan()),
        ("mma_fragments_more.csv", fragments::plan_more()),
        ("wmma_layout.csv", wmma_layout::plan()),
        ("wmma_layout_more.csv", wmma_layout::plan_more()),
        ("arithmetic_more.csv", arithmetic::plan()),
        ("arithmetic_modes.csv", arithmetic::MODES.to_owned()),
        ("approximate.csv", approximate::plan_halves()),
        (APPROXIMATE_ALL, approximate::plan_wide()),
    ]
}

/// The first line of a recording that is a table; empty if no table has this name.
pub fn header(name: &str) -> &'static str {
    recording(name).map_or("", Recording::header)
}

/// Whether some kind of recording has this name.
pub fn is_known(name: &str) -> bool {
    recording(name).is_some()
}

fn recording(name: &str) -> Option<&'static dyn Recording> {
    let (stem, ending) = name.rsplit_once('.')?;
    match ending {
        "csv" => {
            let found = TABLES.iter().find(|(name, _)| is_named(stem, name))?;
            Some(found.1)
        }
        "bin" => {
            let found = matrix::SHAPES.iter().find(|mma| is_named(stem, mma.name))?;
            Some(found)
        }
        _ => None,
    }
}

/// Whether a file's stem is `name`, optionally with a suffix.
fn is_named(stem: &str, name: &str) -> bool {
    stem.strip_prefix(name)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', '-', '.']))
}

/// Options of an experiment on the emulator of a card.
fn options(card: Card) -> Options {
    Options {
        card,
        ..Options::default()
    }
}

/// Little-endian words.
fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    let words = bytes.chunks_exact(4);
    words.map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
}
