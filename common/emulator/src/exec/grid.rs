//! A launch over all blocks: in parallel over the CPU's cores where blocks cannot talk to each other,
//! interleaved on one where they can.
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use super::cluster::{Cluster, Turn};
use super::machine::{Machine, dynamic_start};
use super::tally::Tally;
use crate::finding::{Finding, Findings};
use crate::launch::{Arg, Launch, LaunchError, Options, Run, Simd};
use crate::lower::SHARED_BASE;
use crate::memory::{Memory, Writes};
use crate::program::{Code, Program};

/// Limits of an H100 (CUDA C++ Programming Guide, "Compute Capabilities", 9.0).
const MAX_THREADS: u64 = 1024;
const MAX_SHARED: u32 = 227 << 10;
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
    let params = check(program, launch, options)?;
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
    let threads: u64 = launch.block.iter().map(|&d| u64::from(d)).product();
    let machine = Machine {
        program,
        memory,
        launch,
        options,
        params,
        globals,
        threads: threads as usize,
        warps: (threads as usize).div_ceil(32),
        shared_end: SHARED_BASE + dynamic_start(program.static_shared) + launch.dynamic_shared,
        arch: match options.simd {
            Simd::Auto => pulp::Arch::new(),
            Simd::Scalar => pulp::Arch::Scalar,
        },
    };
    let blocks: u64 = launch.grid.iter().map(|&d| u64::from(d)).product();
    let outcome = if program.talks {
        interleaved(&machine, blocks)
    } else {
        parallel(&machine, blocks)
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
    let counters = if fatal {
        Vec::new()
    } else {
        per_instruction(program, &done.tally)
    };
    Ok(Run {
        counters,
        findings: findings.take(),
    })
}

struct Outcome {
    tally: Tally,
    findings: Vec<Finding>,
    /// In the order of the blocks.
    writes: Vec<Writes>,
}

/// What the workers share about the bounds of a launch.
struct Budget {
    instructions: AtomicU64,
    written: AtomicU64,
    /// The first block that met a fatal fault; later ones need not run.
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

fn tally(program: &Program) -> Tally {
    let slots = program
        .ops
        .iter()
        .filter(|op| matches!(op.code, Code::Load(_) | Code::Store(_) | Code::Atomic(_)))
        .count();
    Tally::new(program.ops.len(), slots)
}

struct Worker {
    cluster: Cluster,
    tally: Tally,
    findings: Vec<(u64, Vec<Finding>)>,
    writes: Vec<Writes>,
}

fn parallel(machine: &Machine<'_>, blocks: u64) -> Result<Outcome, LaunchError> {
    let budget = Budget::new();
    let limits = machine.options.limits;
    let workers: Vec<Worker> = (0..blocks)
        .into_par_iter()
        .fold(
            || Worker {
                cluster: Cluster::new(machine),
                tally: tally(machine.program),
                findings: Vec::new(),
                writes: Vec::new(),
            },
            |mut worker, block| {
                if budget.broken.load(Ordering::Relaxed) != 0
                    || budget.fault.load(Ordering::Relaxed) < block
                {
                    return worker;
                }
                let mut writes = Writes::default();
                worker.cluster.reset(machine, block);
                loop {
                    let before = worker.cluster.instructions();
                    let turn = worker
                        .cluster
                        .run(machine, &mut writes, &mut worker.tally, 1 << 22);
                    let ran = worker.cluster.instructions() - before;
                    if budget.instructions.fetch_add(ran, Ordering::Relaxed) + ran
                        > limits.instructions
                    {
                        budget.broken.fetch_max(1, Ordering::Relaxed);
                        return worker;
                    }
                    match turn {
                        Turn::Unfinished => continue,
                        Turn::Done => break,
                        Turn::Stuck => {
                            worker
                                .cluster
                                .report_deadlock(machine, &mut writes, &mut worker.tally);
                            budget.fault.fetch_min(block, Ordering::Relaxed);
                            break;
                        }
                        Turn::Fatal => {
                            budget.fault.fetch_min(block, Ordering::Relaxed);
                            break;
                        }
                    }
                }
                if budget.written.fetch_add(writes.bytes(), Ordering::Relaxed) + writes.bytes()
                    > limits.memory
                {
                    budget.broken.fetch_max(2, Ordering::Relaxed);
                }
                worker.writes.push(writes);
                let findings = worker.cluster.findings();
                if !findings.is_empty() {
                    worker.findings.push((block, findings));
                }
                let done = budget.done.fetch_add(1, Ordering::Relaxed) + 1;
                if let Some(progress) = machine.options.progress {
                    progress(done, blocks);
                }
                worker
            },
        )
        .collect();
    match budget.broken.into_inner() {
        1 => return Err(LaunchError::InstructionLimit(limits.instructions)),
        2 => return Err(LaunchError::MemoryLimit(limits.memory)),
        _ => {}
    }
    let mut outcome = Outcome {
        tally: tally(machine.program),
        findings: Vec::new(),
        writes: Vec::new(),
    };
    let last = budget.fault.into_inner();
    for worker in workers {
        outcome.tally.add(&worker.tally);
        outcome.writes.extend(worker.writes);
        let kept = worker
            .findings
            .into_iter()
            .filter(|&(block, _)| block <= last);
        outcome
            .findings
            .extend(kept.flat_map(|(_, findings)| findings));
    }
    Ok(outcome)
}

/// Blocks that may talk to each other: as many at a time as the card holds, in turns.
fn interleaved(machine: &Machine<'_>, blocks: u64) -> Result<Outcome, LaunchError> {
    // The system takes 1 KiB of shared memory a block.
    let by_shared = SHARED_PER_MULTIPROCESSOR / machine.shared_end;
    let by_threads = THREADS_PER_MULTIPROCESSOR / (machine.warps * 32);
    let resident = MULTIPROCESSORS
        * (by_shared as usize)
            .min(by_threads)
            .clamp(1, BLOCKS_PER_MULTIPROCESSOR);
    let limits = machine.options.limits;
    let mut writes = Writes::default();
    let mut outcome = Outcome {
        tally: tally(machine.program),
        findings: Vec::new(),
        writes: Vec::new(),
    };
    let mut next = 0;
    let mut clusters: Vec<Cluster> = Vec::new();
    let mut spare: Vec<Cluster> = Vec::new();
    let (mut instructions, mut done) = (0, 0);
    loop {
        while clusters.len() < resident && next < blocks {
            let mut cluster = spare.pop().unwrap_or_else(|| Cluster::new(machine));
            cluster.reset(machine, next);
            clusters.push(cluster);
            next += 1;
        }
        if clusters.is_empty() {
            break;
        }
        let mut stuck = true;
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
                        progress(done, blocks);
                    }
                }
                Turn::Fatal => {
                    outcome.findings.extend(clusters[i].findings());
                    outcome.writes.push(writes);
                    return Ok(outcome);
                }
            }
            if instructions > limits.instructions {
                return Err(LaunchError::InstructionLimit(limits.instructions));
            }
            if writes.bytes() > limits.memory {
                return Err(LaunchError::MemoryLimit(limits.memory));
            }
        }
        if stuck {
            let cluster = &mut clusters[0];
            cluster.report_deadlock(machine, &mut writes, &mut outcome.tally);
            outcome.findings.extend(cluster.findings());
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

/// Checks the launch and lays out its parameters.
fn check(
    program: &Program,
    launch: &Launch,
    options: &Options<'_>,
) -> Result<Vec<u8>, LaunchError> {
    let invalid = |message: String| Err(LaunchError::Invalid(message));
    let threads: u64 = launch.block.iter().map(|&d| u64::from(d)).product();
    let blocks = launch
        .grid
        .iter()
        .try_fold(1u64, |n, &d| n.checked_mul(u64::from(d)));
    if threads == 0 || threads > MAX_THREADS {
        return invalid(format!(
            "a block of {threads} threads; a GPU takes 1 to {MAX_THREADS}"
        ));
    }
    if let Some(max) = program.max_threads {
        let max: u64 = max.iter().map(|&d| u64::from(d)).product();
        if threads > max {
            return invalid(format!(
                "a block of {threads} threads, but the kernel is compiled for at most {max}; see __launch_bounds__"
            ));
        }
    }
    match blocks {
        Some(0) => return invalid("a grid without blocks".into()),
        Some(n) if n <= options.limits.blocks => {}
        _ => {
            return invalid(format!(
                "a grid of more than {} blocks; raise the limit with --max-blocks",
                options.limits.blocks
            ));
        }
    }
    let shared = dynamic_start(program.static_shared).saturating_add(launch.dynamic_shared);
    if shared > MAX_SHARED {
        return invalid(format!(
            "{shared} bytes of shared memory a block; an H100 has {MAX_SHARED}"
        ));
    }
    if launch.args.len() != program.params.len() {
        return invalid(format!(
            "the kernel takes {} parameters, not {}",
            program.params.len(),
            launch.args.len()
        ));
    }
    let mut params = Vec::new();
    for (param, arg) in program.params.iter().zip(&launch.args) {
        let bytes: &[u8] = match arg {
            Arg::U32(value) => &value.to_le_bytes(),
            Arg::U64(value) => &value.to_le_bytes(),
            Arg::Bytes(bytes) => bytes,
        };
        if bytes.len() != param.bytes as usize {
            return invalid(format!(
                "parameter {} takes {} bytes, not {}",
                param.name,
                param.bytes,
                bytes.len()
            ));
        }
        params.resize(param.offset as usize, 0);
        params.extend_from_slice(bytes);
    }
    Ok(params)
}
