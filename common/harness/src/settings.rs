//! What a run is asked to do, without a command line.
use std::path::PathBuf;

use emulator::Options;

use crate::Size;

/// One problem, the kernel that is to solve it, and how.
#[derive(Clone)]
pub struct Settings {
    /// M, N and K.
    pub size: Size,
    /// Which random numbers A and B hold.
    pub seed: u64,
    /// How often the kernel is launched; C must keep its bits. On the emulator each launch has another schedule.
    pub runs: u32,
    /// Which kernel.
    pub kernel: KernelChoice,
    /// The rung's switches, in its order: each 0 or 1.
    pub switches: Vec<u32>,
    /// How the emulator runs; its card is the [`Target`](crate::Target)'s, and [`emulator::Limits::instructions`] is replaced
    /// by `instructions` here.
    pub emulator: Options,
    /// Warp instructions after which the emulator gives up; none for far more than the problem needs.
    pub instructions: Option<u64>,
    /// Constants of the clock's card that are other than recorded, such as `latency.dram`.
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

/// Which of a rung's kernels runs, or which of the reader's.
#[derive(Clone, Debug, Default)]
pub struct KernelChoice {
    /// A file of the reader's in place of the rung's kernel.
    pub file: Option<PathBuf>,
    /// What the kernel is compiled for, such as `sm_80`; none for the newest that the device runs.
    pub arch: Option<String>,
    /// The tile of C, such as `128x256`; none for the one that is fastest at the size.
    pub tile: Option<String>,
}
