//! The settings of a run, without a command line.
use std::path::PathBuf;

use emulator::Options;

use crate::Size;

/// A problem, the kernel that solves it, and how it is run.
#[derive(Clone)]
pub struct Settings {
    /// M, N and K.
    pub size: Size,
    /// The seed of A and B.
    pub seed: u64,
    /// How often the kernel is launched; C must have the same bits each time. On the emulator each launch has another
    /// schedule.
    pub runs: u32,
    /// Which kernel.
    pub kernel: KernelChoice,
    /// The rung's switches, in the rung's order: each 0 or 1.
    pub switches: Vec<u32>,
    /// The emulator's options. Its card comes from the [`Target`](crate::Target), and `instructions` below replaces
    /// [`emulator::Limits::instructions`].
    pub emulator: Options,
    /// The emulator's limit of warp instructions; `None` for one far above what the problem needs.
    pub instructions: Option<u64>,
    /// Constants of the clock's card that replace recorded ones, such as `latency.dram`.
    pub constants: Vec<(String, f64)>,
}

impl Settings {
    /// The rung's own kernel on a problem of this size.
    pub fn new(size: Size) -> Self {
        Self {
            size,
            seed: 0,
            runs: 1,
            kernel: KernelChoice::default(),
            switches: Vec::new(),
            emulator: Options::default(),
            instructions: None,
            constants: Vec::new(),
        }
    }
}

/// Which of a rung's kernels runs, or which of the user's files.
#[derive(Clone, Debug, Default)]
pub struct KernelChoice {
    /// The user's file, instead of the rung's kernel.
    pub file: Option<PathBuf>,
    /// The architecture, such as `sm_80`; `None` for the newest that the device runs.
    pub arch: Option<String>,
    /// The tile of C, such as `128x256`; `None` for the one that is fastest at the size.
    pub tile: Option<String>,
}
