//! The host's part of a matrix product, as a rung's `main.rs` writes it: compile, allocate, launch, verify.
use std::rc::Rc;

use emulator::{BeforeLoad, LaunchReport, SnapshotRequest};
use half::f16;

use crate::device::{Arg, Buffer, Device, LaunchConfig, Tiling};
use crate::predict::{self, TracedSm};
use crate::progress::Progress;
use crate::{
    Error, Kernel, Problem, Result, Rung, Settings, Size, Source, Target, TensorBox, Values, choose,
};
use problem::{from_bytes, pad, to_bytes};

/// What a rung's host function works with: a device, the problem, and the kernel's source.
///
/// The harness calls a rung's host function once for a run, again for each repetition, and once for each set of
/// buffers of a timing. A timing then repeats the launches recorded here.
pub struct Host {
    rung: Rung,
    settings: Settings,
    target: Target,
    device: Device,
    source: Option<Source>,
    kernel: Option<Rc<Kernel>>,
    values: Values,
    problem: Option<Rc<Problem>>,
    downloads: bool,
    /// The emulator's instruction limit in this run, unless the settings set one.
    most_instructions: Option<u64>,
    /// The SM whose CTAs are to be traced, if any are.
    traced: Option<TracedSm>,
    /// Whether only the first cluster runs.
    one_cluster: Option<u64>,
    /// Whether persistent blocks are so few that each takes several tiles.
    few_blocks: bool,
    c_before: BeforeLaunch,
    /// The trace of the CTAs that run at the same time.
    wave: Vec<emulator::WarpTrace>,
    launched: Option<(RecordedLaunch, Option<LaunchReport>)>,
    finished: Option<Finished>,
}

/// What C holds before a launch.
#[derive(Clone, Debug)]
pub(crate) enum BeforeLaunch {
    /// Only NaN.
    Nan,
    /// NaN, 0 and 1.
    Stale,
    /// The result of an earlier launch, padded.
    Result(Vec<f16>),
}

/// Both bytes of a NaN.
const NAN_BYTE: u8 = 0xff;

/// A launch that can be repeated.
pub(crate) struct RecordedLaunch {
    pub config: LaunchConfig,
    pub args: Vec<Arg>,
}

/// The result of a rung's host function.
pub(crate) struct Finished {
    pub kernel: Rc<Kernel>,
    pub problem: Rc<Problem>,
    pub launch: RecordedLaunch,
    /// A, B and C.
    pub matrices: [Buffer; 3],
    /// C as copied back, padded; empty when preparing a timing.
    pub c: Vec<f16>,
    /// What the emulator counted.
    pub report: Option<LaunchReport>,
    /// What the kernel logged, if it logs clocks.
    pub clocks: Option<Vec<u64>>,
}

impl Host {
    pub(crate) fn new(
        rung: &Rung,
        settings: &Settings,
        target: &Target,
        source: Option<Source>,
    ) -> Result<Self> {
        Ok(Self {
            rung: *rung,
            settings: settings.clone(),
            target: target.clone(),
            device: target.open(settings.emulator.clone())?,
            source,
            kernel: None,
            values: Values::Random,
            problem: None,
            downloads: true,
            most_instructions: None,
            traced: None,
            one_cluster: None,
            few_blocks: false,
            c_before: BeforeLaunch::Nan,
            wave: Vec::new(),
            launched: None,
            finished: None,
        })
    }

    /// Loads the kernel: its committed PTX while that is current, else what NVRTC makes of `kernel.cu`
    /// (`nvrtcCompileProgram`, `cuModuleLoadData`, `cuModuleGetFunction`).
    ///
    /// # Errors
    /// If it does not compile, holds no kernel `name`, or does not state its launch; if another kernel was compiled before.
    pub fn compile(&mut self, name: &'static str) -> Result<Rc<Kernel>> {
        if let Some(kernel) = &self.kernel {
            return match kernel.name == name {
                true => Ok(Rc::clone(kernel)),
                false => Err(Error::OneKernel(kernel.name, name)),
            };
        }
        let source = match self.source.take() {
            Some(source) => source,
            None => choose::source(
                &self.rung,
                &self.target,
                &self.settings.kernel,
                self.settings.size,
            )?,
        };
        let kernel = Rc::new(Kernel::load(&mut self.device, &self.rung, source, name)?);
        Ok(Rc::clone(self.kernel.insert(kernel)))
    }

    /// A and B: random, the same for the same seed, and padded with zeros to whole tiles, since the kernel has no
    /// code for edges.
    ///
    /// # Errors
    /// If the matrices are too large for the kernel's `int` indices or for the emulator's memory.
    pub fn problem(&mut self, kernel: &Kernel) -> Result<Rc<Problem>> {
        if let Some(problem) = &self.problem {
            return Ok(Rc::clone(problem));
        }
        let (size, whole) = (self.settings.size, kernel.spec.whole);
        if let Target::Emulator(_) = self.target {
            let limit = self.settings.emulator.limits.memory;
            let wanted = 2 * pad(size, whole)?.elements().iter().sum::<u64>();
            if wanted > limit {
                return Err(Error::Memory { wanted, limit });
            }
        }
        let (seed, values) = (self.settings.seed, self.values);
        let problem = Rc::new(Problem::with_values(size, whole, seed, values)?);
        Ok(Rc::clone(self.problem.insert(problem)))
    }

    /// Allocates memory on the device and copies a matrix there (`cuMemAlloc`, `cuMemcpyHtoD`).
    ///
    /// # Errors
    /// If the device is out of memory.
    pub fn upload(&mut self, name: &str, matrix: &[f16]) -> Result<Buffer> {
        self.device.upload(name, &to_bytes(matrix))
    }

    /// Allocates `elements` f16 on the device (`cuMemAlloc`). CUDA leaves their values undefined; here they are NaN,
    /// so that an element that no thread writes is found.
    ///
    /// # Errors
    /// If the device is out of memory.
    pub fn alloc(&mut self, name: &str, elements: usize) -> Result<Buffer> {
        let buffer = self.device.alloc(name, 2 * elements)?;
        match &self.c_before {
            BeforeLaunch::Nan => self.device.fill(&buffer, NAN_BYTE)?,
            BeforeLaunch::Stale => self
                .device
                .write(&buffer, &problem::stale_values(elements))?,
            BeforeLaunch::Result(c) => self.device.write(&buffer, &to_bytes(c))?,
        }
        Ok(buffer)
    }

    /// Makes the tensor map of a row-major matrix of f16, with the box of it that is copied at a time
    /// (`cuTensorMapEncodeTiled`).
    ///
    /// # Errors
    /// If a box violates a rule of TMA.
    pub fn tensor_map(
        &self,
        matrix: &Buffer,
        [rows, columns]: [u32; 2],
        of: TensorBox,
    ) -> Result<Arg> {
        let tiling = Tiling {
            dimensions: [columns.into(), rows.into()],
            row_bytes: 2 * u64::from(columns),
            tile: [of.columns, of.rows],
            swizzle: of.swizzle,
        };
        self.device
            .tensor_map(matrix, &tiling)
            .map_err(|error| match error {
                Error::Emulator(emulator::Error::TensorMap(error)) => Error::BadBoxes {
                    file: self
                        .kernel
                        .as_ref()
                        .map_or_else(String::new, |kernel| kernel.source.file.clone()),
                    why: error.to_string(),
                },
                other => other,
            })
    }

    /// How many SMs the device has.
    pub fn sms(&self) -> u32 {
        self.target.sms()
    }

    /// The rung's switches, as the kernel takes them: an `int` each, 0 or 1.
    pub fn switches(&self) -> impl Iterator<Item = Arg> {
        self.settings.switches.iter().copied().map(Arg::Int)
    }

    /// Sets the emulator's instruction limit, unless the settings set one.
    pub(crate) fn limit_instructions(&mut self, most: u64) {
        self.most_instructions = Some(most);
    }

    /// Makes the emulator trace the CTAs of the first SM, which holds `resident` of them at a time.
    pub(crate) fn trace(&mut self, resident: u32) {
        let first = TracedSm {
            resident,
            number: 0,
        };
        (self.traced, self.downloads, self.values) = (Some(first), false, Values::Zero);
    }

    /// Makes the emulator trace the CTAs of one SM, without looking for faults; or turns that off.
    pub(crate) fn trace_only(&mut self, sm: Option<TracedSm>) {
        self.traced = sm;
        self.sanitize(sm.is_none());
    }

    /// Makes the emulator look for faults and keep accesses and copies, or only compute.
    pub(crate) fn sanitize(&mut self, on: bool) {
        if let Device::Emulator(context) = &mut self.device {
            let options = context.options_mut();
            (options.sanitize, options.lookahead) = (on, on);
            (options.relaunched, options.patterns) = (on, on);
        }
    }

    /// Takes the last launch's trace of the CTAs that run at the same time.
    pub(crate) fn take_wave(&mut self) -> Vec<emulator::WarpTrace> {
        std::mem::take(&mut self.wave)
    }

    /// Makes the emulator run only one cluster, by its number modulo that of clusters, or all of them again.
    pub(crate) fn run_one_cluster(&mut self, number: Option<u64>) {
        (self.one_cluster, self.downloads) = (number, number.is_none());
    }

    /// Launches the kernel (`cuLaunchKernelEx`).
    ///
    /// # Errors
    /// If the device refuses the launch, or it exceeds a limit of the emulator; if it is the second launch of a run,
    /// since a report is about one launch.
    pub fn launch(&mut self, kernel: &Kernel, config: LaunchConfig, args: Vec<Arg>) -> Result<()> {
        if self.launched.is_some() {
            return Err(Error::OneLaunch(kernel.name));
        }
        let progress = match &mut self.device {
            Device::Emulator(context) => {
                let progress = Progress::new();
                let padded = self.problem.as_ref().map(|problem| problem.padded);
                let limits = &mut context.options_mut().limits;
                let most = self.settings.instructions.or(self.most_instructions);
                limits.instructions = match (most, padded) {
                    (Some(instructions), _) => instructions,
                    (None, Some(padded)) => instruction_limit(padded),
                    (None, None) => limits.instructions,
                };
                // A traced launch is short, and may run beside the one whose progress is shown.
                let shown = self.traced.is_none();
                context.options_mut().progress = shown.then(|| progress.observer());
                let only = |number| predict::one_cluster(&config, number);
                context.options_mut().trace = self.one_cluster.map(only);
                Some(progress)
            }
            Device::Gpu(_) => None,
        };
        let report = match self.traced {
            None => self.device.launch(&kernel.function, &config, &args),
            Some(sm) => {
                let (function, sms) = (&kernel.function, self.target.sms());
                let traced = predict::traced(&mut self.device, function, &config, &args, sm, sms);
                traced.map(|traced| {
                    self.wave = traced.wave;
                    Some(traced.report)
                })
            }
        };
        if let Some(progress) = progress {
            progress.finish();
        }
        self.launched = Some((RecordedLaunch { config, args }, report?));
        Ok(())
    }

    /// Copies C back (`cuMemcpyDtoH`), to be compared with a product in f64.
    ///
    /// # Errors
    /// If nothing was launched, or the launch failed on the GPU.
    pub fn verify(&mut self, problem: &Rc<Problem>, matrices: [Buffer; 3]) -> Result<()> {
        let (Some((launch, report)), Some(kernel)) = (self.launched.take(), &self.kernel) else {
            return Err(Error::NothingLaunched(self.rung.name));
        };
        let c = match self.downloads {
            true => from_bytes(&self.device.read(&matrices[2])?),
            false => Vec::new(),
        };
        let log = kernel
            .clock_log
            .as_ref()
            .map(|log| self.device.read(log))
            .transpose()?;
        let clocks = log.map(|bytes| {
            let words = bytes.as_chunks::<8>().0.iter();
            words.map(|&word| u64::from_le_bytes(word)).collect()
        });
        self.finished = Some(Finished {
            kernel: Rc::clone(kernel),
            problem: Rc::clone(problem),
            launch,
            matrices,
            c,
            report,
            clocks,
        });
        Ok(())
    }

    /// Deals tiles to the persistent blocks of one SM, or to those of all again.
    pub(crate) fn deal_to_few_blocks(&mut self, few: bool) {
        self.few_blocks = few;
    }

    /// What the next launches find in C.
    pub(crate) fn begin_with_c(&mut self, c: BeforeLaunch) {
        self.c_before = c;
    }

    /// Makes the emulator keep the operands of matrix instructions.
    pub(crate) fn keep_factors(&mut self, keep: bool) {
        if let Device::Emulator(context) = &mut self.device {
            context.options_mut().factors = keep;
        }
    }

    /// Makes the emulator keep a block's state at an instruction, without looking for faults; `None` turns this off.
    pub(crate) fn keep_snapshot(&mut self, request: Option<SnapshotRequest>) {
        if let Device::Emulator(context) = &mut self.device {
            let options = context.options_mut();
            (options.sanitize, options.lookahead) = (request.is_none(), request.is_none());
            options.snapshot = request;
        }
    }

    /// Makes the emulator call this before each load; `None` turns it off.
    pub(crate) fn before_load(&mut self, call: Option<BeforeLoad>) {
        if let Device::Emulator(context) = &mut self.device {
            context.options_mut().before_load = call;
        }
    }

    /// Makes the emulator keep a block's steps, and look for faults.
    pub(crate) fn step_through(&mut self, request: SnapshotRequest) {
        if let Device::Emulator(context) = &mut self.device {
            let options = context.options_mut();
            (options.sanitize, options.lookahead) = (true, false);
            options.snapshot = Some(request);
        }
    }

    /// Calls the rung's host function on empty memory.
    pub(crate) fn run(&mut self) -> Result<Finished> {
        if let Device::Emulator(context) = &mut self.device {
            context.reset();
        }
        (self.launched, self.finished, self.most_instructions) = (None, None, None);
        let host = match &self.settings.kernel.file {
            // The user's kernel may be of another kind than the rung's.
            Some(_) => gemm,
            None => self.rung.host,
        };
        host(self)?;
        self.finished
            .take()
            .ok_or(Error::NothingLaunched(self.rung.name))
    }

    /// The same under another schedule of the emulator.
    pub(crate) fn run_as(&mut self, schedule: u64) -> Result<Finished> {
        if let Device::Emulator(context) = &mut self.device {
            context.options_mut().schedule = schedule;
        }
        self.run()
    }

    /// The same on other numbers.
    pub(crate) fn run_on(
        &mut self,
        size: Size,
        (values, seed): (Values, u64),
        schedule: u64,
    ) -> Result<Finished> {
        (self.settings.size, self.settings.seed, self.values) = (size, seed, values);
        self.problem = None;
        self.run_as(schedule)
    }

    /// Allocates another set of matrices and launches on it without copying C back: a timing repeats this launch.
    pub(crate) fn prepare(&mut self) -> Result<Finished> {
        self.downloads = false;
        let finished = self.run();
        self.downloads = true;
        finished
    }

    pub(crate) fn device_mut(&mut self) -> &mut Device {
        &mut self.device
    }

    /// The GPU.
    pub(crate) fn gpu(&self) -> Result<&gpu::Context> {
        match &self.device {
            Device::Emulator(_) => Err(Error::OtherDevice),
            Device::Gpu(context) => Ok(context),
        }
    }
}

/// The host function for any kernel that states its launch, with TMA or without, with a block for each tile or with
/// persistent blocks. Kernels of readers and students are launched by it.
///
/// # Errors
/// Those of its steps.
pub fn gemm(host: &mut Host) -> Result<()> {
    let kernel = host.compile("gemm")?;
    let problem = host.problem(&kernel)?;
    let Size { m, n, k } = problem.padded;

    let a = host.upload("A", &problem.a)?;
    let b = host.upload("B", &problem.b)?;
    let c = host.alloc("C", m as usize * n as usize)?;

    let mut args: Vec<Arg> = match kernel.spec.boxes {
        None => vec![a.arg(), b.arg(), c.arg()],
        Some([of_a, of_b, of_c]) => vec![
            host.tensor_map(&a, [m, k], of_a)?,
            host.tensor_map(&b, [k, n], of_b)?,
            host.tensor_map(&c, [m, n], of_c)?,
        ],
    };
    args.extend([m, n, k].map(Arg::Int));
    args.extend(host.switches());
    // A cluster takes an SM for each of its blocks.
    let sms = match host.few_blocks {
        true => kernel.spec.cluster,
        false => host.sms(),
    };
    let config = kernel.config(kernel.spec.blocks(problem.padded, sms));
    host.launch(&kernel, config, args)?;
    host.verify(&problem, [a, b, c])
}

/// A limit far above the warp instructions that any kernel needs for a problem of this size. A naive kernel executes about
/// 8 for 32 multiplications; this allows 64. The 32 that are added to K allow for the rest of the kernel if K is small. The
/// minimum is what an endless loop of `mma`, the slowest instruction, executes in some seconds.
fn instruction_limit(padded: Size) -> u64 {
    let [m, n, k] = [padded.m, padded.n, padded.k].map(u64::from);
    (m * n).saturating_mul(2 * (k + 32)).max(1 << 22)
}
