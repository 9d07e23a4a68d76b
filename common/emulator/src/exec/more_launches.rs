//! The additional launches of `sanitize`: the same launch once more in another order of warps, and, as long as launches change
//! variables of their module, some more on the values that are left in them.
use std::sync::Arc;

use super::grid::{ClusterOutput, Request, execute};
use super::machine::Machine;
use super::validate_launch::Validated;
use crate::finding::{Finding, FindingKind};
use crate::launch::{Options, Progress};
use crate::memory::{Memory, Writes};

/// How often a launch is repeated on what the one before has left, at most.
const REPEATED: usize = 4;

/// The findings of all, after a launch that wrote `first`. Afterwards the variables in `memory` are as that launch
/// left them.
pub(super) fn rerun(
    request: &Request<'_>,
    validated: &Validated,
    memory: &mut Memory,
    first: &Writes,
) -> Vec<Finding> {
    let mut findings = in_another_order(request, validated, memory, first);
    findings.extend(on_left_values(request, validated, memory, first));
    findings
}

/// The launch in another order of warps, with `try_wait`s that sometimes return false. It watches the allocations of
/// global memory in which races are possible according to the first launch.
fn in_another_order(
    request: &Request<'_>,
    validated: &Validated,
    memory: &Memory,
    first: &Writes,
) -> Vec<Finding> {
    let schedule = request.options.schedule.wrapping_add(1).max(1);
    let shown = request.options.progress.clone();
    let options = Options {
        schedule,
        factors: false,
        snapshot: None,
        lookahead: false,
        progress: shown
            .map(|shown| -> Progress { Arc::new(move |done, all| shown((all + done) / 2, all)) }),
        ..request.options.clone()
    };
    let mut machine = Machine::new(request, validated, memory, &options);
    machine.watched = first.allocations() & (first.reads | first.strong | first.rewritten);
    machine.hesitates = true;
    // A limit that is reached only in another order is not a fault of the kernel.
    let findings = execute(&machine).map_or(Vec::new(), |done| done.findings);
    // A fatal finding may depend on the order, so it records the schedule.
    let seen = findings.into_iter().map(|finding| Finding {
        schedule: finding.is_fatal().then_some(schedule),
        ..finding
    });
    seen.collect()
}

/// Repeats the launch without resetting the module's variables: does it depend on their initial values?
fn on_left_values(
    request: &Request<'_>,
    validated: &Validated,
    memory: &mut Memory,
    first: &Writes,
) -> Option<Finding> {
    let nothing = Writes::default();
    let variables: Vec<usize> = memory.variables().collect();
    let is_changed = |&&variable: &&usize| {
        let difference = first.difference(&nothing, memory, |one| one == variable);
        difference.is_some()
    };
    let changed: Vec<usize> = variables.iter().filter(is_changed).copied().collect();
    first.apply_to(memory, |allocation| variables.contains(&allocation));
    if changed.is_empty() {
        return None;
    }
    let options = Options {
        sanitize: false,
        factors: false,
        snapshot: None,
        lookahead: false,
        progress: None,
        ..request.options.clone()
    };
    let left: Vec<Vec<u8>> = variables
        .iter()
        .map(|&one| memory.data(one).to_vec())
        .collect();
    let consequence = (0..REPEATED).find_map(|_| {
        match execute(&Machine::new(request, validated, memory, &options)) {
            Err(error) => Some(error.to_string()),
            Ok(done) => consequence(done, memory, first),
        }
    });
    for (&variable, bytes) in variables.iter().zip(&left) {
        memory.reset(memory.base(variable), bytes);
    }
    let consequence = consequence?;
    // Of the changed variables, report those with strong accesses, such as counters.
    let counts = |&&variable: &&usize| first.strong >> variable.min(63) & 1 == 1;
    let counting: Vec<usize> = changed.iter().filter(counts).copied().collect();
    let reported = if counting.is_empty() {
        changed
    } else {
        counting
    };
    let variables = reported.into_iter().map(|one| memory.name(one).to_owned());
    let kind = FindingKind::StateLeft {
        variables: variables.collect(),
        consequence,
    };
    Some(Finding::new(kind, request.program.entry()))
}

/// How the result of a launch differs from the first one's, if it does. Afterwards the variables are as it left them.
fn consequence(done: ClusterOutput, memory: &mut Memory, first: &Writes) -> Option<String> {
    if let Some(fault) = done.findings.iter().find(|finding| finding.is_fatal()) {
        return Some(fault.to_string());
    }
    let mut writes = Writes::default();
    done.writes.into_iter().for_each(|part| writes.merge(part));
    let is_buffer = |allocation| !memory.is_variable(allocation);
    let different = first.difference(&writes, memory, is_buffer);
    let variables: Vec<usize> = memory.variables().collect();
    writes.apply_to(memory, |allocation| variables.contains(&allocation));
    let (buffer, offset) = different?;
    let name = memory.name(buffer);
    Some(format!(
        "it writes something else to {name}, at byte {offset}"
    ))
}
