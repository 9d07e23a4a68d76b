//! What a rung's `main.rs` calls: the steps of the host's part, and around them everything that a reader can ask of a
//! rung. A run passes through these files:
//!
//! | file | what it answers |
//! | --- | --- |
//! | `rung` | what is a rung? |
//! | `cli/` | what did the reader ask for, and which flag helps? |
//! | `settings` | the same, without a command line |
//! | `target`, `device` | emulator or GPU, and the calls that both answer |
//! | `host` | the host's part: compile, allocate, launch, verify |
//! | `source/` | which kernel, and where does its PTX come from? |
//! | `kernel`, `spec` | does the PTX hold a kernel that can be launched, and how does it say it is launched? |
//! | `size`, `problem`, `values` | which numbers are multiplied? |
//! | `verify`, `reference` | is C right? |
//! | `run` | one run, from settings to an outcome |
//! | `report/` | how does the reader see it? |
//!
//! Beside them:
//!
//! | file | what it answers |
//! | --- | --- |
//! | `timing/` | how fast is it, and how fast could it be? |
//! | `trial`, `transpose` | a student's kernel, launch after launch, nothing printed |
//! | `cli/rungs` | which rungs are there, and with which flags does another program run one? |
//! | `tools` | where are CUDA's programs? |
//! | `warp_access`, `csv_table` | accesses of a warp, as a reader writes them down |
//! | `error` | what went wrong, and what to do about it |
mod cli;
mod csv_table;
mod device;
mod error;
mod host;
mod kernel;
mod other_sizes;
mod problem;
mod reference;
mod report;
mod run;
mod rung;
mod settings;
mod size;
mod source;
mod spec;
mod target;
mod timing;
pub mod tools;
mod transpose;
mod trial;
mod values;
mod verify;
mod warp_access;

use report::{accesses, json, profile, progress, sanitize, waits};
use source::{choose, compile, on_disk};
use timing::{bench, bound, contest, cool, predict, provenance, regime, sustained};

pub use report::{lines, metrics, table};
pub use source::ptx_file;
pub use timing::{alone, ceilings, measured, occupancy, records};

pub use alone::{Alone, Pass, TENSOR_FLOP_PER_CLOCK, passes};
pub use bench::{ALGORITHMS, Effort, SIZES, contestant, sets, sides};
pub use cli::{Bytes, explained, main, main_with, rungs};
pub use compile::Compile;
pub use contest::{CUBLAS, CUBLAS_BF16_TN, CUBLAS_LT, CUBLAS_LT_BF16_TN, Contest, KERNEL, lt_name};
pub use cool::measure as measure_cool;
pub use csv_table::{BadRow, BadTable, Table, TableRow};
pub use device::{
    Arg, Buffer, CLOCK_LOG, Device, Function, LaunchConfig, Module, TensorTiling, Tiling, on_gpu,
};
pub use error::{Error, Result};
pub use gpu::{GpuError, Nvrtc, TranslationUnit};
pub use host::{Host, gemm};
pub use json::{Line as CountedLine, lines as counted_lines, pretty};
pub use kernel::Kernel;
pub use on_disk::KernelOnDisk;
pub use predict::{AnyLaunch, Prediction, Wish};
pub use problem::{Problem, hex, random_matrix, splitmix64, to_bytes};
pub use profile::source_lines;
pub use provenance::{OnGpu, Provenance};
pub use regime::Regime;
pub use report::{memory, predicted, print, section};
pub use rung::{KernelFile, Rung, Switch};
pub use sanitize::{Remark, text as findings};
pub use settings::{KernelChoice, Settings};
pub use size::Size;
pub use source::{Origin, Source, compile_text, name_in_ptx, prepared};
pub use spec::{LaunchSpec, TensorBox, Tile};
pub use sustained::measure as measure_sustained;
pub use table::thousands;
pub use target::{Need, Target, Wanted};
pub use trial::{Launched, Task, Trial, TrialLaunch};
pub use values::{DISTINCT, Values};
pub use verify::{Verification, Wrong, verify};
pub use warp_access::WarpAccess;

/// Threads beyond which more are of no use, and too many take a machine's memory.
const MOST_THREADS: usize = 512;

/// Starts no more threads than [`MOST_THREADS`], whatever `RAYON_NUM_THREADS` asks for. Called before any work.
pub fn bound_threads() {
    let asked = std::env::var("RAYON_NUM_THREADS").ok();
    let asked = asked.and_then(|threads| threads.trim().parse::<usize>().ok());
    if asked.is_some_and(|threads| threads > MOST_THREADS) {
        let bounded = rayon::ThreadPoolBuilder::new().num_threads(MOST_THREADS);
        // There is a pool already, whose size nobody can change.
        let _ = bounded.build_global();
    }
}
