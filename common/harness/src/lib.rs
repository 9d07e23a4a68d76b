//! What a rung's `main.rs` calls: the steps of the host function, and around them every command of a rung. A run
//! passes through these files:
//!
//! | file | what it answers |
//! | --- | --- |
//! | `rung` | what is a rung? |
//! | `cli/` | what does the command line say, and which flag helps? |
//! | `settings` | the same, without a command line |
//! | `target`, `device` | emulator or GPU, and the calls that both answer |
//! | `host` | the host's part: compile, allocate, launch, verify |
//! | `source/` | which kernel, and where does its PTX come from? |
//! | `kernel`, `spec` | does the PTX hold a kernel that can be launched, and which launch does it state? |
//! | `run` | one run, from settings to an outcome |
//! | `report/` | what does the reader see? |
//!
//! The other files:
//!
//! | file | what it answers |
//! | --- | --- |
//! | `timing/` | how fast is it, and how fast could it be? |
//! | `step_through` | what do the warps of a block do, instruction by instruction? |
//! | `trial`, `transpose` | what does a student's kernel do, launch after launch? |
//! | `cli/rungs` | which rungs are there, and how does another program run one? |
//! | `labels` | which element of A or B is a number? |
//! | `terminal` | which characters reach the terminal? |
//! | `tools` | where are CUDA's programs? |
//! | `warp_access`, `csv_table` | which accesses of a warp does a CSV file list? |
//! | `files` | what does a file hold that a command line names? |
//! | `error` | what went wrong, and what to do about it |
mod cli;
mod csv_table;
mod device;
mod error;
pub mod files;
mod host;
mod kernel;
pub mod labels;
mod other_sizes;
mod report;
mod run;
mod rung;
mod settings;
mod source;
mod spec;
mod step_through;
mod target;
pub mod terminal;
mod threads;
mod timing;
pub mod tools;
mod transpose;
mod trial;
mod warp_access;

use report::{accesses, json, profile, progress, sanitize, waits};
use source::{choose, compile, on_disk};
use timing::{bench, bound, contest, cool, predict, provenance, regime, sustained};

pub use report::schema::{self, Schema};
pub use report::{lines, metrics, table};
pub use source::ptx_file;
pub use timing::{alone, ceilings, measured, occupancy, records};

pub use alone::{Alone, Pass, TENSOR_FLOP_PER_CLOCK, passes};
pub use bench::{ALGORITHMS, Effort, SIZES, contestant, sets, sides};
pub use cli::{Bytes, asked, command_line, constant, explained, main, main_with, rungs};
pub use compile::Compile;
pub use contest::{CUBLAS, CUBLAS_BF16_TN, CUBLAS_LT, CUBLAS_LT_BF16_TN, Contest, KERNEL, lt_name};
pub use cool::measure as measure_cool;
pub use csv_table::{RowError, Table, TableError, TableRow};
pub use device::{
    Arg, Buffer, CLOCK_LOG, Device, Function, LaunchConfig, Module, TensorTiling, Tiling, on_gpu,
};
pub use error::{Error, Result};
pub use gpu::{GpuError, Nvrtc, TranslationUnit};
pub use host::{Host, gemm};
pub use json::{Line as CountedLine, lines as counted_lines};
pub use kernel::Kernel;
pub use on_disk::KernelOnDisk;
pub use predict::{AnyLaunch, PredictOptions, Prediction};
pub use problem::{
    DISTINCT, Problem, Size, Tile, Values, Verification, Wrong, hex, random_matrix, splitmix64,
    to_bytes, verify,
};
pub use profile::source_lines;
#[cfg(target_family = "wasm")]
pub use progress::listen;
pub use provenance::{OnGpu, Provenance};
pub use regime::Regime;
pub use report::{memory, predicted, print, section};
pub use rung::{KernelFile, Rung, Switch};
pub use sanitize::{Remark, text as findings};
pub use settings::{KernelChoice, Settings};
pub use source::machine_code::{IGNORES_SETMAXNREG, text_by as machine_code_by};
pub use source::{Origin, Source, compile_text, ends_with_cr, name_in_ptx, prepared};
pub use spec::{LaunchSpec, TensorBox};
pub use step_through::StepThrough;
pub use sustained::measure as measure_sustained;
pub use table::thousands;
pub use target::{Need, Target, Wanted};
pub use threads::limit_threads;
pub use trial::{Launched, Task, TimedLaunch, Trial, TrialLaunch};
pub use warp_access::WarpAccess;
