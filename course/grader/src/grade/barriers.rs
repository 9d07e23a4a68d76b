//! Barriers of a block that some of its warps may not reach, and those of a warp.
use emulator::{Instruction, InstructionKind};
use harness::{Launched, Trial};

use super::quote;

/// What is said of the first barrier of all threads that warps have executed, but not all of them equally often. In a persistent
/// kernel, that is right if the blocks have unequal numbers of tiles.
pub fn of_some_warps(trial: &Trial, one: &Launched) -> Option<String> {
    let mut all = trial.instructions().iter().zip(&one.run.counters);
    // Each warp executes the first instruction once.
    let (_, first) = all.clone().next()?;
    let warps = first.executions;
    let (barrier, count) = all.find_map(|(of, counters)| {
        let is_uneven = !counters.executions.is_multiple_of(warps.max(1));
        (is_of_all(of) && is_uneven).then_some((of, counters.executions))
    })?;
    let line = quote::line(trial.source(), barrier)?;
    let [warps, count] = [warps, count].map(harness::thousands);
    Some(format!(
        "perhaps not every warp reaches this barrier: the launch has {warps} warps, which execute it {count} times: {line}"
    ))
}

/// How often a warp waits for its own lanes, at `__syncwarp()`, on average over the launch's warps: where a warp copies for itself, that is
/// its barrier.
pub fn of_own_lanes(trial: &Trial, one: &Launched) -> f64 {
    let all = trial.instructions().iter().zip(&one.run.counters);
    let of_a_warp = all.filter(|(of, _)| matches!(of.kind, InstructionKind::WarpBarrier));
    let executed: u64 = of_a_warp.map(|(_, counters)| counters.executions).sum();
    // Each warp executes the first instruction once.
    let warps = one.run.counters.first().map_or(1, |first| first.executions);
    executed as f64 / warps.max(1) as f64
}

/// Whether it is `__syncthreads()`: `bar.sync 0`.
fn is_of_all(of: &Instruction) -> bool {
    let mut words = of.text.trim_end_matches(';').split_whitespace();
    matches!(of.kind, InstructionKind::Barrier) && words.next_back() == Some("0")
}
