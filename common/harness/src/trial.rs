//! A kernel of somebody else's on the emulator, launch after launch: what a grader asks of it. Nothing is printed.
use emulator::{Instruction, LaunchError, Run};

use crate::arguments::Arguments;
use crate::{
    Error, Kernel, Problem, Result, Rung, Size, Source, Tile, Verification, on_emulator, verify,
};

/// The parameters that every kernel takes, and no switch.
const PLAIN: Rung = Rung {
    name: "00_trial",
    kernels: &[],
    switches: &[],
};

/// A compiled kernel.
pub struct Trial {
    kernel: Kernel,
    arguments: Arguments,
}

/// One launch, sanitized.
pub struct Launched {
    /// Whether C is right.
    pub verification: Verification,
    /// Counters, patterns of addresses, findings.
    pub run: Run,
}

impl Trial {
    /// Checks all that can be checked before a launch.
    ///
    /// # Errors
    /// If the PTX holds no `gemm` that states its launch, or what the emulator does not execute.
    pub fn new(source: Source) -> Result<Self> {
        let kernel = Kernel::new(&PLAIN, source)?;
        kernel.program()?;
        // No word is bad usage: there is none.
        let mut arguments = Arguments::from_words(&PLAIN, &["trial"])
            .map_err(|error| Error::Launch(LaunchError::Invalid(error.to_string())))?;
        arguments.accesses = true;
        Ok(Self { kernel, arguments })
    }

    /// What a block computes at a time, as the kernel states it.
    pub fn tile(&self) -> Tile {
        self.kernel.launch.tile
    }

    /// Static and dynamic bytes of shared memory of a block.
    ///
    /// # Errors
    /// If the emulator cannot run the kernel.
    pub fn shared_bytes(&self) -> Result<u64> {
        let fixed = self.kernel.program()?.static_shared();
        Ok(u64::from(fixed) + u64::from(self.kernel.launch.dynamic_shared))
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
        &self.kernel.source
    }

    /// Launches it on random A and B of this seed, with C poisoned and warps in the order of this schedule.
    ///
    /// # Errors
    /// If a limit is met, or a GPU would refuse the launch. Wrong values and faults are no errors here.
    pub fn launch(&self, size: Size, seed: u64, schedule: u64) -> Result<Launched> {
        let whole = self.kernel.launch.whole();
        let problem = Problem::new(size, whole, seed)?;
        let (c, run) = on_emulator::run(&self.kernel, &problem, &self.arguments, schedule, true)?;
        Ok(Launched {
            verification: verify(&problem, self.kernel.launch.tile, &c),
            run,
        })
    }
}

/// The version of NVRTC that compiles `.cu` files here.
///
/// # Errors
/// If there is none; the message says how to get it.
pub fn compiler_version() -> Result<(u32, u32)> {
    Ok(gpu::Nvrtc::find()?.version())
}
