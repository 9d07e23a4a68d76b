//! The command line.
use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use harness::{Need, Size, Wanted};

use crate::lab::Scale;

/// The parsed command line.
#[derive(Clone, Debug, Parser)]
#[command(
    bin_name = "labs",
    about = "The book's experiments, on a GPU if there is one, else on the emulator.",
    after_help = "Without a LAB, lists them. Exit code 0: each launch showed what it should. 1: one did \
                  not, or `sanitize` found something. 2: bad usage, or a missing file or GPU."
)]
pub struct Arguments {
    /// The experiment
    pub lab: Option<String>,
    /// What to do
    #[arg(value_enum, default_value_t = Command::Run)]
    pub command: Command,
    /// Only these of its launches, separated by commas
    #[arg(long, value_name = "NAME")]
    pub only: Vec<String>,
    /// The sizes that `bf16_tn time` times [default: 512 to 16384 by powers of two]
    #[arg(long, value_name = "N|MxNxK,...", value_delimiter = ',')]
    pub sizes: Vec<Size>,
    /// A shared library whose GEMM `bf16_tn time` times as well; book/labs/README.md says what it exports
    #[arg(long, value_name = "LIBRARY.so")]
    pub beside: Option<PathBuf>,
    /// Where to run: auto, emulator, gpu or gpu:N
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: Wanted,
    /// The amount of work [default: small on the emulator, full on a GPU]
    #[arg(long, value_enum)]
    pub scale: Option<Scale>,
    /// Emulator: stop after N warp instructions [default: far more than a launch needs]
    #[arg(long, value_name = "N")]
    pub max_instructions: Option<u64>,
    /// Run the kernels of this file in place of the lab's
    #[arg(long, value_name = "FILE.cu|FILE.ptx")]
    pub kernel: Option<PathBuf>,
    /// The emulator's order of warps and blocks; 0 is the plain one
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub schedule: u64,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Command {
    /// Run, check the values, report the counters
    Run,
    /// Print the kernels line by line, with what each line does to the memory system
    Profile,
    /// Look for out-of-bounds accesses, races, uninitialized reads and barrier errors
    Sanitize,
    /// Time the launches on a GPU, interleaved
    Time,
}

impl Command {
    /// The device that the command needs.
    pub fn need(self) -> Need {
        match self {
            Self::Run => Need::Any,
            Self::Profile | Self::Sanitize => Need::Emulator,
            Self::Time => Need::Gpu,
        }
    }
}
