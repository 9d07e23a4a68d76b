//! A launch over all clusters: in parallel over the CPU's cores where they cannot talk to each other,
//! interleaved on one where they can.
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::check::{Checked, check};
use super::cluster::{Cluster, Turn};
use super::machine::{Machine, dynamic_start};
use super::tally::Tally;
use crate::finding::{Finding, Findings};
use crate::launch::{Launch, LaunchError, Options, Run, Simd};
use crate::lower::SHARED_BASE;
use crate::memory::{Memory, Writes};
use crate::program::Program;
use crate::{Asked, Wait};

/// Limits of an H100 (CUDA C++ Programming Guide, "Compute Capabilities", 9.0).
const SHARED_PER_MULTIPROCESSOR: u32 = 228 << 10;
const THREADS_PER_MULTIPROCESSOR: usize = 2048;
const BLOCKS_PER_MULTIPROCESSOR: usize = 32;
const MULTIPROCESSORS: usize = 132;

/// Instructions that a cluster runs before another one's turn, where they are interleaved.
const TURN: u64 = 1 << 14;

pub(crate) fn run(
    program: &Program,
    memory: &mut Memory,
    launch: &Launch,
    options: &Options<'_>,
) -> Result<Run, LaunchError> {
    let Checked {
        params,
        threads,
        blocks,
        cluster,
    } = check(program, launch, options)?;
    let count = memory.count();
    let mut globals = Vec::new();
    for (name, bytes) in &program.globals {
        match memory.alloc(name, bytes.clone()) {
            Ok(address) => globals.push(address),
            Err(error) => {
                memory.truncate(count);
                return Err(LaunchError::Invalid(error.to_string()));
            }
        }
    }
    let machine = Machine {
        program,
        memory,
        launch,
        options,
        params,
        globals,
        threads,
        warps: threads.div_ceil(32),
        cluster,
        shared_end: SHARED_BASE + dynamic_start(program) + launch.dynamic_shared,
        arch: match options.simd {
            Simd::Auto => pulp::Arch::new(),
            Simd::Scalar => pulp::Arch::Scalar,
        },
    };
    let clusters = blocks / machine.ranks() as u64;
    let outcome = if program.talks {
        interleaved(&machine, clusters)
    } else {
        parallel(&machine, clusters)
    };
    drop(machine);
    let done = match outcome {
        Ok(done) => done,
        Err(error) => {
            memory.truncate(count);
            return Err(error);
        }
    };
    let fatal = done.findings.iter().any(Finding::is_fatal);
    let mut findings = Findings::default();
    done.findings
        .into_iter()
        .for_each(|finding| findings.add(finding));
    for writes in done.writes {
        writes.apply(memory);
    }
    memory.truncate(count);
    // After a fatal fault, how far the other blocks came depends on chance: no counters then.
    let (counters, waits, patterns) = if fatal {
        Default::default()
    } else {
        (
            per_instruction(program, &done.tally),
            waits(program, &done.tally),
            patterns(program, done.tally.asked),
        )
    };
    Ok(Run {
        counters,
        waits,
        patterns,
        findings: findings.take(),
    })
}

struct Outcome {
    tally: Tally,
    findings: Vec<Finding>,
    /// In the order of the clusters.
    writes: Vec<Writes>,
}

/// What the workers share about the bounds of a launch.
struct Budget {
    instructions: AtomicU64,
    written: AtomicU64,
    /// The first cluster that met a fatal fault; later ones need not run.
    fault: AtomicU64,
    done: AtomicU64,
    broken: AtomicU64,
}

impl Budget {
    fn new() -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            instructions: zero(),
            written: zero(),
            fault: AtomicU64::new(u64::MAX),
            done: zero(),
            broken: zero(),
        }
    }
}

fn tally(machine: &Machine<'_>) -> Tally {
    let program = machine.program;
    Tally::new(program.ops.len(), program.slots, machine.options.patterns)
}

/// What some neighbouring clusters did.
struct Part {
    tally: Tally,
    findings: Vec<(u64, Vec<Finding>)>,
    writes: Vec<(u64, Writes)>,
}

fn parallel(machine: &Machine<'_>, clusters: u64) -> Result<Outcome, LaunchError> {
    let budget = Budget::new();
    let limits = machine.options.limits;
    let at_once = (rayon::current_num_threads() as u64).min(clusters);
    if at_once.saturating_mul(Cluster::bytes(machine)) > limits.memory {
        return Err(LaunchError::MemoryLimit(limits.memory));
    }
    let parts: Vec<Part> = (0..clusters)
        .into_par_iter()
        .fold(
            || {
                let part = Part {
                    tally: tally(machine),
                    findings: Vec::new(),
                    writes: Vec::new(),
                };
                (Cluster::new(machine), part)
            },
            |(mut cluster, mut part), number| {
                budget.cluster(machine, number, clusters, &mut cluster, &mut part);
                (cluster, part)
            },
        )
        .map(|(_, part)| part)
        .collect();
    match budget.broken.into_inner() {
        0 => {}
        1 => return Err(LaunchError::InstructionLimit(limits.instructions)),
        _ => return Err(LaunchError::MemoryLimit(limits.memory)),
    }
    let mut outcome = Outcome {
        tally: tally(machine),
        findings: Vec::new(),
        writes: Vec::new(),
    };
    // How far the clusters after a fatal fault came depends on chance: nothing of them is kept.
    let last = budget.fault.into_inner();
    for part in parts {
        outcome.tally.add(&part.tally);
        let writes = part.writes.into_iter();
        let kept = writes.filter(|&(number, _)| number <= last);
        outcome.writes.extend(kept.map(|(_, writes)| writes));
        let findings = part.findings.into_iter();
        let kept = findings.filter(|&(number, _)| number <= last);
        outcome.findings.extend(kept.flat_map(|(_, found)| found));
    }
    Ok(outcome)
}

impl Budget {
    /// Runs one cluster, unless the launch has failed before it.
    fn cluster(
        &self,
        machine: &Machine<'_>,
        number: u64,
        clusters: u64,
        cluster: &mut Cluster,
        part: &mut Part,
    ) {
        let limits = machine.options.limits;
        let failed = || {
            self.broken.load(Ordering::Relaxed) != 0 || self.fault.load(Ordering::Relaxed) < number
        };
        if failed() {
            return;
        }
        let mut writes = Writes::default();
        cluster.reset(machine, number);
        loop {
            let left = limits
                .instructions
                .saturating_sub(self.instructions.load(Ordering::Relaxed));
            let before = cluster.instructions();
            let turn = cluster.run(machine, &mut writes, &mut part.tally, left.min(1 << 22));
            let ran = cluster.instructions() - before;
            if self.instructions.fetch_add(ran, Ordering::Relaxed) + ran > limits.instructions {
                self.broken.fetch_max(1, Ordering::Relaxed);
            }
            if writes.bytes() > limits.memory {
                self.broken.fetch_max(2, Ordering::Relaxed);
            }
            match turn {
                Turn::Unfinished if failed() => return,
                Turn::Unfinished => continue,
                Turn::Done => break,
                Turn::Stuck => cluster.report_deadlock(machine, &mut writes, &mut part.tally),
                Turn::Fatal => {}
            }
            self.fault.fetch_min(number, Ordering::Relaxed);
            break;
        }
        let written = self.written.fetch_add(writes.bytes(), Ordering::Relaxed);
        if written.saturating_add(writes.bytes()) > limits.memory {
            self.broken.fetch_max(2, Ordering::Relaxed);
        }
        part.writes.push((number, writes));
        let findings = cluster.findings();
        if !findings.is_empty() {
            part.findings.push((number, findings));
        }
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(progress) = machine.options.progress {
            let blocks = machine.ranks() as u64;
            progress(done * blocks, clusters * blocks);
        }
    }
}

/// Clusters that may talk to each other: as many at a time as the card holds, in turns.
fn interleaved(machine: &Machine<'_>, all: u64) -> Result<Outcome, LaunchError> {
    // The system takes 1 KiB of shared memory a block.
    let by_shared = SHARED_PER_MULTIPROCESSOR / machine.shared_end;
    let by_threads = THREADS_PER_MULTIPROCESSOR / (machine.warps * 32);
    let resident = MULTIPROCESSORS
        * (by_shared as usize)
            .min(by_threads)
            .clamp(1, BLOCKS_PER_MULTIPROCESSOR);
    let resident = (resident / machine.ranks()).max(1);
    let limits = machine.options.limits;
    let at_once = (resident as u64).min(all);
    let held = at_once.saturating_mul(Cluster::bytes(machine));
    if held > limits.memory {
        return Err(LaunchError::MemoryLimit(limits.memory));
    }
    let mut writes = Writes::default();
    let mut outcome = Outcome {
        tally: tally(machine),
        findings: Vec::new(),
        writes: Vec::new(),
    };
    let mut next = 0;
    let mut clusters: Vec<Cluster> = Vec::new();
    let mut spare: Vec<Cluster> = Vec::new();
    let (mut instructions, mut done) = (0, 0);
    loop {
        while clusters.len() < resident && next < all {
            let mut cluster = spare.pop().unwrap_or_else(|| Cluster::new(machine));
            cluster.reset(machine, next);
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
            let turn = clusters[i].run(machine, &mut writes, &mut outcome.tally, TURN);
            instructions += clusters[i].instructions() - before;
            match turn {
                Turn::Stuck => i += 1,
                Turn::Unfinished => {
                    stuck = false;
                    i += 1;
                }
                Turn::Done => {
                    stuck = false;
                    let mut cluster = clusters.remove(i);
                    outcome.findings.extend(cluster.findings());
                    spare.push(cluster);
                    done += 1;
                    if let Some(progress) = machine.options.progress {
                        let blocks = machine.ranks() as u64;
                        progress(done * blocks, all * blocks);
                    }
                }
                Turn::Fatal => {
                    let all = clusters.iter_mut().flat_map(Cluster::findings);
                    outcome.findings.extend(all);
                    outcome.writes.push(writes);
                    return Ok(outcome);
                }
            }
            if instructions > limits.instructions {
                return Err(LaunchError::InstructionLimit(limits.instructions));
            }
            if writes.bytes().saturating_add(held) > limits.memory {
                return Err(LaunchError::MemoryLimit(limits.memory));
            }
        }
        if stuck && writes.activity == activity {
            clusters[0].report_deadlock(machine, &mut writes, &mut outcome.tally);
            let all = clusters.iter_mut().flat_map(Cluster::findings);
            outcome.findings.extend(all);
            break;
        }
    }
    outcome.writes.push(writes);
    Ok(outcome)
}

/// Counters of operations, added up for the instructions that they came from.
fn per_instruction(program: &Program, tally: &Tally) -> Vec<crate::Counters> {
    let mut counters = vec![crate::Counters::default(); program.instructions.len()];
    for (op, &own) in program.ops.iter().zip(&tally.ops) {
        let mut own = own;
        if !op.first {
            (own.executions, own.threads) = (0, 0);
        }
        counters[op.instruction as usize] += own;
    }
    counters
}

fn waits(program: &Program, tally: &Tally) -> Vec<Wait> {
    let waits = tally.waits.iter();
    waits
        .map(|(&(op, mbarrier), &wait)| Wait {
            instruction: program.ops[op].instruction as usize,
            mbarrier,
            ..wait
        })
        .collect()
}

/// The same, by instruction: several operations may come from one.
fn patterns(program: &Program, asked: Option<BTreeSet<Asked>>) -> Vec<Asked> {
    let of_instruction = |asked: Asked| Asked {
        instruction: program.ops[asked.instruction].instruction as usize,
        ..asked
    };
    let all: BTreeSet<Asked> = asked.into_iter().flatten().map(of_instruction).collect();
    all.into_iter().collect()
}
