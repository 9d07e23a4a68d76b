//! Clusters that run in parallel on the CPU's cores, each on memory as it was before the launch.
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::output::{ClusterOutput, profiler};
use super::{enough, report_progress, shadow};
use crate::exec::cluster::{Cluster, Turn};
use crate::exec::cross_check::CrossCheck;
use crate::exec::machine::Machine;
use crate::exec::profiler::Profiler;
use crate::finding::Finding;
use crate::memory::Writes;
use crate::{Error, Printed};

/// The result of running clusters in parallel.
pub(super) enum Ran<'m> {
    /// None of them communicated with others.
    Independent(ClusterOutput),
    /// Some are about to communicate. Holds what all clusters have done so far, or `None` if it is discarded.
    Parked(Option<(ClusterOutput, Vec<Cluster<'m>>)>),
}

/// Reasons to discard the results of all clusters; 0 means that there is none.
const OUT_OF_INSTRUCTIONS: u64 = 1;
const OUT_OF_MEMORY: u64 = 2;
const COMMUNICATES: u64 = 3;

/// State that the workers share to enforce the limits of a launch.
#[derive(Default)]
pub(super) struct Budget {
    pub instructions: AtomicU64,
    written: AtomicU64,
    /// The first cluster with a fatal fault; later ones need not run.
    fault: AtomicU64,
    done: AtomicU64,
    /// Why the results are discarded, if they are: the largest of the constants below.
    broken: AtomicU64,
    /// Whether the results so far are kept when clusters communicate, so that they can continue from there.
    keeps: bool,
}

impl Budget {
    pub fn new(keeps: bool) -> Self {
        Self {
            keeps,
            fault: AtomicU64::new(u64::MAX),
            ..Self::default()
        }
    }

    /// Runs one cluster, unless the launch has failed before it.
    fn cluster<'m>(
        &self,
        machine: &'m Machine<'m>,
        number: u64,
        crossed: &CrossCheck,
        cluster: &mut Cluster<'m>,
        part: &mut Part<'m>,
    ) {
        let limits = machine.options.limits;
        let failed = || {
            self.broken.load(Ordering::Relaxed) != 0 || self.fault.load(Ordering::Relaxed) < number
        };
        if failed() {
            return;
        }
        let mut writes = Writes::default();
        if machine.watched != 0 {
            writes.accesses = Some(Box::new(shadow(machine)));
        }
        cluster.reset(number);
        if machine.peers.is_none() {
            cluster.park();
        }
        let mut more = enough(machine);
        loop {
            let left = limits
                .instructions
                .saturating_sub(self.instructions.load(Ordering::Relaxed));
            let before = cluster.instructions();
            let budget = left.min(1 << 22).min(more);
            let turn = cluster.run(&mut writes, &mut part.profiler, budget);
            let ran = cluster.instructions() - before;
            more = more.saturating_sub(ran);
            if self.instructions.fetch_add(ran, Ordering::Relaxed) + ran > limits.instructions {
                self.broken
                    .fetch_max(OUT_OF_INSTRUCTIONS, Ordering::Relaxed);
            }
            if writes.bytes() > limits.memory {
                self.broken.fetch_max(OUT_OF_MEMORY, Ordering::Relaxed);
            }
            match turn {
                Turn::Parked if self.keeps => {
                    part.parked
                        .push(std::mem::replace(cluster, Cluster::new(machine)));
                    break;
                }
                Turn::Parked => {
                    self.broken.fetch_max(COMMUNICATES, Ordering::Relaxed);
                    return;
                }
                Turn::Unfinished if failed() => return,
                Turn::Unfinished if more == 0 => break,
                Turn::Unfinished => continue,
                Turn::Done => break,
                Turn::Stuck if cluster.has_patience() => continue,
                Turn::Stuck => cluster.report_deadlock(&mut writes, &mut part.profiler),
                Turn::Fatal => {}
            }
            self.fault.fetch_min(number, Ordering::Relaxed);
            break;
        }
        crossed.add(machine, &writes);
        writes.accesses = None;
        let written = self.written.fetch_add(writes.bytes(), Ordering::Relaxed);
        if written.saturating_add(writes.bytes()) > limits.memory {
            self.broken.fetch_max(OUT_OF_MEMORY, Ordering::Relaxed);
        }
        part.clusters.push(Done {
            number,
            writes,
            findings: cluster.findings(),
            printed: cluster.printed(),
        });
        if part.parked.last().is_none_or(|one| one.number != number) {
            let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
            report_progress(machine, done, machine.clusters);
        }
    }
}

/// The results of a range of clusters.
struct Part<'m> {
    profiler: Profiler,
    clusters: Vec<Done>,
    /// Clusters of the range that are to continue.
    parked: Vec<Cluster<'m>>,
}

/// The results of a cluster.
struct Done {
    number: u64,
    writes: Writes,
    findings: Vec<Finding>,
    printed: Vec<Printed>,
}

/// Runs each cluster on memory as it was before the launch.
pub(super) fn parallel<'m>(
    machine: &'m Machine<'m>,
    clusters: Range<u64>,
    budget: &Budget,
) -> Result<Ran<'m>, Error> {
    let crossed = CrossCheck::default();
    let limits = machine.options.limits;
    let at_once = workers().min(clusters.end - clusters.start);
    if at_once.saturating_mul(Cluster::bytes(machine)) > limits.memory {
        return Err(limits.out_of_memory());
    }
    let new = || {
        let part = Part {
            profiler: profiler(machine),
            clusters: Vec::new(),
            parked: Vec::new(),
        };
        (Cluster::new(machine), part)
    };
    let parts = folded(
        sampled(machine, clusters),
        new,
        |(mut cluster, mut part), number| {
            budget.cluster(machine, number, &crossed, &mut cluster, &mut part);
            (cluster, part)
        },
    );
    let last = budget.fault.load(Ordering::Relaxed);
    match budget.broken.load(Ordering::Relaxed) {
        0 => {}
        OUT_OF_INSTRUCTIONS => return Err(limits.out_of_instructions()),
        OUT_OF_MEMORY => return Err(limits.out_of_memory()),
        _ => return Ok(Ran::Parked(None)),
    }
    let mut outcome = ClusterOutput::new(machine);
    let mut parked = Vec::new();
    // How far the clusters after a fatal fault ran depends on thread timing, so their results are discarded.
    for (_, part) in parts {
        outcome.profiler.add(part.profiler);
        parked.extend(part.parked.into_iter().filter(|one| one.number <= last));
        for done in part.clusters.into_iter().filter(|one| one.number <= last) {
            outcome.writes.push(done.writes);
            outcome.findings.extend(done.findings);
            outcome.print(done.number, done.printed);
        }
    }
    if last == u64::MAX {
        outcome.findings.extend(crossed.findings(machine));
    }
    Ok(match (parked.is_empty(), last) {
        (true, _) => Ran::Independent(outcome),
        (false, u64::MAX) => Ran::Parked(Some((outcome, parked))),
        (false, _) => Ran::Parked(None),
    })
}

/// Folds parts of the items in parallel, each from a new state.
#[cfg(not(target_family = "wasm"))]
fn folded<T: Send>(
    items: Vec<u64>,
    new: impl Fn() -> T + Send + Sync,
    fold: impl Fn(T, u64) -> T + Send + Sync,
) -> Vec<T> {
    use rayon::prelude::*;
    items.into_par_iter().fold(new, fold).collect()
}

/// WebAssembly has no threads.
#[cfg(target_family = "wasm")]
fn folded<T>(items: Vec<u64>, new: impl Fn() -> T, fold: impl Fn(T, u64) -> T) -> Vec<T> {
    vec![items.into_iter().fold(new(), fold)]
}

/// How many clusters run at the same time.
fn workers() -> u64 {
    #[cfg(not(target_family = "wasm"))]
    return rayon::current_num_threads() as u64;
    #[cfg(target_family = "wasm")]
    1
}

/// The clusters to run: all, or those of the traced blocks only.
fn sampled(machine: &Machine<'_>, clusters: Range<u64>) -> Vec<u64> {
    match &machine.options.trace {
        Some(request) if request.only => {
            let of = |&block: &[u32; 3]| machine.cluster_of(block);
            let chosen: BTreeSet<u64> = request.blocks.iter().map(of).collect();
            chosen
                .into_iter()
                .filter(|one| clusters.contains(one))
                .collect()
        }
        _ => clusters.collect(),
    }
}
