//! A kernel of somebody else's on the emulator, launch after launch: what a grader asks of it. Nothing is printed.
mod gemm;
mod transpose;

use emulator::{Instruction, Limits, Options, Program, Run};

use crate::{Result, Size, Source, TensorBox, Tile, Verification};

/// What a kernel is to compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Task {
    /// C = A B by `gemm`, as every rung.
    #[default]
    Gemm,
    /// Rows to columns by `transpose`: `(const unsigned short* in, unsigned short* out, int rows, int cols)`, with
    /// `transpose_launch[] = {rows of a tile, its columns, threads, dynamic shared bytes}` and a block for each tile,
    /// numbered along x. Of a size, m is the rows and n the columns; k is not looked at.
    Transpose,
}

/// A compiled kernel.
pub struct Trial {
    kernel: Box<dyn Kernel>,
}

/// One launch, sanitized.
pub struct Launched {
    /// Whether the result is right.
    pub verification: Verification,
    /// Counters, patterns of addresses, findings.
    pub run: Run,
}

/// What is asked of a kernel of either task.
trait Kernel {
    fn tile(&self) -> Tile;
    fn threads(&self) -> u32;
    fn dynamic_shared(&self) -> u32;
    fn boxes(&self) -> Option<[TensorBox; 3]> {
        None
    }
    fn source(&self) -> &Source;
    fn program(&self) -> Result<&Program>;
    fn launch(&self, size: Size, seed: u64, schedule: u64) -> Result<Launched>;
}

impl Trial {
    /// Checks all that can be checked before a launch.
    ///
    /// # Errors
    /// If the PTX holds no kernel of this task that states its launch, or what the emulator does not execute.
    pub fn new(source: Source, task: Task) -> Result<Self> {
        let kernel: Box<dyn Kernel> = match task {
            Task::Gemm => Box::new(gemm::Gemm::new(source)?),
            Task::Transpose => Box::new(transpose::Transpose::new(source)?),
        };
        kernel.program()?;
        Ok(Self { kernel })
    }

    /// What a block computes at a time, as the kernel states it; a transposition's `bk` is 1.
    pub fn tile(&self) -> Tile {
        self.kernel.tile()
    }

    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.kernel.threads()
    }

    /// What TMA moves at a time of A, B and C, if the kernel states it.
    pub fn boxes(&self) -> Option<[TensorBox; 3]> {
        self.kernel.boxes()
    }

    /// Static and dynamic bytes of shared memory of a block.
    ///
    /// # Errors
    /// If the emulator cannot run the kernel.
    pub fn shared_bytes(&self) -> Result<u64> {
        let fixed = self.kernel.program()?.static_shared();
        Ok(u64::from(fixed) + u64::from(self.kernel.dynamic_shared()))
    }

    /// The kernel's instructions, in the order of the counters of a run.
    ///
    /// # Errors
    /// If the emulator cannot run the kernel.
    pub fn instructions(&self) -> Result<&[Instruction]> {
        Ok(self.kernel.program()?.instructions())
    }

    /// Where the PTX comes from.
    pub fn source(&self) -> &Source {
        self.kernel.source()
    }

    /// Launches it on random numbers of this seed, with the result poisoned and warps in the order of this schedule.
    ///
    /// # Errors
    /// If a limit is met, or a GPU would refuse the launch. Wrong values and faults are no errors here.
    pub fn launch(&self, size: Size, seed: u64, schedule: u64) -> Result<Launched> {
        self.kernel.launch(size, seed, schedule)
    }
}

/// Bytes of matrices, and of what blocks that run at once hold: trials of a class are made side by side.
const MEMORY: u64 = 1 << 30;

/// How every trial is run: with all that the sanitizer looks for, and every pattern of addresses kept.
fn options(schedule: u64, limits: Limits) -> Options<'static> {
    Options {
        sanitize: true,
        schedule,
        limits,
        patterns: true,
        ..Options::default()
    }
}
