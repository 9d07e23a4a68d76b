//! Runs all clusters of a launch: in parallel on the CPU's cores until they communicate with each other, and
//! interleaved on one core from then on. Memory is unchanged until the launch ends.
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::cluster::{Cluster, Turn};
use super::cross_check::CrossCheck;
use super::global_check::PreviousGrid;
use super::machine::{Machine, dynamic_start};
use super::never_executed;
use super::occupancy;
use super::profiler::Profiler;
use super::rehearse;
use super::validate_launch::{Validated, validate};
use crate::finding::{Finding, Findings, Severity};
use crate::launch::{KernelArg, LaunchConfig, LaunchReport, Options, Progress, Simd};
use crate::lower::SHARED_BASE;
use crate::memory::{Memory, Writes};
use crate::program::Program;
use crate::shadow::GlobalShadow;
use crate::{AccessPattern, CopyLead, Error, MatrixFactors, Printed, Space, Wait};

/// Local memory of a thread (CUDA C++ Programming Guide, "Compute Capabilities").
const MAX_STACK: u64 = 512 << 10;

/// Instructions that an interleaved cluster runs before the next one's turn.
const TURN: u64 = 1 << 14;

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
    let &Request {
        program, options, ..
    } = request;
    let shown = options.progress.clone();
    let parts = if options.sanitize { 2 } else { 1 };
    let options = Options {
        progress: shown
            .map(|shown| -> Progress { Arc::new(move |done, all| shown(done / parts, all)) }),
        ..options.clone()
    };
    let mut machine = machine(request, &validated, memory, &options);
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
            let more = rehearse::rerun(request, &validated, memory, &writes);
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
    // After a fatal fault there are no counters, because how far the other blocks ran depends on thread timing.
    let mut profiler = done.profiler;
    let (factors, leads) = match fatal {
        true => Default::default(),
        false => observed(&mut profiler),
    };
    let (counters, waits, patterns) = if fatal {
        Default::default()
    } else {
        (
            per_instruction(program, &profiler),
            waits(program, &profiler),
            patterns(program, std::mem::take(&mut profiler.patterns)),
        )
    };
    // Of what was looked into, alone, the way to the fault is what is wanted.
    let alone = options.trace.as_ref().is_some_and(|trace| trace.only);
    let kept = !fatal || (alone && options.snapshot.is_some());
    let tracer = profiler.tracer.filter(|_| kept);
    let (traces, snapshot) = tracer.map(|tracer| tracer.finish()).unwrap_or_default();
    let grade = |mut finding: Finding| {
        let instruction = program.instructions.get(finding.location.instruction);
        finding.severity = finding.kind.severity(&options, instruction);
        finding.symbol = symbol(&finding, program, memory);
        finding
    };
    let mut all = findings.take();
    if options.sanitize && !fatal {
        all.extend(never_executed::notes(program, &counters));
    }
    let all = all.into_iter().map(grade);
    let (findings, remarks) = all.partition(|finding| finding.severity == Severity::Error);
    let report = LaunchReport {
        counters,
        waits,
        patterns,
        traces,
        snapshot,
        factors,
        leads,
        mbarriers: profiler.mbarriers,
        findings,
        remarks,
        printed: done.printed.into_values().flatten().collect(),
    };
    Ok(Launched { report, touched })
}

/// The variable or allocation that a finding is about, and the offset in it.
fn symbol(finding: &Finding, program: &Program, memory: &Memory) -> Option<(String, u64)> {
    let (space, address) = finding.address()?;
    match space {
        Space::Shared | Space::Cluster => {
            let (name, offset) = program.shared_symbol(address)?;
            Some((name.to_owned(), offset))
        }
        Space::Global | Space::Generic => {
            let (index, offset) = memory.find(address, 1)?;
            Some((memory.name(index).to_owned(), offset as u64))
        }
        Space::Local | Space::Const | Space::Param => None,
    }
}

/// Prepares the launch on the current memory with these options.
pub(super) fn machine<'a>(
    request: &Request<'a>,
    validated: &Validated,
    memory: &'a Memory,
    options: &'a Options,
) -> Machine<'a> {
    let program = request.program;
    Machine {
        program,
        memory,
        launch: request.config,
        options,
        params: validated.params.clone(),
        globals: request.globals,
        constants: request.constants,
        threads: validated.threads,
        warps: validated.threads.div_ceil(32),
        cluster: validated.cluster,
        clusters: validated.blocks
            / validated
                .cluster
                .iter()
                .map(|&d| u64::from(d))
                .product::<u64>(),
        local: match program.functions.is_empty() {
            true => program.local_bytes,
            false => program.local_bytes + options.limits.stack.min(MAX_STACK) as u32,
        },
        workspace: request.workspace,
        shared_end: SHARED_BASE + dynamic_start(program) + request.config.dynamic_shared,
        previous: request.previous,
        watched: 0,
        hesitates: false,
        peers: None,
        arch: match options.simd {
            Simd::Auto => pulp::Arch::new(),
            Simd::Scalar => pulp::Arch::Scalar,
        },
    }
}

/// Runs all clusters.
pub(super) fn execute(machine: &Machine<'_>) -> Result<WorkerOutput, Error> {
    let options = machine.options;
    let is_traced = options.trace.is_some() || options.snapshot.is_some();
    if machine.program.communicates && !options.sanitize && !is_traced {
        return in_waves(machine);
    }
    let budget = Budget::new(false);
    match parallel(machine, 0..machine.clusters, &budget)? {
        Ran::Apart(done) => Ok(done),
        Ran::Parked(_) => interleaved(machine, Begun::new(machine)),
    }
}

/// Runs clusters in waves of as many as the card can hold, until the first of them communicate; from then on they and
/// all remaining clusters are interleaved.
fn in_waves(machine: &Machine<'_>) -> Result<WorkerOutput, Error> {
    let (all, wave) = (machine.clusters, resident(machine) as u64);
    let budget = Budget::new(true);
    let mut outcome = WorkerOutput::new(machine);
    let mut next = 0;
    while next < all {
        let these = next..all.min(next.saturating_add(wave));
        next = these.end;
        match parallel(machine, these, &budget)? {
            Ran::Apart(done) => {
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

/// The result of running clusters in parallel.
enum Ran<'m> {
    /// `None` of them communicated with others.
    Apart(WorkerOutput),
    /// Some are about to communicate. Holds what all clusters have done so far, or `None` if it is discarded.
    Parked(Option<(WorkerOutput, Vec<Cluster<'m>>)>),
}

/// A launch of which some clusters have run.
struct Begun<'m> {
    outcome: WorkerOutput,
    /// Clusters that have not ended.
    clusters: Vec<Cluster<'m>>,
    /// The first cluster that has not begun.
    next: u64,
    instructions: u64,
}

impl Begun<'_> {
    fn new(machine: &Machine<'_>) -> Self {
        Self {
            outcome: WorkerOutput::new(machine),
            clusters: Vec::new(),
            next: 0,
            instructions: 0,
        }
    }
}

pub(super) struct WorkerOutput {
    profiler: Profiler,
    pub findings: Vec<Finding>,
    /// In the order of the clusters.
    pub writes: Vec<Writes>,
    /// By the number of the cluster.
    printed: BTreeMap<u64, Vec<Printed>>,
}

impl WorkerOutput {
    fn new(machine: &Machine<'_>) -> Self {
        Self {
            profiler: profiler(machine),
            findings: Vec::new(),
            writes: Vec::new(),
            printed: BTreeMap::new(),
        }
    }
}

impl WorkerOutput {
    /// Adds the results of later clusters.
    fn add(&mut self, other: Self) {
        self.profiler.add(other.profiler);
        self.findings.extend(other.findings);
        self.writes.extend(other.writes);
        self.printed.extend(other.printed);
    }

    /// Stores the output of a cluster; most print nothing.
    fn print(&mut self, cluster: u64, printed: Vec<Printed>) {
        if !printed.is_empty() {
            self.printed.insert(cluster, printed);
        }
    }
}

/// State that the workers share to enforce the limits of a launch.
#[derive(Default)]
struct Budget {
    instructions: AtomicU64,
    written: AtomicU64,
    /// The first cluster with a fatal fault; later ones need not run.
    fault: AtomicU64,
    done: AtomicU64,
    /// Why the results are discarded: too many instructions, too much memory, or clusters that communicate with each
    /// other.
    broken: AtomicU64,
    /// Whether the results so far are kept when clusters communicate, so that they can continue from there.
    keeps: bool,
}

impl Budget {
    fn new(keeps: bool) -> Self {
        Self {
            keeps,
            fault: AtomicU64::new(u64::MAX),
            ..Self::default()
        }
    }
}

fn profiler(machine: &Machine<'_>) -> Profiler {
    let program = machine.program;
    Profiler::new(program.ops.len(), program.slots, machine.options)
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
fn parallel<'m>(
    machine: &'m Machine<'m>,
    clusters: Range<u64>,
    budget: &Budget,
) -> Result<Ran<'m>, Error> {
    let crossed = CrossCheck::default();
    let limits = machine.options.limits;
    let at_once = (rayon::current_num_threads() as u64).min(clusters.end - clusters.start);
    if at_once.saturating_mul(Cluster::bytes(machine)) > limits.memory {
        return Err(limits.out_of_memory());
    }
    let parts: Vec<Part<'m>> = sampled(machine, clusters)
        .into_par_iter()
        .fold(
            || {
                let part = Part {
                    profiler: profiler(machine),
                    clusters: Vec::new(),
                    parked: Vec::new(),
                };
                (Cluster::new(machine), part)
            },
            |(mut cluster, mut part), number| {
                budget.cluster(machine, number, &crossed, &mut cluster, &mut part);
                (cluster, part)
            },
        )
        .map(|(_, part)| part)
        .collect();
    let last = budget.fault.load(Ordering::Relaxed);
    match budget.broken.load(Ordering::Relaxed) {
        0 => {}
        1 => return Err(limits.out_of_instructions()),
        2 => return Err(limits.out_of_memory()),
        _ => return Ok(Ran::Parked(None)),
    }
    let mut outcome = WorkerOutput::new(machine);
    let mut parked = Vec::new();
    // How far the clusters after a fatal fault ran depends on thread timing, so their results are discarded.
    for part in parts {
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
        (true, _) => Ran::Apart(outcome),
        (false, u64::MAX) => Ran::Parked(Some((outcome, parked))),
        (false, _) => Ran::Parked(None),
    })
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

/// Warp instructions after which a cluster's trace is long enough.
fn enough(machine: &Machine<'_>) -> u64 {
    let request = machine.options.trace.as_ref();
    request.and_then(|request| request.most).unwrap_or(u64::MAX)
}

impl Budget {
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
                self.broken.fetch_max(1, Ordering::Relaxed);
            }
            if writes.bytes() > limits.memory {
                self.broken.fetch_max(2, Ordering::Relaxed);
            }
            match turn {
                Turn::Parked if self.keeps => {
                    part.parked
                        .push(std::mem::replace(cluster, Cluster::new(machine)));
                    break;
                }
                Turn::Parked => {
                    self.broken.fetch_max(3, Ordering::Relaxed);
                    return;
                }
                Turn::Unfinished if failed() => return,
                Turn::Unfinished if more == 0 => break,
                Turn::Unfinished => continue,
                Turn::Done => break,
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
            self.broken.fetch_max(2, Ordering::Relaxed);
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

/// Runs clusters that may communicate with each other interleaved, as many at a time as the card can hold.
fn interleaved<'m>(machine: &'m Machine<'m>, begun: Begun<'m>) -> Result<WorkerOutput, Error> {
    let (all, resident) = (machine.clusters, resident(machine));
    let limits = machine.options.limits;
    let at_once = (resident as u64).min(all);
    let held = at_once.saturating_mul(Cluster::bytes(machine));
    if held > limits.memory {
        return Err(limits.out_of_memory());
    }
    let Begun {
        mut outcome,
        mut clusters,
        mut next,
        mut instructions,
    } = begun;
    let mut writes = Writes::default();
    if machine.options.sanitize {
        writes.accesses = Some(Box::new(shadow(machine)));
    }
    // Apply the results so far.
    outcome.writes.drain(..).for_each(|one| writes.merge(one));
    clusters.iter_mut().for_each(Cluster::resume);
    let (mut done, mut spare) = (next - clusters.len() as u64, Vec::new());
    // The last block to arrive at a grid barrier must not reach the next one before the others have left this one: its
    // accesses in between would be ordered before theirs.
    let budget = if machine.hesitates { 1 } else { TURN };
    'launch: loop {
        while clusters.len() < resident && next < all {
            let mut cluster = spare.pop().unwrap_or_else(|| Cluster::new(machine));
            cluster.reset(next);
            clusters.push(cluster);
            next += 1;
        }
        if clusters.is_empty() {
            break;
        }
        let (mut stuck, activity) = (true, writes.activity);
        let mut i = 0;
        while i < clusters.len() {
            let before = clusters[i].instructions();
            let turn = clusters[i].run(&mut writes, &mut outcome.profiler, budget);
            instructions += clusters[i].instructions() - before;
            match turn {
                Turn::Stuck => i += 1,
                Turn::Unfinished | Turn::Parked => {
                    stuck = false;
                    i += 1;
                }
                Turn::Done => {
                    stuck = false;
                    let mut cluster = clusters.remove(i);
                    outcome.findings.extend(cluster.findings());
                    outcome.print(cluster.number, cluster.printed());
                    spare.push(cluster);
                    done += 1;
                    report_progress(machine, done, all);
                }
                Turn::Fatal => break 'launch,
            }
            if instructions > limits.instructions {
                return Err(limits.out_of_instructions());
            }
            if writes.bytes().saturating_add(held) > limits.memory {
                return Err(limits.out_of_memory());
            }
        }
        if instructions >= enough(machine).saturating_mul(at_once) {
            break;
        }
        if stuck && writes.activity == activity {
            clusters[0].report_deadlock(&mut writes, &mut outcome.profiler);
            break;
        }
    }
    // Collect the findings of clusters stopped by a fault or a deadlock.
    for cluster in &mut clusters {
        outcome.findings.extend(cluster.findings());
        outcome.print(cluster.number, cluster.printed());
    }
    outcome.writes.push(writes);
    Ok(outcome)
}

fn report_progress(machine: &Machine<'_>, done: u64, all: u64) {
    if let Some(progress) = &machine.options.progress {
        let blocks = machine.ranks() as u64;
        progress(done * blocks, all * blocks);
    }
}

/// Counters of operations, summed for the instructions that they were lowered from.
fn per_instruction(program: &Program, profiler: &Profiler) -> Vec<crate::Counters> {
    let mut counters = vec![crate::Counters::default(); program.instructions.len()];
    for (op, &own) in program.ops.iter().zip(&profiler.ops) {
        let mut own = own;
        if !op.first {
            (own.executions, own.threads) = (0, 0);
        }
        counters[op.instruction as usize] += own;
    }
    counters
}

fn waits(program: &Program, profiler: &Profiler) -> Vec<Wait> {
    let waits = profiler.waits.iter();
    waits
        .map(|(&(op, mbarrier), &wait)| Wait {
            instruction: program.ops[op].instruction as usize,
            mbarrier,
            ..wait
        })
        .collect()
}

/// Sorted by block and warp, because blocks end in any order.
fn observed(profiler: &mut Profiler) -> (Vec<MatrixFactors>, Vec<CopyLead>) {
    let mut factors = profiler.factors.take().unwrap_or_default();
    factors.sort_by_key(|one| (linear(one.block), one.warp));
    let mut leads = std::mem::take(&mut profiler.leads);
    leads.sort_by_key(|one| (linear(one.block), one.warp, one.at));
    (factors, leads)
}

fn linear([x, y, z]: [u32; 3]) -> [u32; 3] {
    [z, y, x]
}

/// The patterns by instruction: several operations may come from one.
fn patterns(program: &Program, patterns: Option<BTreeSet<AccessPattern>>) -> Vec<AccessPattern> {
    let of_instruction = |pattern: AccessPattern| AccessPattern {
        instruction: program.ops[pattern.instruction].instruction as usize,
        ..pattern
    };
    let all: BTreeSet<AccessPattern> = patterns.into_iter().flatten().map(of_instruction).collect();
    all.into_iter().collect()
}
