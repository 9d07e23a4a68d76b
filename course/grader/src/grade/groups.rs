//! What a launch's waits for groups of `cp.async` leave in flight.
use emulator::{Counters, Instruction, InstructionKind};

/// Why a copy may still be in flight when its bytes are read, as far as the number of groups tells.
pub fn of(instructions: &[Instruction], counters: &[Counters]) -> Option<String> {
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
        let digits = of.text.trim_end_matches(';').rsplit(' ').next()?;
        is_it.then(|| digits.parse::<u64>().ok()).flatten()
    });
    let allowed = allowed.max()?;
    let commits = executed(&is_commit);
    if commits == 0 {
        return Some("no group of copies is committed in this launch, and cp.async.wait_group waits for groups".into());
    }
    // Each warp executes the first instruction once.
    let warps = counters.first()?.executions.max(1);
    (allowed > 0 && commits.is_multiple_of(warps)).then(|| {
        let commits = commits / warps;
        let groups = if commits == 1 { "group" } else { "groups" };
        let left = match allowed < commits {
            true => format!("leaves the last {allowed} of them in flight"),
            false => format!("may leave {allowed} in flight, so it waits for none"),
        };
        format!(
            "a warp commits {commits} {groups} of copies in this launch; cp.async.wait_group {allowed} {left}"
        )
    })
}
