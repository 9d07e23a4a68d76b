//! Runs all clusters of a launch: in parallel on the CPU's cores until they communicate with each other, and
//! interleaved on one core from then on. Memory is unchanged until the launch ends.
mod interleaved;
mod output;
mod parallel;
mod report;

use std::sync::Arc;

use interleaved::{Begun, interleaved};
pub(super) use output::ClusterOutput;
use parallel::{Budget, Ran, parallel};

use super::global_check::PreviousGrid;
use super::machine::Machine;
use super::more_launches;
use super::occupancy;
use super::validate_launch::validate;
use crate::Error;
use crate::finding::{Finding, Findings};
use crate::launch::{KernelArg, LaunchConfig, LaunchReport, Options, Progress};
use crate::memory::{Memory, Writes};
use crate::program::Program;
use crate::shadow::GlobalShadow;

/// A launch, with the parts of its module that it needs.
pub(crate) struct Request<'a> {
    pub program: &'a Program,
    /// Addresses of the module's `.global` variables.
    pub globals: &'a [u64],
    /// Its constant bank.
    pub constants: &'a [u8],
    pub config: &'a LaunchConfig,
    pub args: &'a [KernelArg<'a>],
    pub options: &'a Options,
    /// The address of a cooperative launch's workspace; 0 for other launches.
    pub workspace: u64,
    /// Accesses that the previous launch may still make, if this one may overlap with it.
    pub previous: PreviousGrid,
}

/// What a launch did, and which allocations it accessed: a bit each, the last of which stands for all later ones.
pub(crate) struct Launched {
    pub report: LaunchReport,
    pub touched: PreviousGrid,
}

/// Runs the whole grid; memory is changed only if that succeeds.
pub(crate) fn run(request: &Request<'_>, memory: &mut Memory) -> Result<Launched, Error> {
    let validated = validate(request)?;
    let options = &request.options;
    let parts = if options.sanitize { 2 } else { 1 };
    let shown = options.progress.clone();
    let options = Options {
        progress: shown
            .map(|shown| -> Progress { Arc::new(move |done, all| shown(done / parts, all)) }),
        ..(*options).clone()
    };
    let mut machine = Machine::new(request, &validated, memory, &options);
    let trace = options.trace.as_ref();
    if trace.is_some_and(|request| request.only && request.control_flow_only) {
        machine.peers = Some(machine.clusters.min(resident(&machine) as u64));
    }
    let done = execute(&machine)?;
    drop(machine);
    let fatal = done.findings.iter().any(Finding::is_fatal);
    let mut findings = Findings::default();
    for finding in done.findings {
        findings.add(finding);
    }
    let mut touched = PreviousGrid::default();
    if options.sanitize {
        let mut writes = Writes::default();
        done.writes.into_iter().for_each(|part| writes.merge(part));
        touched = PreviousGrid {
            reads: writes.reads | writes.strong,
            writes: writes.allocations(),
        };
        if !fatal {
            let more = more_launches::rerun(request, &validated, memory, &writes);
            // If both launches find the same mistake, the first launch's finding is kept.
            more.into_iter()
                .for_each(|finding| findings.add_new(finding));
        }
        writes.apply(memory);
    } else {
        for writes in done.writes {
            writes.apply(memory);
        }
    }
    let printed = done.printed.into_values().flatten().collect();
    let report = LaunchReport {
        printed,
        ..report::report(request, memory, findings.take(), fatal, done.profiler)
    };
    Ok(Launched { report, touched })
}

/// Runs all clusters.
pub(super) fn execute(machine: &Machine<'_>) -> Result<ClusterOutput, Error> {
    let options = machine.options;
    let is_traced = options.trace.is_some() || options.snapshot.is_some();
    if machine.program.communicates && !options.sanitize && !is_traced {
        return in_waves(machine);
    }
    let budget = Budget::new(false);
    match parallel(machine, 0..machine.clusters, &budget)? {
        Ran::Independent(done) => Ok(done),
        Ran::Parked(_) => interleaved(machine, Begun::new(machine)),
    }
}

/// Runs clusters in waves of as many as the card can hold, until the first of them communicate; from then on they and
/// all remaining clusters are interleaved.
fn in_waves(machine: &Machine<'_>) -> Result<ClusterOutput, Error> {
    let (all, wave) = (machine.clusters, resident(machine) as u64);
    let budget = Budget::new(true);
    let mut outcome = ClusterOutput::new(machine);
    let mut next = 0;
    while next < all {
        let these = next..all.min(next.saturating_add(wave));
        next = these.end;
        match parallel(machine, these, &budget)? {
            Ran::Independent(done) => {
                let fatal = done.findings.iter().any(Finding::is_fatal);
                outcome.add(done);
                if fatal {
                    break;
                }
            }
            Ran::Parked(None) => return interleaved(machine, Begun::new(machine)),
            Ran::Parked(Some((done, clusters))) => {
                outcome.add(done);
                let begun = Begun {
                    outcome,
                    clusters,
                    next,
                    instructions: budget.instructions.into_inner(),
                };
                return interleaved(machine, begun);
            }
        }
    }
    Ok(outcome)
}

/// Warp instructions after which a cluster's trace is long enough.
fn enough(machine: &Machine<'_>) -> u64 {
    let request = machine.options.trace.as_ref();
    request.and_then(|request| request.most).unwrap_or(u64::MAX)
}

/// The sanitizer's shadow of global memory.
fn shadow(machine: &Machine<'_>) -> GlobalShadow {
    let memory = machine.options.limits.memory / 2;
    let grain = machine.program.global_grain;
    GlobalShadow::new(machine.watched, grain, machine.warps, memory)
}

/// The number of clusters that the card can hold at a time.
fn resident(machine: &Machine<'_>) -> usize {
    let card = machine.options.card;
    let blocks = occupancy::blocks_per_sm(card, machine.shared_end, machine.threads);
    (blocks as usize * card.sms() as usize / machine.ranks()).max(1)
}

fn report_progress(machine: &Machine<'_>, done: u64, all: u64) {
    if let Some(progress) = &machine.options.progress {
        let blocks = machine.ranks() as u64;
        progress(done * blocks, all * blocks);
    }
}
