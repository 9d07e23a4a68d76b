//! A student's kernel on the emulator, launch after launch, for the grader. Nothing is printed.
use std::cell::RefCell;
use std::rc::Rc;

use emulator::{
    Card, Finding, Instruction, LaunchReport, Limits, Options, Snapshot, SnapshotRequest,
};
use half::f16;

use crate::{
    Error, Function, Host, Kernel, Problem, Result, Rung, Settings, Size, Source, Target,
    TensorBox, Tile, Values, Verification, host, transpose, verify,
};

/// What a kernel is to compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Task {
    /// C = A B by `gemm`, as in every rung.
    #[default]
    Gemm,
    /// A transposition by `transpose`: `(const unsigned short* in, unsigned short* out, int rows, int cols)`, with
    /// `transpose_launch[] = {rows of a tile, its columns, threads, dynamic shared bytes}` and a block for each tile,
    /// numbered along x. In its size m is the rows, n the columns, and k is ignored.
    Transpose,
}

/// A rung with the parameters that every kernel takes, and no switch.
const PLAIN: Rung = Rung {
    name: "00_trial",
    kernels: &[],
    switches: &[],
    tile: None,
    host: host::gemm,
};

/// A compiled kernel on a device of its own. Launches are independent: memory is empty before each.
pub struct Trial {
    task: Task,
    host: RefCell<Host>,
    kernel: Rc<Kernel>,
}

/// The input of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrialLaunch {
    /// For a transposition, m is the rows, n the columns, and k is ignored.
    pub size: Size,
    /// The kind of numbers: with [`Values::Distinct`], which no two elements share, the operands of matrix
    /// instructions are kept.
    pub values: Values,
    /// The seed.
    pub seed: u64,
    /// The emulator's order of warps.
    pub schedule: u64,
}

/// The result of one launch under the sanitizer.
pub struct Launched {
    /// The comparison with the expected result.
    pub verification: Verification,
    /// The input.
    pub problem: Rc<Problem>,
    /// The result, padded.
    pub c: Vec<f16>,
    /// Counters, address patterns, findings.
    pub run: LaunchReport,
}

/// Bytes of the matrices and of the state of concurrent blocks: the trials of a whole class run in parallel.
const MEMORY: u64 = 1 << 30;

impl Trial {
    /// Makes every check that is possible before a launch.
    ///
    /// # Errors
    /// If the PTX has no kernel of this task that states its launch, or uses what the emulator does not support.
    pub fn new(source: Source, task: Task) -> Result<Self> {
        let settings = Settings {
            emulator: Options {
                sanitize: true,
                relaunched: true,
                patterns: true,
                lookahead: true,
                limits: Limits {
                    memory: MEMORY,
                    ..Limits::default()
                },
                ..Options::default()
            },
            ..Settings::new(Size::cube(1))
        };
        let rung = match task {
            Task::Gemm => PLAIN,
            Task::Transpose => Rung {
                host: transpose::host,
                ..PLAIN
            },
        };
        let mut host = Host::new(
            &rung,
            &settings,
            &Target::Emulator(Card::H100),
            Some(source),
        )?;
        let kernel = match task {
            Task::Gemm => host.compile("gemm")?,
            Task::Transpose => host.compile("transpose")?,
        };
        Ok(Self {
            task,
            host: RefCell::new(host),
            kernel,
        })
    }

    /// The tile that a block computes at a time, as the kernel states it; a transposition's `bk` is 1.
    pub fn tile(&self) -> Tile {
        self.kernel.spec.tile
    }

    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        self.kernel.spec.threads
    }

    /// The boxes that TMA copies at a time for A, B and C, if the kernel states them.
    pub fn boxes(&self) -> Option<[TensorBox; 3]> {
        self.kernel.spec.boxes
    }

    /// Static and dynamic bytes of shared memory of a block.
    pub fn shared_bytes(&self) -> u64 {
        let fixed = self.kernel.function.static_shared();
        u64::from(fixed) + u64::from(self.kernel.spec.dynamic_shared)
    }

    /// The kernel's instructions, in the order of the counters of a run.
    pub fn instructions(&self) -> &[Instruction] {
        self.kernel.function.instructions()
    }

    /// Where the PTX comes from.
    pub fn source(&self) -> &Source {
        &self.kernel.source
    }

    /// The kernel's function.
    pub fn function(&self) -> &Function {
        &self.kernel.function
    }

    /// The state of one of its blocks at an instruction, in such a launch.
    ///
    /// # Errors
    /// As for [`Self::launch`]; [`Error::Fault`] if a fault ended the launch.
    pub fn snapshot(&self, on: &TrialLaunch, request: SnapshotRequest) -> Result<Snapshot> {
        self.host.borrow_mut().keep_snapshot(Some(request));
        let done = self.launch(on);
        self.host.borrow_mut().keep_snapshot(None);
        let run = done?.run;
        match run.findings.iter().any(Finding::is_fatal) {
            true => Err(Error::Fault(
                run.findings.iter().map(ToString::to_string).collect(),
            )),
            false => Ok(run.snapshot),
        }
    }

    /// Launches it; the result buffer is filled with NaN first.
    ///
    /// # Errors
    /// If a limit is exceeded, or a GPU would refuse the launch. Wrong values and faults are not errors here.
    pub fn launch(&self, on: &TrialLaunch) -> Result<Launched> {
        let size = match self.task {
            Task::Gemm => on.size,
            Task::Transpose => transpose::as_product(on.size),
        };
        let mut host = self.host.borrow_mut();
        host.keep_factors(on.values == Values::Distinct);
        let done = host.run_on(size, (on.values, on.seed), on.schedule)?;
        Ok(Launched {
            verification: match self.task {
                Task::Gemm => verify(&done.problem, done.kernel.spec.tile, &done.c),
                Task::Transpose => transpose::verify(&done.problem, &done.c),
            },
            problem: done.problem,
            c: done.c,
            run: done.report.unwrap_or_default(),
        })
    }
}
