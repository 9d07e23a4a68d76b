//! The report of a launch, from what its clusters have done.
use std::collections::BTreeSet;

use super::Request;
use crate::exec::never_executed;
use crate::exec::profiler::Profiler;
use crate::finding::{Finding, Severity};
use crate::launch::LaunchReport;
use crate::memory::Memory;
use crate::program::Program;
use crate::{AccessPattern, CopyLead, MatrixFactors, Space, Wait};

/// The report of a launch on `memory`, without what it printed. After a fatal fault there are no counters, because how
/// far the other blocks ran depends on thread timing.
pub(super) fn report(
    request: &Request<'_>,
    memory: &Memory,
    mut findings: Vec<Finding>,
    fatal: bool,
    mut profiler: Profiler,
) -> LaunchReport {
    let &Request {
        program, options, ..
    } = request;
    let mut report = LaunchReport {
        mbarriers: profiler.mbarriers,
        own_loads: profiler.own_loads,
        ..LaunchReport::default()
    };
    if !fatal {
        report.counters = per_instruction(program, &profiler);
        report.waits = waits(program, &profiler);
        report.patterns = patterns(program, profiler.patterns.take());
        (report.factors, report.leads) = observed(&mut profiler);
        if options.sanitize {
            findings.extend(never_executed::notes(program, &report.counters));
        }
    }
    // If only some blocks were to run, for a snapshot, the caller wants the steps that led to the fault.
    let only = options.trace.as_ref().is_some_and(|trace| trace.only);
    let kept = !fatal || (only && options.snapshot.is_some());
    let tracer = profiler.tracer.filter(|_| kept);
    (report.traces, report.snapshot) = tracer.map(|tracer| tracer.finish()).unwrap_or_default();
    let classified = findings.into_iter().map(|mut finding| {
        let instruction = program.instructions.get(finding.location.instruction);
        finding.severity = finding.kind.severity(options, instruction);
        finding.symbol = symbol(&finding, program, memory);
        finding
    });
    (report.findings, report.remarks) =
        classified.partition(|finding| finding.severity == Severity::Error);
    report
}

/// The variable or allocation that a finding is about, and the offset in it.
fn symbol(finding: &Finding, program: &Program, memory: &Memory) -> Option<(String, u64)> {
    let (space, address) = finding.address()?;
    match space {
        Space::Shared | Space::Cluster => {
            let (symbol, offset) = program.shared_symbol(address)?;
            Some((symbol.name.clone(), offset))
        }
        Space::Global | Space::Generic => {
            let (index, offset) = memory.find(address, 1)?;
            Some((memory.name(index).to_owned(), offset as u64))
        }
        Space::Local | Space::Const | Space::Param => None,
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
    if cfg!(target_family = "wasm") {
        return Default::default();
    }
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
