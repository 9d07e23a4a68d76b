//! `cargo ladder emulate FILE.cu|FILE.ptx`: launches any kernel, and reports results, counters and findings.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `mod` | what happens, in which order? |
//! | `launch` | what is launched, by flags or by the file's top comment? |
//! | `argument`, `fill`, `element`, `npy`, `tensor_map` | what does each argument hold? |
//! | `program`, `names` | which PTX, and which kernel of it? |
//! | `device_code/` | which part of a source is device code? |
//! | `memory` | what does device memory contain, before and after? |
//! | `other_launches` | which launch executes what this one does not? |
//! | `compare` | is the result as expected? |
//! | `look/` | what do a block's memory and registers contain at a line? |
//! | `report`, `json` | how is it shown? |
mod argument;
mod compare;
pub mod device_code;
mod element;
mod fill;
mod json;
mod launch;
mod look;
mod memory;
mod names;
mod npy;
mod other_launches;
mod program;
mod report;
mod tensor_map;
#[cfg(test)]
mod tests;
pub mod untrusted;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, anyhow, bail, ensure};
use emulator::{Card, Finding, Limits, Options};
use harness::measured::{self, Measured};
use harness::metrics;
use harness::{
    AnyLaunch, Bytes, Device, Function, LaunchConfig, Need, PredictOptions, Prediction, Target,
    Wanted, explained,
};
use owo_colors::OwoColorize;

use launch::{HEAD, Launch, Numbered};
use memory::Held;
use npy::Array;
use program::Program;
use report::Summary;

#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// CUDA source, whose host code is skipped, or PTX
    file: PathBuf,
    #[command(flatten)]
    launch: Launch,
    /// Write the contents of an argument's buffer after the launch to a file
    #[arg(long = "out", value_name = "N=FILE.npy")]
    outputs: Vec<Numbered>,
    /// Show the source line by line, with what each line does to the memory system
    #[arg(long)]
    profile: bool,
    /// Look for out-of-bounds accesses, races, uninitialized reads and barrier errors
    #[arg(long)]
    sanitize: bool,
    /// Predict the time on an H200, what limits the kernel, and what its warps wait for; with --device gpu, compare
    /// with the GPU's time
    #[arg(long, conflicts_with_all = ["profile", "sanitize", "csv", "outputs"])]
    time: bool,
    /// With --time, draw the warps of one SM over two loop iterations, or write them as JSON; `-` prints that instead
    /// of the prediction
    #[arg(long, value_name = "FILE.svg|FILE.json|-", requires = "time")]
    timeline: Option<PathBuf>,
    /// With --time, predict from list-scheduled PTX, as on a machine without ptxas: less exact
    #[arg(long, requires = "time")]
    from_ptx: bool,
    /// With --time, replace a constant of the card, such as latency.dram=900, or its SM clock, mhz=1300
    #[arg(long = "set", value_name = "NAME=VALUE", requires = "time", value_parser = harness::constant)]
    constants: Vec<(String, f64)>,
    #[command(flatten)]
    look: look::Look,
    /// Print one JSON object
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print the counters as `ncu --csv --page raw` prints them
    #[arg(long, conflicts_with = "sanitize")]
    csv: bool,
    /// Where to run: emulator, gpu or gpu:N
    #[arg(long, value_name = "DEVICE", default_value = "emulator")]
    device: Wanted,
    /// The GPU to emulate: h100 or a100 [default: h100]
    #[arg(long, value_name = "CARD", value_parser = Card::from_str)]
    emulate: Option<Card>,
    /// A folder of headers
    #[arg(short = 'I', long = "include", value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// The emulator's order of warps and blocks; 0 is the plain one
    #[arg(long, value_name = "N", default_value_t = 0)]
    schedule: u64,
    /// Stop after N warp instructions
    #[arg(long, value_name = "N", default_value_t = 10_000_000_000)]
    max_instructions: u64,
    /// Bytes of device memory, such as 512M or 4G
    #[arg(long, value_name = "BYTES", default_value = "4G")]
    max_memory: Bytes,
    /// Call stack per thread, in bytes, for functions that are called through pointers or recursively
    #[arg(long, value_name = "BYTES", default_value = "16K")]
    stack: Bytes,
    /// The most blocks of a launch
    #[arg(long, value_name = "N", default_value_t = Limits::default().blocks)]
    max_blocks: u64,
}

const AFTER_HELP: &str = "\
The launch may be written in comments at the head of the file; flags override them:\n  \
// cargo ladder emulate: --kernel 'reduce<float, 256>' --grid 8 --block 256\n  \
//   --arg 'f32[4096]=normal' --arg 'f32[8]=nan' --arg 4096\n\
Exit code 0: it ran, and all is as expected. 1: a value differs, or a fault was found. 2: it cannot run.";

/// Launches and reports; returns whether everything succeeded.
pub fn run(arguments: &Arguments) -> Result<bool> {
    match execute(arguments) {
        Err(error) => match error.downcast::<harness::Error>() {
            // An error in the kernel, not in the command.
            Ok(error) if error.exit_code() == 1 => {
                harness::eprintln!("{} {}", "error:".red().bold(), explained(&error));
                Ok(false)
            }
            Ok(error) => Err(anyhow!(explained(&error))),
            Err(error) => Err(error),
        },
        done => done,
    }
}

/// The launch, from flags and the file's top comment; its device; and the architecture to compile for.
fn launch_of(arguments: &Arguments) -> Result<(Launch, Target, String)> {
    let path = &arguments.file;
    let text = std::fs::read(path).map_err(|error| harness::Error::Read {
        path: path.clone(),
        error,
    })?;
    let text = String::from_utf8_lossy(&text);
    ensure!(
        !harness::ends_with_cr(&text),
        "the lines of {} end with CR alone: save it with LF or CR LF",
        path.display()
    );
    let head = Launch::of_head(&text, path);
    let head = head.map_err(|why| anyhow!("{}: {why}", path.display()))?;
    let mut launch = arguments.launch.clone().or(head.unwrap_or_default());
    launch.fmad.get_or_insert(arguments.time);
    let looks = arguments.look.is_asked_for();
    let counts = arguments.profile || arguments.sanitize || arguments.csv || looks;
    let need = if counts { Need::Emulator } else { Need::Any };
    let target = match arguments.time {
        true => Target::choose(Wanted::Emulator, arguments.emulate, need)?,
        false => Target::choose(arguments.device, arguments.emulate, need)?,
    };
    let arch = launch.arch.clone().unwrap_or_else(|| newest(&target));
    Ok((launch, target, arch))
}

/// What is launched, and on which device.
struct Chosen {
    launch: Launch,
    target: Target,
    program: Program,
}

impl Chosen {
    fn new(arguments: &Arguments) -> Result<Self> {
        let (launch, target, arch) = launch_of(arguments)?;
        let program = Program::read(&arguments.file, &launch, &arch, &arguments.folders)?;
        target.check_arch(&program.source.arch)?;
        Ok(Self {
            launch,
            target,
            program,
        })
    }

    fn prepared(&self, arguments: &Arguments) -> Result<Prepared> {
        let options = options(arguments);
        let ready = prepared(&self.program, &self.launch, &self.target, options)?;
        let outputs = arguments.outputs.iter().chain(&self.launch.expectations);
        check_numbers(&ready.placed.buffers, outputs)?;
        Ok(ready)
    }

    /// The predicted time, without a GPU.
    fn predict(&self, arguments: &Arguments) -> Result<Prediction> {
        let mut ready = self.prepared(arguments)?;
        let buffers = ready.placed.buffers.iter();
        let launch = AnyLaunch {
            kernel: &self.program.kernel.shown(),
            source: &self.program.source,
            entry: &self.program.kernel.entry,
            function: &ready.function,
            config: &ready.config,
            args: &ready.placed.args,
            memory: buffers.map(|held| held.before.bytes.len() as u64).sum(),
            constants: &arguments.constants,
            options: PredictOptions {
                spans: arguments.timeline.is_some(),
                from_ptx: arguments.from_ptx,
            },
        };
        Ok(launch.predict(&mut ready.device)?)
    }

    /// A GPU's time, if one was requested.
    fn measure(&self, arguments: &Arguments) -> Result<Option<Measured>> {
        let Wanted::Gpu(_) = arguments.device else {
            return Ok(None);
        };
        let gpu = Target::choose(arguments.device, None, Need::Any)?;
        gpu.check_arch(&self.program.source.arch)?;
        let ready = prepared(&self.program, &self.launch, &gpu, options(arguments))?;
        let (function, config) = (&ready.function, &ready.config);
        let measured = measured::launch(&ready.device, function, config, &ready.placed.args)?;
        Ok(Some(measured))
    }
}

/// For a file whose top comment states everything. The recorded kernels were compiled without contraction.
#[derive(clap::Parser)]
struct HeadOnly {
    #[command(flatten)]
    arguments: Arguments,
}

impl HeadOnly {
    fn arguments(file: &Path, device: Wanted) -> Result<Arguments> {
        let words = [
            "emulate".as_ref(),
            "--time".as_ref(),
            "--fmad=false".as_ref(),
            "--".as_ref(),
            file.as_os_str(),
        ];
        let Self { arguments } = clap::Parser::try_parse_from(words)?;
        Ok(Arguments {
            device,
            ..arguments
        })
    }
}

/// Predicts the launch that a file's top comment states; `from_ptx`: as on a machine without ptxas; `mhz`: the SM clock, by default
/// the highest.
///
/// # Errors
/// If the top comment states no launch, or there is no prediction of its kernel.
pub fn predict(file: &Path, from_ptx: bool, mhz: Option<f64>) -> Result<Prediction> {
    let arguments = Arguments {
        from_ptx,
        constants: mhz.map(|mhz| ("mhz".to_owned(), mhz)).into_iter().collect(),
        ..HeadOnly::arguments(file, Wanted::Emulator)?
    };
    Chosen::new(&arguments)?.predict(&arguments)
}

/// A GPU's time for the launch that a file's top comment states.
///
/// # Errors
/// If the comment states no launch, or the GPU refuses it.
pub fn measure(file: &Path, gpu: Wanted) -> Result<Measured> {
    let arguments = HeadOnly::arguments(file, gpu)?;
    let measured = Chosen::new(&arguments)?.measure(&arguments)?;
    measured.context("a GPU is needed, as gpu or gpu:N")
}

fn execute(arguments: &Arguments) -> Result<bool> {
    let look = &arguments.look;
    if let Some(size) = look.size.filter(|_| look.is_asked_for()) {
        let (launch, _, arch) = launch_of(arguments)?;
        let text = look::at_size(look, size, &arguments.file, &launch, &arch)?;
        harness::print(&mut harness::terminal::stdout(), &text)?;
        return Ok(true);
    }
    let chosen = Chosen::new(arguments)?;
    if look.is_asked_for() {
        let text = look_inside(arguments, chosen)?;
        harness::print(&mut harness::terminal::stdout(), &text)?;
        return Ok(true);
    }
    if arguments.time {
        let mut prediction = chosen.predict(arguments)?;
        prediction.measured = chosen.measure(arguments)?;
        let picture = arguments.timeline.as_deref();
        let text = harness::predicted(&prediction, arguments.json, picture)?;
        harness::print(&mut harness::terminal::stdout(), &text)?;
        return Ok(true);
    }
    let Prepared {
        mut device,
        function,
        config,
        placed,
    } = chosen.prepared(arguments)?;
    let Chosen {
        launch,
        target,
        program,
    } = chosen;
    let options = options(arguments);
    let mut run = device.launch(&function, &config, &placed.args)?;
    if let Some(run) = run.as_mut().filter(|run| run.findings.is_empty()) {
        other_launches::propose(&program, &launch, &target, &options, run);
    }

    let mut summaries = Vec::new();
    let mut after = Vec::new();
    for held in &placed.buffers {
        let array = Array {
            bytes: device.read(&held.buffer)?,
            ..held.before.clone()
        };
        summaries.push(Summary::new(held.argument, &held.before, &array));
        after.push((held.argument, array));
    }
    let array_of = |number: usize| {
        after
            .iter()
            .find(|(argument, _)| *argument == number)
            .map(|(_, array)| array)
    };
    for output in &arguments.outputs {
        if let Some(array) = array_of(output.argument) {
            let file = output.file.display();
            std::fs::write(&output.file, npy::write(array))
                .with_context(|| format!("cannot write {file}"))?;
        }
    }
    let mut comparisons = Vec::new();
    for expected in &launch.expectations {
        if let Some(array) = array_of(expected.argument) {
            let wanted = fill::read_npy(&expected.file).map_err(|why| anyhow!(why))?;
            let tolerance = launch.tolerance.unwrap_or_default();
            let compared = compare::compare(expected.argument, array, &wanted, tolerance);
            comparisons
                .push(compared.map_err(|why| anyhow!("{}: {why}", expected.file.display()))?);
        }
    }

    let findings: Vec<String> = run
        .iter()
        .flat_map(|run| &run.findings)
        .map(ToString::to_string)
        .collect();
    let remarks: &[Finding] = run.as_ref().map_or(&[], |run| &run.remarks);
    let right = comparisons.iter().all(|one| one.different == 0);
    let counted = run.as_ref().filter(|run| !run.counters.is_empty());
    let metrics = counted.map(|run| {
        metrics::of(
            function.instructions(),
            &run.counters,
            &config,
            function.static_shared(),
        )
    });
    let out = match &run {
        _ if arguments.json => json::text(&json::Launched {
            program: &program,
            config: &config,
            target: &target,
            function: &function,
            run: run.as_ref(),
            buffers: &summaries,
            expected: &comparisons,
            metrics: metrics.as_deref(),
            profile: arguments.profile,
        }),
        Some(_) if arguments.csv => match (&metrics, target.emulated()) {
            (Some(metrics), Some(card)) => {
                metrics::csv(metrics, &program.kernel.shown(), &config, card, 0)?
            }
            _ => harness::findings(&findings, remarks, true),
        },
        _ => {
            let mut text = String::new();
            if let Some(run) = &run {
                text += &match arguments.sanitize {
                    true => report::printed_by(&run.printed),
                    false => report::printed(&run.printed),
                };
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push('\n');
                }
            }
            text += &report::head(&program, &config, &target, function.warnings());
            text += &report::buffers(&summaries);
            text += &report::comparisons(&comparisons);
            if let (Some(run), true) = (counted, arguments.profile) {
                text += &report::profile(&program, &function, run);
            }
            if arguments.sanitize || !findings.is_empty() || !remarks.is_empty() {
                text += "\n";
                text += &harness::findings(&findings, remarks, right);
            }
            text
        }
    };
    harness::print(&mut harness::terminal::stdout(), &out)?;
    Ok(right && findings.is_empty())
}

/// Shows a block's memory or registers at a line.
fn look_inside(arguments: &Arguments, chosen: Chosen) -> Result<String> {
    let (look, options) = (&arguments.look, options(arguments));
    let Chosen {
        launch,
        target,
        program,
    } = chosen;
    let function = prepared(&program, &launch, &target, options.clone())?.function;
    let snapshot = look.request(&program.source, function.instructions())?;
    let options = Options {
        snapshot: Some(snapshot),
        ..options
    };
    let mut ready = prepared(&program, &launch, &target, options)?;
    let (function, config) = (&ready.function, &ready.config);
    let run = ready.device.launch(function, config, &ready.placed.args)?;
    let run = run.context("only the emulator shows it: omit --device gpu")?;
    let ended: Vec<String> = run
        .findings
        .iter()
        .filter(|finding| finding.is_fatal())
        .map(ToString::to_string)
        .collect();
    if !ended.is_empty() {
        return Err(harness::Error::Fault(ended).into());
    }
    look.text(&program.source, function, &run.snapshot, None)
}

/// A launch without reports.
struct Prepared {
    device: Device,
    function: Function,
    config: LaunchConfig,
    placed: memory::Arguments,
}

/// Opens the device, loads the kernel, and puts its arguments and variables into memory.
fn prepared(
    program: &Program,
    launch: &Launch,
    target: &Target,
    options: Options,
) -> Result<Prepared> {
    let config = config(launch, program)?;
    let limit = options.limits.memory;
    let mut device = target.open(options)?;
    let module = device.load_module(&program.source)?;
    let function = module.function(&program.kernel.entry)?;
    for symbol in &launch.symbols {
        memory::write_symbol(&mut device, &module, symbol, limit)?;
    }
    let placed = memory::place(&mut device, program, &launch.arguments, limit)?;
    Ok(Prepared {
        device,
        function,
        config,
        placed,
    })
}

/// The newest architecture that the device runs.
fn newest(target: &Target) -> String {
    match target {
        Target::Emulator(Card::H100) => "sm_90a".into(),
        Target::Emulator(_) => "sm_80".into(),
        Target::Gpu(info) if info.sm == (9, 0) => "sm_90a".into(),
        Target::Gpu(info) => format!("sm_{}{}", info.sm.0, info.sm.1),
    }
}

fn config(launch: &Launch, program: &Program) -> Result<LaunchConfig> {
    let (Some(grid), Some(block)) = (launch.grid, launch.block) else {
        bail!(
            "how many blocks, and how many threads? Give --grid and --block, or write them at the head of the file:\n  \
             // {HEAD} --grid 8 --block 256 --arg …\n{} takes{}",
            program.kernel.shown(),
            match program.params.is_empty() {
                true => " no arguments".to_owned(),
                false => memory::listed(program),
            }
        );
    };
    let dynamic_shared = launch.shared.map_or(0, |bytes| bytes.0);
    Ok(LaunchConfig {
        grid: grid.0,
        block: block.0,
        dynamic_shared: u32::try_from(dynamic_shared)
            .context("--shared exceeds what a block can have")?,
        cluster: launch.cluster.map_or([1; 3], |cluster| cluster.0),
        cooperative: launch.cooperative,
        overlap: launch.overlap,
    })
}

fn options(arguments: &Arguments) -> Options {
    Options {
        sanitize: arguments.sanitize,
        schedule: arguments.schedule,
        limits: Limits {
            instructions: arguments.max_instructions,
            memory: arguments.max_memory.0,
            blocks: arguments.max_blocks,
            stack: arguments.stack.0,
        },
        ..Options::default()
    }
}

/// Checks that each number is that of an argument with a buffer.
fn check_numbers<'a>(buffers: &[Held], numbers: impl Iterator<Item = &'a Numbered>) -> Result<()> {
    for Numbered { argument, file } in numbers {
        if !buffers.iter().any(|held| held.argument == *argument) {
            let known: Vec<String> = buffers
                .iter()
                .map(|held| held.argument.to_string())
                .collect();
            bail!(
                "{argument}={}: argument {argument} is not a buffer; {}",
                file.display(),
                match known.is_empty() {
                    true => "no argument is".into(),
                    false => format!("the buffers are {}, counted from 0", known.join(", ")),
                }
            );
        }
    }
    Ok(())
}
