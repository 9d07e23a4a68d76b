//! Predicts how long a kernel takes, with the clock model and without a GPU.
use std::collections::{BTreeMap, BTreeSet};

use clock::{
    Card, CtaSize, Estimate, Launch, LaunchError, Listed, Place, Read, Sharing, Sm, written,
};
use emulator::{LaunchReport, TraceRequest, WarpTrace};

use crate::bench::Effort;
use crate::device::{Arg, Device, Function, LaunchConfig};
use crate::host::Finished;
use crate::measured::Measured;
use crate::run;
use crate::source::machine_code;
use crate::{Error, Host, Kernel, Result, Rung, Settings, Size, Source, Target, choose};

/// The most warp instructions that the CTAs of a wave execute together to show which addresses they share.
const WAVE_INSTRUCTIONS: u64 = 4_000_000;
/// That is enough if it is at least this fraction of a CTA's instructions, and at least this many.
const WAVE_PART: (u64, u64) = (16, 2_000);

/// The clock model's prediction for a launch.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// The name of the launch.
    pub kernel: String,
    /// The problem, if it is a product of matrices.
    pub product: Option<Product>,
    /// The card.
    pub card: Card,
    /// CTAs resident on an SM.
    pub resident: u32,
    /// The PTX lines and opcodes of the machine code; the estimate's lists are indexed by it.
    pub code: clock::MachineCode,
    /// Why `code` is list-scheduled PTX, which is less accurate, instead of ptxas's machine code; `None` if it is ptxas's.
    pub listed: Option<String>,
    /// Whether that is because of an indirect call or branch in the machine code.
    pub is_indirect: bool,
    /// Source lines, by the PTX line where each begins.
    pub sources: BTreeMap<u32, String>,
    /// The estimate.
    pub estimate: Estimate,
    /// The start and end of the two loop iterations whose spans the estimate contains.
    pub window: Option<(f64, f64)>,
    /// The measurement of a GPU, if requested.
    pub measured: Option<Measured>,
}

/// How to predict, and what to include.
#[derive(Clone, Copy, Debug, Default)]
pub struct PredictOptions {
    /// Spans of two loop iterations.
    pub spans: bool,
    /// Ignore ptxas, as on a machine that does not have it.
    pub from_ptx: bool,
}

/// ptxas's machine code, or list-scheduled PTX with the reason for using it.
struct Code {
    machine: clock::MachineCode,
    listed: Option<(Listed, String)>,
}

impl Code {
    fn new(
        source: &Source,
        entry: &str,
        function: &Function,
        config: &LaunchConfig,
        card: &Card,
        options: PredictOptions,
    ) -> Self {
        let listed = |why| Self::listed(source, function, config, card, why);
        if options.from_ptx {
            return listed("ptxas is ignored, as requested".into());
        }
        match machine_code::of(source, entry) {
            Ok(machine) => Self {
                machine,
                listed: None,
            },
            Err(why) => listed(format!("{why:#}")),
        }
    }

    fn listed(
        source: &Source,
        function: &Function,
        config: &LaunchConfig,
        card: &Card,
        why: String,
    ) -> Self {
        let cta = CtaSize {
            threads: threads(config),
            shared_bytes: shared_bytes(function, config),
        };
        let listed = Listed::new(&source.ptx, function.instructions(), cta, card);
        Self {
            machine: listed.code.clone(),
            listed: Some((listed, why)),
        }
    }
}

/// A product of matrices that a rung computes.
#[derive(Clone, Debug)]
pub struct Product {
    /// The problem.
    pub size: Size,
    /// The tile of C that a CTA computes at a time.
    pub tile: String,
}

/// A traced launch on the emulator.
#[derive(Debug, Default)]
pub(crate) struct Traced {
    /// The run, with the traces of the CTAs of one SM from start to end.
    pub report: LaunchReport,
    /// The first instructions of all CTAs that run at the same time.
    pub wave: Vec<WarpTrace>,
}

/// A traced launch and its kernel.
struct TracedLaunch<'a> {
    /// The kernel's name in messages.
    kernel: String,
    source: &'a Source,
    function: &'a Function,
    code: Code,
    config: &'a LaunchConfig,
    traced: &'a Traced,
    /// Bytes of the buffers that it can read.
    memory: u64,
    /// Whether the same launch ran before, so that its data is in the L2 if it fits, as when a GPU is timed repeatedly
    /// on the same buffers. `cargo ladder bench` uses other buffers for each launch.
    warmed: bool,
    options: PredictOptions,
    card: Card,
}

/// `blockIdx` of the first block of a cluster, and of all its other blocks.
fn blocks_of(config: &LaunchConfig, number: u64) -> impl Iterator<Item = [u32; 3]> {
    let cluster = config.cluster.map(|blocks| blocks.max(1));
    let [nx, ny, _]: [u64; 3] =
        std::array::from_fn(|dim| u64::from((config.grid[dim] / cluster[dim]).max(1)));
    let at = [number % nx, number / nx % ny, number / nx / ny];
    let [cx, cy, _] = cluster;
    (0..cluster.iter().product()).map(move |rank| {
        let within = [rank % cx, rank / cx % cy, rank / cx / cy];
        std::array::from_fn(|dim| at[dim] as u32 * cluster[dim] + within[dim])
    })
}

/// How the scheduler distributes a launch's clusters: round-robin over groups of SMs.
struct ClusterSchedule {
    clusters: u64,
    /// How many clusters run side by side, each on different SMs.
    groups: u64,
    /// Clusters resident on the same SMs.
    resident: u64,
}

impl ClusterSchedule {
    fn new(config: &LaunchConfig, resident: u32, sms: u32) -> Self {
        let ranks = config.cluster.iter().product::<u32>().max(1);
        let blocks: u64 = config
            .grid
            .iter()
            .map(|&blocks| u64::from(blocks))
            .product();
        Self {
            clusters: (blocks / u64::from(ranks)).max(1),
            groups: u64::from((sms / ranks).max(1)),
            resident: resident.max(1).into(),
        }
    }

    /// The clusters that an SM holds at the same time: of the first SM those with which it begins, of any other those with which it
    /// ends. Beyond the last SM that has a CTA, they are that one's.
    fn of_one_sm(&self, sm: u32) -> Vec<u64> {
        let group = u64::from(sm).min(self.groups.min(self.clusters) - 1);
        let all: Vec<_> = (group..self.clusters)
            .step_by(self.groups as usize)
            .collect();
        let held = all.len().min(self.resident as usize);
        match sm {
            0 => all[..held].to_vec(),
            _ => all[all.len() - held..].to_vec(),
        }
    }

    /// Where a block of a cluster runs. All blocks of a cluster are in one GPC, each on an SM of its own.
    fn place(&self, cluster: u64, rank: u64, ranks: u64, card: &Card) -> Place {
        let first = cluster % self.groups * ranks;
        Place {
            sm: (first + rank) as u32,
            gpc: card.gpc(first as u32),
            turn: (cluster / self.groups) as u32,
        }
    }

    /// The number of clusters that run at the same time.
    fn of_a_wave(&self) -> u64 {
        (self.groups * self.resident).min(self.clusters)
    }
}

/// The SM whose CTAs are traced.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TracedSm {
    /// How many CTAs it holds.
    pub resident: u32,
    /// Its number; with clusters, that of the group of SMs that hold one. Beyond the last that has a CTA, that one is meant.
    pub number: u32,
}

/// Only the first cluster.
pub(crate) fn one_cluster(config: &LaunchConfig, number: u64) -> TraceRequest {
    let blocks = |size: [u32; 3]| size.map(u64::from).into_iter().product::<u64>().max(1);
    let clusters = (blocks(config.grid) / blocks(config.cluster)).max(1);
    TraceRequest {
        blocks: blocks_of(config, number % clusters).collect(),
        only: true,
        ..TraceRequest::default()
    }
}

/// Launches a kernel on the emulator and traces the CTAs of one SM, and then the first
/// instructions of all CTAs that run at the same time.
///
/// # Errors
/// If the device is a GPU or refuses the launch, or a limit of the emulator was exceeded.
pub(crate) fn traced(
    device: &mut Device,
    function: &Function,
    config: &LaunchConfig,
    args: &[Arg],
    sm: TracedSm,
    sms: u32,
) -> Result<Traced> {
    let schedule = ClusterSchedule::new(config, sm.resident, sms);
    let mut launch = |clusters: &mut dyn Iterator<Item = u64>, most: Option<u64>| {
        let Device::Emulator(context) = &mut *device else {
            return Err(Error::OtherDevice);
        };
        context.options_mut().trace = Some(TraceRequest {
            blocks: clusters.flat_map(|one| blocks_of(config, one)).collect(),
            only: true,
            most,
            control_flow_only: true,
        });
        let report = device.launch(function, config, args)?;
        Ok(report.unwrap_or_default())
    };
    let of_one_sm = schedule.of_one_sm(sm.number);
    let report = launch(&mut of_one_sm.iter().copied(), None)?;
    let executed: usize = report.traces.iter().map(|warp| warp.events.len()).sum();
    let of_one = executed as u64 / of_one_sm.len().max(1) as u64;
    let wave = schedule.of_a_wave();
    let (part, least) = WAVE_PART;
    let most = (of_one / part)
        .max(least)
        .min(WAVE_INSTRUCTIONS / wave)
        .max(1);
    let wave = launch(&mut (0..wave), Some(most))?.traces;
    if let Device::Emulator(context) = device {
        context.options_mut().trace = None;
    }
    Ok(Traced { report, wave })
}

/// CTAs resident on an SM of the card.
fn resident(code: &clock::MachineCode, function: &Function, config: &LaunchConfig) -> u32 {
    let shared = shared_bytes(function, config);
    Sm::HOPPER
        .holds(threads(config), code.registers, shared)
        .blocks
}

/// Threads of a CTA; the launch has not been validated yet.
fn threads(config: &LaunchConfig) -> u32 {
    config
        .block
        .iter()
        .fold(1, |all, &side| all.saturating_mul(side))
}

fn shared_bytes(function: &Function, config: &LaunchConfig) -> u32 {
    function
        .static_shared()
        .saturating_add(config.dynamic_shared)
}

impl TracedLaunch<'_> {
    /// The prediction, or why there is none: the kernel fails, or its machine code does not fit the trace.
    fn predict(self) -> std::result::Result<Prediction, String> {
        let card = self.card;
        let report = &self.traced.report;
        if let Some(first) = report.findings.first() {
            return Err(first.to_string());
        }
        let config = self.config;
        let resident = resident(&self.code.machine, self.function, config);
        if resident == 0 {
            return Err("an SM has not enough registers or shared memory for one CTA".into());
        }
        let instructions = self.function.instructions();
        let schedule = ClusterSchedule::new(config, resident, card.sms);
        let ranks = u64::from(config.cluster.iter().product::<u32>().max(1));
        let mut places = BTreeMap::new();
        for number in 0..schedule.of_a_wave() {
            let places_of = (0..).map(|rank| schedule.place(number, rank, ranks, &card));
            places.extend(blocks_of(config, number).zip(places_of));
        }
        let on = |block: [u32; 3]| places.get(&block).copied().unwrap_or_default();
        let wave = Read::of(&self.traced.wave, instructions, on);
        let traced: BTreeSet<_> = report.traces.iter().map(|warp| warp.block).collect();
        let own = Read::of(&report.traces, instructions, on).asked as f64;
        let of_all = (schedule.clusters * ranks) as f64 / traced.len().max(1) as f64;
        let all = own * of_all;
        let written = written(&report.traces, instructions) as f64 * of_all;
        let sharing = Sharing::new(
            wave,
            all,
            self.memory as f64,
            written.min(self.memory as f64),
            card.queue.l2_bytes,
            self.warmed,
        )
        .of_sms(schedule.clusters * ranks, card.sms);
        let launch = |code: &Code| {
            let launch = Launch {
                card: &card,
                code: &code.machine,
                listed: code.listed.as_ref().map(|(listed, _)| listed),
                instructions,
                traces: &report.traces,
                blocks: schedule.clusters * ranks,
                cluster: config.cluster,
                resident,
                shared_bytes: shared_bytes(self.function, config),
                sharing,
                window: None,
            };
            match self.options.spans {
                true => launch.estimate_with_spans(),
                false => launch.estimate().map(|estimate| (estimate, None)),
            }
        };
        let mut is_indirect = false;
        let (code, estimated) = match launch(&self.code) {
            // The machine code is from another kernel, or its branches do not fit the trace.
            Err(error) if self.code.listed.is_none() => {
                is_indirect = matches!(error, LaunchError::Indirect { .. });
                let why = error.to_string();
                let code = Code::listed(self.source, self.function, config, &card, why);
                let again = launch(&code);
                (code, again)
            }
            estimated => (self.code, estimated),
        };
        let (estimate, window) = estimated.map_err(|error| error.to_string())?;
        let sources = instructions.iter();
        let sources =
            sources.filter_map(|one| Some((one.ptx_line, one.source.as_ref()?.to_string())));
        Ok(Prediction {
            kernel: self.kernel,
            product: None,
            sources: sources.collect(),
            card,
            resident,
            code: code.machine,
            listed: code.listed.map(|(_, why)| why),
            is_indirect,
            estimate,
            window,
            measured: None,
        })
    }
}

/// The prediction for the launch of a host function, and the launch. `run` calls the host function while the CTAs of
/// one SM are traced, as many as it is passed.
pub(crate) fn of_host(
    host: &mut Host,
    kernel: &Kernel,
    called: String,
    card: Card,
    options: PredictOptions,
    run: impl FnOnce(&mut Host, u32) -> Result<Finished>,
    no: impl Fn(String) -> Error,
) -> Result<(Prediction, Finished)> {
    let (source, function) = (&kernel.source, &kernel.function);
    let config = LaunchConfig {
        block: [kernel.spec.threads, 1, 1],
        dynamic_shared: kernel.spec.dynamic_shared,
        ..LaunchConfig::default()
    };
    let code = Code::new(source, kernel.name, function, &config, &card, options);
    let mut finished = run(host, resident(&code.machine, function, &config).max(1))?;
    let traced = Traced {
        report: finished.report.take().unwrap_or_default(),
        wave: host.take_wave(),
    };
    let launch = TracedLaunch {
        kernel: called,
        source,
        function,
        code,
        config: &finished.launch.config,
        traced: &traced,
        memory: 2 * finished.problem.padded.elements().iter().sum::<u64>(),
        warmed: false,
        options,
        card,
    };
    let prediction = launch.predict().map_err(no)?;
    finished.report = Some(traced.report);
    Ok((prediction, finished))
}

/// Any kernel's launch, before it is traced.
pub struct AnyLaunch<'a> {
    /// The kernel's name in messages.
    pub kernel: &'a str,
    /// Its PTX.
    pub source: &'a Source,
    /// Its name in the PTX.
    pub entry: &'a str,
    /// The loaded kernel.
    pub function: &'a Function,
    /// The launch.
    pub config: &'a LaunchConfig,
    /// The arguments.
    pub args: &'a [Arg],
    /// Bytes of the buffers among them.
    pub memory: u64,
    /// Constants of the card to replace, by the names that `--set` takes.
    pub constants: &'a [(String, f64)],
    /// How to predict, and what to include.
    pub options: PredictOptions,
}

impl AnyLaunch<'_> {
    /// Traces the launch on the emulator and predicts it.
    ///
    /// # Errors
    /// If the launch is refused, or the kernel fails.
    pub fn predict(self, device: &mut Device) -> Result<Prediction> {
        let no = |why: String| Error::NotPredicted(self.kernel.to_owned(), why);
        let card = Card::H200.with(self.constants);
        let card = card.map_err(|error| no(error.to_string()))?;
        let (source, function, config) = (self.source, self.function, self.config);
        let code = Code::new(source, self.entry, function, config, &card, self.options);
        let held = resident(&code.machine, function, config).max(1);
        let sm = TracedSm {
            resident: held,
            number: 0,
        };
        let traced = traced(device, function, config, self.args, sm, card.sms)?;
        let launch = TracedLaunch {
            kernel: self.kernel.to_owned(),
            source,
            function,
            code,
            config,
            traced: &traced,
            memory: self.memory,
            warmed: true,
            options: self.options,
            card,
        };
        launch.predict().map_err(no)
    }
}

impl Prediction {
    /// Predicts the time of the rung's kernel, compiled to `source`, at the size of these settings.
    ///
    /// # Errors
    /// If the kernel fails on the emulator.
    pub fn new(
        rung: &Rung,
        settings: &Settings,
        target: &Target,
        source: Source,
        options: PredictOptions,
    ) -> Result<Self> {
        let no = |why: String| Error::NoPrediction(settings.size, why);
        let card = Card::H200.with(&settings.constants);
        let card = card.map_err(|error| no(error.to_string()))?;
        let mut host = Host::new(rung, settings, target, Some(source))?;
        let kernel = host.compile("gemm")?;
        let run = |host: &mut Host, resident| {
            host.trace(resident);
            host.run()
        };
        let called = format!("rung {}", rung.name);
        let (prediction, _) = of_host(&mut host, &kernel, called, card, options, run, no)?;
        let spec = kernel.spec;
        Ok(Self {
            product: Some(Product {
                size: settings.size,
                tile: format!("{}x{}", spec.tile.bm, spec.tile.bn),
            }),
            ..prediction
        })
    }

    /// The same, together with this GPU's measurement for the same kernel and problem.
    ///
    /// # Errors
    /// As [`Self::new`]; also if the kernel fails on the GPU.
    pub fn beside(
        rung: &Rung,
        settings: &Settings,
        target: &Target,
        gpu: &Target,
        options: PredictOptions,
    ) -> Result<Self> {
        let source = choose::source(rung, target, &settings.kernel, settings.size)?;
        let mut prediction = Self::new(rung, settings, target, source, options)?;
        let outcome = run::on_gpu(rung, settings, gpu, Some(Effort::Run))?;
        if !outcome.verification.ok() {
            let why = format!(
                "{} wrong elements of C on the GPU",
                outcome.verification.wrong
            );
            return Err(Error::NoPrediction(settings.size, why));
        }
        let name = outcome
            .provenance
            .gpu
            .map_or_else(String::new, |gpu| gpu.name);
        let contestants = outcome.time.as_ref().map(|time| &time.contestants);
        let kernel = contestants.and_then(|contestants| contestants.first());
        prediction.measured = kernel.map(|kernel| Measured::contest(&name, kernel));
        Ok(prediction)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_sm_begins_or_ends_with_the_clusters_that_it_holds() {
        let config = |blocks| LaunchConfig {
            grid: [blocks, 1, 1],
            ..LaunchConfig::default()
        };
        let of = |blocks, resident, sm| {
            ClusterSchedule::new(&config(blocks), resident, 132).of_one_sm(sm)
        };
        assert_eq!(of(528, 2, 0), [0, 132]);
        assert_eq!(of(528, 2, 131), [395, 527]);
        assert_eq!(of(264, 1, 7), [139]);
        assert_eq!(of(176, 2, 131), [131]);
        assert_eq!(of(88, 2, 131), [87]);
    }
}
