//! Launches on a device, the emulator or a GPU.
use std::path::Path;

use emulator::{LaunchReport, Limits, Options, Ptx};
use harness::{
    Arg, Buffer, Device, Function, KernelFile, LaunchConfig, LaunchSpec, Source, Target, Wanted,
};

use crate::arguments::{Arguments, Command};
use crate::lab::{Argument, CompletedLaunch, Lab, Launch, Scale};
use crate::run::{Error, Result};

/// Bytes of device memory: far more than any experiment needs.
const MEMORY: u64 = 1 << 30;
/// The limit of warp instructions: a small launch takes some thousands.
const INSTRUCTIONS: u64 = 1 << 26;
/// The same for a launch that fills a GPU.
const INSTRUCTIONS_IN_FULL: u64 = 1 << 36;

/// The device that the arguments name.
pub fn target(arguments: &Arguments) -> Result<Target> {
    Ok(Target::choose(
        arguments.device,
        None,
        arguments.command.need(),
    )?)
}

/// The GPU that the arguments name, or the first.
pub fn gpu(arguments: &Arguments) -> Result<gpu::Context> {
    let ordinal = match arguments.device {
        Wanted::Gpu(ordinal) => ordinal,
        Wanted::Auto => 0,
        Wanted::Emulator => {
            let why = "`time` needs a GPU; without one, `profile` shows what a kernel does to the memory system";
            return Err(Error::Usage(why.into()));
        }
    };
    Ok(gpu::Context::open(ordinal)?)
}

/// The emulator's options for a launch.
fn options(arguments: &Arguments) -> Options {
    let enough = match arguments.scale {
        Some(Scale::Full) => INSTRUCTIONS_IN_FULL,
        Some(Scale::Small) | None => INSTRUCTIONS,
    };
    Options {
        sanitize: arguments.command == Command::Sanitize,
        schedule: arguments.schedule,
        limits: Limits {
            instructions: arguments.max_instructions.unwrap_or(enough),
            memory: MEMORY,
            ..Limits::default()
        },
        ..Options::default()
    }
}

/// A launch whose kernel is loaded and whose arguments are on the device.
pub struct PreparedLaunch {
    pub function: Function,
    pub config: LaunchConfig,
    pub args: Vec<Arg>,
    output: Option<Buffer>,
    source: Source,
}

impl PreparedLaunch {
    /// Loads the kernel and uploads its arguments.
    pub fn new(
        lab: &Lab,
        launch: &Launch,
        arguments: &Arguments,
        device: &mut Device,
    ) -> Result<Self> {
        let source = source(lab, launch, arguments)?;
        let (function, _) = device.load(&source, launch.entry)?;
        let (mut args, mut output) = (Vec::new(), None);
        for argument in &launch.arguments {
            args.push(match argument {
                Argument::Int(value) => Arg::Int(*value),
                Argument::Input(bytes) => device.upload("input", bytes)?.arg(),
                Argument::Output(bytes) => {
                    let buffer = device.alloc("output", *bytes)?;
                    device.fill(&buffer, 0xff)?;
                    output.get_or_insert(buffer).arg()
                }
                Argument::OutputMap(tiling) => {
                    let bytes = tiling.row_bytes * tiling.dimensions[1];
                    let buffer = device.alloc("output", bytes as usize)?;
                    device.fill(&buffer, 0xff)?;
                    device.tensor_map(output.get_or_insert(buffer), tiling)?
                }
                Argument::Map(matrix, tiling) => {
                    let buffer = device.upload("matrix", matrix)?;
                    device.tensor_map(&buffer, tiling)?
                }
            });
        }
        let config = LaunchConfig {
            grid: [launch.grid[0], launch.grid[1], 1],
            block: [launch.threads, 1, 1],
            dynamic_shared: launch.dynamic_shared,
            cluster: [launch.cluster, 1, 1],
            ..LaunchConfig::default()
        };
        Ok(Self {
            function,
            config,
            args,
            output,
            source,
        })
    }

    /// Launches the kernel.
    pub fn launch(&self, device: &mut Device) -> Result<Option<LaunchReport>> {
        Ok(device.launch(&self.function, &self.config, &self.args)?)
    }

    /// The first output, after all launches have completed.
    pub fn output(&self, device: &Device) -> Result<Vec<u8>> {
        match &self.output {
            Some(buffer) => Ok(device.read(buffer)?),
            None => Ok(Vec::new()),
        }
    }
}

/// Launches on a device of its own, so that launches cannot affect each other.
pub fn run(
    lab: &Lab,
    launch: Launch,
    arguments: &Arguments,
    target: &Target,
) -> Result<CompletedLaunch> {
    let mut device = target.open(options(arguments))?;
    let ready = PreparedLaunch::new(lab, &launch, arguments, &mut device)?;
    let report = ready.launch(&mut device)?;
    let output = ready.output(&device)?;
    // There are counters unless a finding stopped the launch.
    let ended = report
        .as_ref()
        .is_none_or(|report| report.findings.is_empty() || !report.counters.is_empty());
    Ok(CompletedLaunch {
        verdict: ended.then(|| launch.expected.check(&output)),
        launch,
        source: ready.source,
        output,
        emulated: report.map(|report| (ready.function, report)),
    })
}

/// The PTX of a launch's kernel: the user's file, or the lab's own.
pub fn source(lab: &Lab, launch: &Launch, arguments: &Arguments) -> Result<Source> {
    let is_it =
        |kernel: &&KernelFile| kernel.file == launch.file && kernel.configuration == launch.tile;
    let kernel = lab.kernels.iter().find(is_it);
    let kernel =
        kernel.ok_or_else(|| Error::Usage(format!("{} has no {}", lab.name, launch.file)))?;
    source_of(lab, kernel, arguments)
}

/// The PTX of one of the lab's kernels: the user's file, or the lab's own.
pub fn source_of(lab: &Lab, kernel: &KernelFile, arguments: &Arguments) -> Result<Source> {
    let is_ptx = |path: &Path| path.extension().is_some_and(|ending| ending == "ptx");
    Ok(match &arguments.kernel {
        Some(path) if is_ptx(path) => {
            let source = Source::of_file(path, kernel.arch, "")?;
            has_tile(&source, kernel.configuration)?;
            source
        }
        Some(path) => Source::of_file(path, kernel.arch, kernel.configuration)?,
        None => kernel.current(&format!("book/labs/{}", lab.name))?,
    })
}

/// Checks that the user's PTX has the tile of the launch, if launches have tiles.
fn has_tile(source: &Source, tile: &str) -> Result<()> {
    if tile.is_empty() {
        return Ok(());
    }
    let spec = Ptx::parse(&source.ptx).ok();
    let spec = spec.and_then(|ptx| LaunchSpec::of(&ptx).ok());
    let found = spec.map(|spec| format!("{}x{}", spec.tile.bm, spec.tile.bn));
    match found {
        Some(found) if found == tile => Ok(()),
        Some(found) => Err(Error::Usage(format!(
            "the tile of {} is {found}, and this launch is of {tile}: `--only {found}`",
            source.file
        ))),
        None => Err(Error::Usage(format!(
            "{} does not state its launch",
            source.file
        ))),
    }
}
