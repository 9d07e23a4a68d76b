//! C = A B, as a rung's kernel is launched.
use emulator::{LaunchError, Program};

use super::Launched;
use crate::arguments::{Arguments, Bytes};
use crate::{
    Error, Kernel, Problem, Result, Rung, Size, Source, TensorBox, Tile, on_emulator, verify,
};

/// The parameters that every kernel takes, and no switch.
const PLAIN: Rung = Rung {
    name: "00_trial",
    kernels: &[],
    switches: &[],
};

pub(super) struct Gemm {
    kernel: Kernel,
    arguments: Arguments,
}

impl Gemm {
    pub fn new(source: Source) -> Result<Self> {
        let kernel = Kernel::new(&PLAIN, source)?;
        // No word is bad usage: there is none.
        let mut arguments = Arguments::from_words(&PLAIN, &["trial"])
            .map_err(|error| Error::Launch(LaunchError::Invalid(error.to_string())))?;
        arguments.accesses = true;
        arguments.max_memory = Bytes(super::MEMORY);
        Ok(Self { kernel, arguments })
    }
}

impl super::Kernel for Gemm {
    fn tile(&self) -> Tile {
        self.kernel.launch.tile
    }

    fn threads(&self) -> u32 {
        self.kernel.launch.threads
    }

    fn dynamic_shared(&self) -> u32 {
        self.kernel.launch.dynamic_shared
    }

    fn boxes(&self) -> Option<[TensorBox; 3]> {
        self.kernel.launch.boxes
    }

    fn source(&self) -> &Source {
        &self.kernel.source
    }

    fn program(&self) -> Result<&Program> {
        self.kernel.program()
    }

    fn launch(&self, size: Size, seed: u64, schedule: u64) -> Result<Launched> {
        let problem = Problem::new(size, self.kernel.launch.whole(), seed)?;
        let (c, run) = on_emulator::run(&self.kernel, &problem, &self.arguments, schedule, true)?;
        Ok(Launched {
            verification: verify(&problem, self.kernel.launch.tile, &c),
            run,
        })
    }
}
