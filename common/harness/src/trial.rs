//! A student's kernel on the emulator, launch after launch, for the grader. Nothing is printed.
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

use emulator::{
    Card, Finding, Instruction, LaunchReport, Limits, Options, SharedRecording, SnapshotRequest,
};
use half::f16;

use crate::host::BeforeLaunch;
use crate::predict::TracedSm;
use crate::{
    Error, Function, Host, Kernel, Prediction, Problem, Result, Rung, Settings, Size, Source,
    Target, TensorBox, Tile, Values, Verification, host, predict, transpose, verify,
};
use problem::to_bytes;

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

/// A compiled kernel on its own device. Launches are independent: memory is empty before each.
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
    /// An input that the kernel has changed.
    pub changed: Option<&'static str>,
}

/// The predicted time of a launch.
pub struct TimedLaunch {
    /// The prediction, from the CTAs of one SM.
    pub prediction: Prediction,
    /// Elements of C that these CTAs wrote, relative to their fair share of C: 1 if all CTAs write equally many.
    pub share: f64,
    /// Whether they wrote the same values as the whole launch.
    pub same: bool,
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
                own_loads: task == Task::Transpose,
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

    /// Whether the kernel's blocks are persistent, and take one tile after the other.
    pub fn is_persistent(&self) -> bool {
        self.kernel.spec.persistent_per_sm > 0
    }

    /// Blocks of a cluster.
    pub fn cluster(&self) -> u32 {
        self.kernel.spec.cluster.max(1)
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

    /// Warps of a block.
    pub fn warps(&self) -> u64 {
        u64::from(self.kernel.spec.threads.div_ceil(32))
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

    /// A launch that keeps the state of one of its blocks at an instruction, in its `run.snapshot`.
    ///
    /// # Errors
    /// As for [`Self::launch`]; [`Error::Fault`] if a fault ended the launch.
    pub fn snapshot(&self, on: &TrialLaunch, request: SnapshotRequest) -> Result<Launched> {
        self.host.borrow_mut().keep_snapshot(Some(request));
        let done = self.launch(on);
        self.host.borrow_mut().keep_snapshot(None);
        let done = done?;
        let findings = &done.run.findings;
        match findings.iter().any(Finding::is_fatal) {
            true => Err(Error::Fault(
                findings.iter().map(ToString::to_string).collect(),
            )),
            false => Ok(done),
        }
    }

    /// Predicts the time of a launch by launching and tracing the CTAs of one SM again, by its number; `launched` is the result of
    /// the whole launch.
    ///
    /// # Errors
    /// As for [`Self::launch`]; [`Error::IndirectCall`] if the machine code has one, [`Error::NotPredicted`] if these CTAs fail without the others, or the machine code does
    /// not fit.
    pub fn time(&self, on: &TrialLaunch, launched: &Launched, sm: u32) -> Result<TimedLaunch> {
        let mut host = self.host.borrow_mut();
        let run = |host: &mut Host, resident| {
            host.trace_only(Some(TracedSm {
                resident,
                number: sm,
            }));
            host.run_on(on.size, (on.values, on.seed), on.schedule)
        };
        let no = |why| Error::NotPredicted(on.size.to_string(), why);
        let called = self.kernel.source.file.clone();
        let card = clock::Card::H200;
        let timed = predict::of_host(
            &mut host,
            &self.kernel,
            called,
            card,
            predict::PredictOptions::default(),
            run,
            no,
        );
        host.trace_only(None);
        let (prediction, finished) = timed?;
        // List-scheduled PTX is less exact, but these predictions are compared with each other.
        match prediction.listed {
            Some(why) if prediction.is_indirect => {
                return Err(Error::IndirectCall(on.size.to_string(), why));
            }
            Some(why) => return Err(no(why)),
            None => {}
        }
        let report = finished.report.unwrap_or_default();
        let traced: BTreeSet<_> = report.traces.iter().map(|warp| warp.block).collect();
        let grid = finished.launch.config.grid.map(u64::from);
        let pairs = || finished.c.iter().zip(&launched.c);
        // Padding is not a part of C: the elements there cost nothing to compute.
        let Size { m, n, .. } = on.size;
        let rows = finished.c.chunks(finished.problem.padded.n.max(1) as usize);
        let rows = rows.take(m as usize).map(|row| row.iter().take(n as usize));
        let written = rows.flatten().filter(|c| !c.is_nan()).count();
        let of = f64::from(m) * f64::from(n) * traced.len() as f64;
        Ok(TimedLaunch {
            prediction,
            share: written as f64 / (of / grid.iter().product::<u64>().max(1) as f64),
            same: pairs().all(|(c, whole)| c.is_nan() || c == whole),
        })
    }

    /// The same with only as many persistent blocks as one SM holds, so that each computes several tiles of a small
    /// problem.
    ///
    /// # Errors
    /// As for [`Self::launch`].
    pub fn launch_on_one_sm(&self, on: &TrialLaunch) -> Result<Launched> {
        self.host.borrow_mut().deal_to_few_blocks(true);
        let launched = self.launch(on);
        self.host.borrow_mut().deal_to_few_blocks(false);
        launched
    }

    /// Launches one of its clusters under the sanitizer, by its number modulo that of clusters; blocks that communicate with other clusters
    /// run all. What it computes is not compared.
    ///
    /// # Errors
    /// As for [`Self::launch`].
    pub fn launch_one_cluster(
        &self,
        on: &TrialLaunch,
        number: u64,
    ) -> Result<emulator::LaunchReport> {
        let mut host = self.host.borrow_mut();
        host.run_one_cluster(Some(number));
        let done = host.run_on(on.size, (on.values, on.seed), on.schedule);
        host.run_one_cluster(None);
        Ok(done?.report.unwrap_or_default())
    }

    /// The same without the sanitizer: findings are only what ends a launch.
    ///
    /// # Errors
    /// As for [`Self::launch`].
    pub fn launch_unsanitized(&self, on: &TrialLaunch) -> Result<Launched> {
        self.host.borrow_mut().sanitize(false);
        let launched = self.launch(on);
        self.host.borrow_mut().sanitize(true);
        launched
    }

    /// Launches it, and again on matrices of this seed, with what shared memory held before each load in the first launch. If all
    /// values that count are loaded from there, both results have the same bits. Nothing looks for faults.
    ///
    /// # Errors
    /// As for [`Self::launch`].
    pub fn replay(&self, on: &TrialLaunch, seed: u64) -> Result<[Launched; 2]> {
        let launch = |on: &TrialLaunch, call| {
            self.host.borrow_mut().before_load(Some(call));
            let launched = self.launch_unsanitized(on);
            self.host.borrow_mut().before_load(None);
            launched
        };
        let recorded = SharedRecording::default();
        let first = launch(on, recorded.record())?;
        let again = launch(&TrialLaunch { seed, ..*on }, recorded.replay())?;
        Ok([first, again])
    }

    /// Launches it; the result buffer is filled with NaN first, except by [`Self::launch_on_stale_c`] and [`Self::launch_on_result`].
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
        let inputs = match self.task {
            Task::Gemm => &[("A", &done.problem.a), ("B", &done.problem.b)][..],
            Task::Transpose => &[("in", &done.problem.a)],
        };
        let mut changed = None;
        for ((name, before), buffer) in inputs.iter().zip(&done.matrices) {
            if host.device_mut().read(buffer)? != to_bytes(before) {
                changed = changed.or(Some(*name));
            }
        }
        Ok(Launched {
            verification: match self.task {
                Task::Gemm => verify(&done.problem, done.kernel.spec.tile, &done.c),
                Task::Transpose => transpose::verify(&done.problem, &done.c),
            },
            problem: done.problem,
            c: done.c,
            run: done.report.unwrap_or_default(),
            changed,
        })
    }

    /// Launches it, without looking for faults, on a result buffer of stale values: each element is NaN, 0 or 1.
    ///
    /// # Errors
    /// As for [`Self::launch`].
    pub fn launch_on_stale_c(&self, on: &TrialLaunch) -> Result<Launched> {
        self.launch_on_c(on, BeforeLaunch::Stale)
    }

    /// The same on a result buffer that holds the result of an earlier launch at this size, as [`Launched::c`].
    ///
    /// # Errors
    /// As for [`Self::launch`].
    pub fn launch_on_result(&self, on: &TrialLaunch, c: Vec<f16>) -> Result<Launched> {
        self.launch_on_c(on, BeforeLaunch::Result(c))
    }

    fn launch_on_c(&self, on: &TrialLaunch, c: BeforeLaunch) -> Result<Launched> {
        self.host.borrow_mut().begin_with_c(c);
        let launched = self.launch_unsanitized(on);
        self.host.borrow_mut().begin_with_c(BeforeLaunch::Nan);
        launched
    }
}
