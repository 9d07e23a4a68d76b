//! What a launch's waits for copies leave in flight: for groups of `cp.async`, and for the bytes that an mbarrier expects.
use std::collections::BTreeSet;

use emulator::{CopyLead, Counters, Instruction, InstructionKind};
use harness::{Launched, Trial};

use super::quote;

/// Why a copy by TMA may still be in flight when its bytes are read: nobody told an mbarrier to wait for it.
pub fn of_bulk(instructions: &[Instruction], counters: &[Counters]) -> Option<&'static str> {
    let mut all = instructions.iter().zip(counters);
    let expects = |of: &Instruction| of.opcode.contains("expect_tx");
    let is_expected = all.any(|(of, counters)| expects(of) && counters.executions > 0);
    (!is_expected).then_some(
        "no thread tells an mbarrier in this launch how many bytes to expect (expect_tx): so its phase ends with the arrivals, and \
         nothing waits for the copies",
    )
}

/// Whether any wait for groups of `cp.async` leaves some in flight, as in a ring of stages.
pub fn stay_in_flight(instructions: &[Instruction]) -> bool {
    let mut waits = instructions
        .iter()
        .filter(|of| of.opcode.starts_with("cp.async.wait_group"));
    waits.any(|of| left(of).is_some_and(|groups| groups > 0))
}

/// How many groups a `cp.async.wait_group` leaves in flight.
fn left(wait: &Instruction) -> Option<u64> {
    let digits = wait.text.trim_end_matches(';').rsplit(' ').next()?;
    digits.parse().ok()
}

/// The most waits that are quoted.
const QUOTED: usize = 3;

/// The lines of the kernel that wait for copies, as far as they were executed.
pub fn waits(trial: &Trial, launched: &Launched) -> Vec<String> {
    let counted = trial.instructions().iter().zip(&launched.run.counters);
    let waits = counted.filter(|(of, counters)| {
        let is_wait = match of.kind {
            InstructionKind::AsyncCopyGroup => of.opcode.starts_with("cp.async.wait"),
            InstructionKind::MbarrierWait { .. } => true,
            _ => false,
        };
        is_wait && counters.executions > 0
    });
    let mut lines: Vec<String> = waits
        .filter_map(|(of, _)| quote::line(trial.source(), of))
        .collect();
    let mut quoted = BTreeSet::new();
    lines.retain(|line| quoted.insert(line.clone()));
    lines.truncate(QUOTED);
    lines
}

/// Why a copy may still be in flight when its bytes are read, as far as the number of groups tells.
pub fn of(instructions: &[Instruction], launched: &Launched) -> Option<String> {
    let counters = &launched.run.counters;
    let all = || instructions.iter().zip(counters);
    let executed = |is_it: &dyn Fn(&Instruction) -> bool| -> u64 {
        let found = all().filter(|(of, _)| is_it(of));
        found.map(|(_, counters)| counters.executions).sum()
    };
    let is_group = |of: &Instruction| of.kind == InstructionKind::AsyncCopyGroup;
    let is_commit = |of: &Instruction| is_group(of) && of.opcode.starts_with("cp.async.commit");
    // Of what an mbarrier tracks, groups tell nothing; and where everything is waited for, it is not they that leave a copy in flight.
    let tells_nothing = |of: &Instruction| {
        of.opcode.starts_with("cp.async.mbarrier")
            || of.opcode.starts_with("cp.async.wait_all")
            || of.opcode.starts_with("cp.async.wait_group")
                && of.text.trim_end_matches(';').ends_with(" 0")
    };
    if executed(&tells_nothing) > 0 {
        return None;
    }
    let waits = executed(&|of| is_group(of) && !is_commit(of));
    if waits == 0 {
        return Some("no wait for copies is executed in this launch".into());
    }
    let allowed = all().filter_map(|(of, counters)| {
        let is_it = of.opcode.starts_with("cp.async.wait_group") && counters.executions > 0;
        is_it.then(|| left(of)).flatten()
    });
    let allowed = allowed.max()?;
    let commits = executed(&is_commit);
    if commits == 0 {
        return Some("no group of copies is committed in this launch, and cp.async.wait_group waits for groups".into());
    }
    // Each warp executes the first instruction once.
    let warps = counters.first()?.executions.max(1);
    let (warps, which) = match producers(&launched.run.leads) {
        Some(some) => (some, "a warp that copies"),
        None => (warps, "a warp"),
    };
    if warps == 0 {
        return None;
    }
    (allowed > 0 && commits.is_multiple_of(warps)).then(|| {
        let commits = commits / warps;
        let groups = if commits == 1 { "group" } else { "groups" };
        let left = match allowed < commits {
            true => format!("leaves the last {allowed} of them in flight"),
            false => format!("may leave {allowed} in flight, so it waits for none"),
        };
        format!(
            "{which} commits {commits} {groups} of copies in this launch; cp.async.wait_group {allowed} {left}"
        )
    })
}

/// How many warps only copy, if such warps issue the copies that others multiply.
fn producers(leads: &[CopyLead]) -> Option<u64> {
    let has_producer = leads.iter().any(|lead| lead.of > 0 && lead.issuer_of == 0);
    let idle = leads.iter().filter(|lead| lead.of == 0);
    let warps: BTreeSet<_> = idle.map(|lead| (lead.block, lead.warp)).collect();
    has_producer.then_some(warps.len() as u64)
}
