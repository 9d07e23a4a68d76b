//! How long a kernel takes by the clock of the emulator, without a GPU.
use std::collections::BTreeMap;

use clock::{Card, Estimate, Launch, Sharing};
use emulator::TraceRequest;

use crate::device::LaunchConfig;
use crate::occupancy::Sm;
use crate::source::machine_code;
use crate::{Error, Host, Result, Rung, Settings, Size, Target, choose};

/// What the clock says of a kernel at a size.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// The rung's name.
    pub rung: String,
    /// The problem.
    pub size: Size,
    /// The part of C that a CTA computes at a time.
    pub tile: String,
    /// The card.
    pub card: Card,
    /// CTAs that an SM holds.
    pub resident: u32,
    /// The machine code's PTX lines and opcodes, by which the estimate's lists are numbered.
    pub code: clock::MachineCode,
    /// Lines of the source by the line of the PTX that each begins at.
    pub sources: BTreeMap<u32, String>,
    /// The estimate.
    pub estimate: Estimate,
    /// The clocks of two steps, whose spans the estimate has.
    pub window: Option<(f64, f64)>,
}

impl Prediction {
    /// What the warps of one SM do in two steps, as SVG; none if they wait for nothing twice.
    pub fn timeline(&self) -> Option<String> {
        Some(clock::timeline(&self.estimate.simulation, self.window?))
    }
}

/// The blocks that the first of `sms` SMs holds, where the scheduler deals clusters out to all SMs in turn.
pub(crate) fn of_one_sm(config: &LaunchConfig, resident: u32, sms: u32) -> TraceRequest {
    let cluster = config.cluster;
    let ranks = cluster.iter().product::<u32>().max(1);
    let counts: [u32; 3] = std::array::from_fn(|dim| config.grid[dim] / cluster[dim].max(1));
    let all = counts
        .iter()
        .map(|&count| u64::from(count))
        .product::<u64>();
    let step = u64::from((sms / ranks).max(1));
    let mut blocks = Vec::new();
    for number in (0..u64::from(resident)).map(|nth| nth * step) {
        if number >= all && number > 0 {
            break;
        }
        let [nx, ny, _] = counts.map(u64::from);
        let at = [number % nx, number / nx % ny, number / nx / ny];
        for rank in 0..ranks {
            let [cx, cy, _] = cluster;
            let within = [rank % cx, rank / cx % cy, rank / cx / cy];
            blocks.push(std::array::from_fn(|dim| {
                at[dim] as u32 * cluster[dim] + within[dim]
            }));
        }
    }
    TraceRequest { blocks, only: true }
}

impl Prediction {
    /// Of the rung's kernel at the size of these settings; with `spans` also what its warps do in two steps.
    ///
    /// # Errors
    /// If the kernel goes wrong on the emulator, or its machine code cannot be had.
    pub fn new(rung: &Rung, settings: &Settings, target: &Target, spans: bool) -> Result<Self> {
        let no = |why: String| Error::NoPrediction(settings.size, why);
        let card = Card::h200().map_err(|error| no(error.to_string()))?;
        let source = choose::source(rung, target, &settings.kernel, settings.size)?;
        let (ptx, arch) = (source.ptx.clone(), source.arch.clone());
        let mut host = Host::new(rung, settings, target, Some(source))?;
        let kernel = host.compile("gemm")?;
        let code = machine_code::assemble(&ptx, kernel.name, &arch)
            .map_err(|error| no(error.to_string()))?;
        let spec = kernel.spec;
        let shared = kernel
            .function
            .static_shared()
            .saturating_add(spec.dynamic_shared);
        let resident = Sm::new((9, 0), 227 * 1024)
            .holds(spec.threads, code.registers, shared)
            .blocks;
        host.trace(resident);
        let finished = host.run()?;
        let report = finished.report.unwrap_or_default();
        if let Some(first) = report.findings.first() {
            return Err(no(first.to_string()));
        }
        let config = finished.launch.config;
        let bytes = |size: Size| 2 * (size.elements().iter().sum::<u64>());
        // Each element of A and B is read by every tile of its row or column.
        let padded = finished.problem.padded;
        let [m, n, k] = [padded.m, padded.n, padded.k].map(f64::from);
        let asked =
            2.0 * m * n * k * (1.0 / f64::from(spec.tile.bm) + 1.0 / f64::from(spec.tile.bn));
        let tiles = m / f64::from(spec.tile.bm) * n / f64::from(spec.tile.bn);
        let waves = (tiles / f64::from(card.sms * resident)).max(1.0);
        let cold = (1.0 + 0.5 * (waves - 1.0)) / waves;
        let sharing = Sharing {
            distinct: (bytes(padded) as f64 / asked).min(1.0),
            cold,
        };
        let launch = Launch {
            card: &card,
            code: &code,
            instructions: kernel.function.instructions(),
            traces: &report.traces,
            blocks: config
                .grid
                .iter()
                .map(|&blocks| u64::from(blocks))
                .product(),
            cluster: config.cluster,
            resident,
            shared_bytes: shared,
            sharing,
            window: None,
        };
        let (estimate, window) = match spans {
            true => launch.estimate_with_spans(),
            false => launch.estimate().map(|estimate| (estimate, None)),
        }
        .map_err(|error| no(error.to_string()))?;
        let sources = kernel.function.instructions().iter();
        let sources =
            sources.filter_map(|one| Some((one.ptx_line, one.source.as_ref()?.to_string())));
        Ok(Self {
            rung: rung.name.to_owned(),
            sources: sources.collect(),
            size: settings.size,
            tile: format!("{}x{}", spec.tile.bm, spec.tile.bn),
            card,
            resident,
            code,
            estimate,
            window,
        })
    }
}
