//! Extrapolates a launch of any number of waves from the CTAs of one SM.
use std::collections::BTreeMap;
use std::sync::Arc;

use emulator::{Instruction, WarpTrace};

use crate::card::Card;
use crate::listed::Listed;
use crate::machine_code::MachineCode;
use crate::path::{Step, Walk, is_indirect};
use crate::sharing::Sharing;
use crate::shorten;
use crate::simulate::{Job, Program, Simulation, SimulationError, simulate};

/// Warp steps above which loops are shortened. This many are simulated in about a second.
const LONG: f64 = 2e6;
/// Iterations of a long loop that two simulations keep; their difference gives the time of the iterations left out.
const ROUNDS: [usize; 2] = [48, 96];

/// A launch, as the model needs it.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// The card.
    pub card: &'a Card,
    /// ptxas's machine code, or that of `listed`.
    pub code: &'a MachineCode,
    /// The list-scheduled PTX, in place of ptxas's machine code.
    pub listed: Option<&'a Listed>,
    /// The kernel's PTX, as [`emulator::Function::instructions`] lists it.
    pub instructions: &'a [Instruction],
    /// What the warps of the traced clusters executed.
    pub traces: &'a [WarpTrace],
    /// CTAs of the grid.
    pub blocks: u64,
    /// CTAs of a cluster in x, y and z.
    pub cluster: [u32; 3],
    /// CTAs resident on an SM.
    pub resident: u32,
    /// Bytes of shared memory that a CTA takes.
    pub shared_bytes: u32,
    /// How the CTAs of the launch share the memory system.
    pub sharing: Sharing,
    /// Record what warps do between these clocks.
    pub window: Option<(f64, f64)>,
}

/// The predicted time of a launch.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// Clocks from the start of the launch to its end.
    pub clocks: f64,
    /// Clusters that the busiest SM runs, consecutively or side by side.
    pub clusters: u64,
    /// How many of them were simulated.
    pub simulated: u64,
    /// Trace anchors without a machine instruction, and all trace anchors.
    pub unmatched: (usize, usize),
    /// The simulation that the prediction is extrapolated from.
    pub simulation: Simulation,
}

/// Why there is no estimate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// The machine code was not compiled from this PTX.
    #[error(
        "of {all} instructions of the trace {unmatched} have no machine instruction: the machine code is of another kernel"
    )]
    Unmatched {
        /// Trace instructions without a machine instruction.
        unmatched: usize,
        /// All trace instructions that were looked up.
        all: usize,
    },
    /// An indirect call or branch, whose target is in a register.
    #[error(
        "the machine code has an indirect call or branch ({opcode}), which the clock does not follow: call the function by its name, \
         or write `if` in place of `switch`"
    )]
    Indirect {
        /// The instruction's opcode.
        opcode: String,
    },
    /// The simulation got stuck.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
}

impl Estimate {
    /// The start and end of two loop iterations from the middle of the first CTA's life, in clocks from the start of
    /// the simulation. None if its warps never wait for each other or for copies.
    pub fn two_steps(&self) -> Option<(f64, f64)> {
        let steps = &self.simulation.steps;
        let middle = steps.len() / 2;
        let (&from, &to) = (steps.get(middle)?, steps.get(middle + 2)?);
        Some((from, to))
    }
}

impl Launch<'_> {
    /// The prediction with spans recorded for two loop iterations, and their start and end; no spans if there are no
    /// such iterations.
    ///
    /// # Errors
    /// As [`Self::estimate`].
    pub fn estimate_with_spans(&self) -> Result<(Estimate, Option<(f64, f64)>), LaunchError> {
        let estimate = self.estimate()?;
        let Some(window) = estimate.two_steps() else {
            return Ok((estimate, None));
        };
        let watched = Self {
            window: Some(window),
            ..*self
        };
        Ok((watched.estimate()?, Some(window)))
    }

    /// Predicts the launch: simulates a few clusters and assumes that the rest run at their steady-state rate.
    ///
    /// # Errors
    /// If the machine code does not fit the traces, or the simulation gets stuck.
    pub fn estimate(&self) -> Result<Estimate, LaunchError> {
        let walk = Walk::new(self.code, self.instructions);
        let (mut unmatched, mut all) = (0, 0);
        let mut clusters: BTreeMap<[u32; 3], BTreeMap<u32, BTreeMap<u32, Program<'_>>>> =
            BTreeMap::new();
        let mut paths: Vec<(&WarpTrace, Arc<[Step]>, usize)> = Vec::new();
        for trace in self.traces {
            let known = (paths.iter()).find(|(other, ..)| have_same_path(trace, other));
            let (steps, missed) = match known {
                Some((_, steps, missed)) => (steps.clone(), *missed),
                None => {
                    let (steps, missed) = match self.listed {
                        Some(listed) => (listed.steps(trace), 0),
                        None => walk.of(trace),
                    };
                    let executed = steps.iter().map(|step| step.instruction as usize);
                    let mut executed = executed.filter_map(|at| self.code.instructions.get(at));
                    if let Some(one) =
                        executed.find(|one| self.listed.is_none() && is_indirect(one))
                    {
                        let opcode = one.opcode.clone();
                        return Err(LaunchError::Indirect { opcode });
                    }
                    let steps: Arc<[Step]> = steps.into();
                    paths.push((trace, steps.clone(), missed));
                    (steps, missed)
                }
            };
            unmatched += missed;
            all += trace.events.len();
            let cluster = std::array::from_fn(|dim| trace.block[dim] / self.cluster[dim].max(1));
            let ranks = clusters.entry(cluster).or_default();
            let warps = ranks.entry(trace.rank).or_default();
            warps.insert(trace.warp, Program::new(steps, trace));
        }
        if unmatched * 4 > all {
            return Err(LaunchError::Unmatched { unmatched, all });
        }
        let ranks = u64::from(self.cluster.iter().product::<u32>().max(1));
        let groups = (u64::from(self.card.sms) / ranks).max(1);
        let count = (self.blocks / ranks).div_ceil(groups).max(1);
        let resident = self.resident.max(1);
        let simulated = count.min(3 * u64::from(resident));
        let clusters: Vec<Vec<Vec<Program<'_>>>> = (clusters.into_values())
            .map(|ranks| {
                let ctas = ranks.into_values();
                ctas.map(|warps| warps.into_values().collect()).collect()
            })
            .collect();
        let programs = clusters.iter().flatten().flatten();
        let steps: usize = programs.map(|one| one.steps.len()).sum();
        let repeated = simulated as f64 / clusters.len().max(1) as f64;
        let long = steps as f64 * repeated > LONG;
        let paths: Vec<Arc<[Step]>> = paths.into_iter().map(|(_, steps, _)| steps).collect();
        let found = match long && !shorten::counts_phases(self.traces) {
            true => shorten::find(self.code, &paths, 2 * ROUNDS[1]),
            false => None,
        };
        let job = |clusters| Job {
            clusters,
            resident,
            count: simulated,
            shared_bytes: self.shared_bytes,
            sharing: self.sharing,
            window: self.window,
        };
        let run = |clusters| -> Result<(f64, Simulation), SimulationError> {
            let simulation = simulate(self.card, self.code, &job(clusters))?;
            let mut ends = simulation.ends.clone();
            ends.sort_by(f64::total_cmp);
            let last = ends.last().copied().unwrap_or(0.0);
            let first = ends.get(resident as usize - 1).copied().unwrap_or(last);
            let steady = match simulated.checked_sub(resident.into()) {
                Some(rest @ 1..) => (last - first) / rest as f64,
                _ => last / resident as f64,
            };
            Ok((last + steady * (count - simulated) as f64, simulation))
        };
        let (clocks, simulation) = match found {
            None => run(clusters)?,
            Some(found) => {
                let cut = |keep| shortened(&clusters, &paths, found, keep);
                let [few, more] = ROUNDS;
                let (with_few, with_more) = both(|| run(cut(few)), || run(cut(more)));
                let ((short, _), (clocks, simulation)) = (with_few?, with_more?);
                let round = (clocks - short) / (more - few) as f64;
                (clocks + round * (found.rounds - more) as f64, simulation)
            }
        };
        let clocks = self.card.latency.launch + self.card.latency.cold + clocks;
        Ok(Estimate {
            clocks,
            clusters: count,
            simulated,
            unmatched: (unmatched, all),
            simulation,
        })
    }
}

/// The results of both, in parallel where there are threads.
fn both<A: Send, B: Send>(
    first: impl FnOnce() -> A + Send,
    second: impl FnOnce() -> B + Send,
) -> (A, B) {
    #[cfg(not(target_family = "wasm"))]
    return rayon::join(first, second);
    #[cfg(target_family = "wasm")]
    (first(), second())
}

/// Whether two warps executed the same instructions in the same order.
fn have_same_path(one: &WarpTrace, other: &WarpTrace) -> bool {
    one.events.len() == other.events.len()
        && (one.events.iter().zip(&other.events)).all(|(a, b)| a.instruction == b.instruction)
}

/// The same clusters, with this many iterations of the loop kept in each of the paths that their warps share.
fn shortened<'a>(
    clusters: &[Vec<Vec<Program<'a>>>],
    paths: &[Arc<[Step]>],
    of: shorten::Loop,
    keep: usize,
) -> Vec<Vec<Vec<Program<'a>>>> {
    let cut: Vec<Arc<[Step]>> = paths.iter().map(|path| of.cut(path, keep).into()).collect();
    let program = |one: &Program<'a>| {
        let mut both = paths.iter().zip(&cut);
        let own = both.find(|(path, _)| Arc::ptr_eq(path, &one.steps));
        one.with_steps(own.map_or_else(|| one.steps.clone(), |(_, short)| short.clone()))
    };
    let ctas = |warps: &Vec<_>| warps.iter().map(program).collect();
    let ranks = |ctas_of: &Vec<Vec<_>>| ctas_of.iter().map(ctas).collect();
    clusters.iter().map(ranks).collect()
}
