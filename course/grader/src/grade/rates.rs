//! How often a launch executes barriers, waits and fences, compared with smaller launches of the same tile.
use emulator::InstructionKind;
use harness::Launched;

use super::launches::LaunchResults;
use super::plan::PlannedLaunch;
use super::rubric::Rubric;

/// How much the rate of an instruction may differ from the expected one, relative to that.
const SLACK: f64 = 0.02;

/// Whether a barrier, wait or fence is executed more or less often than the launches with the next smaller and the next larger number of
/// steps suggest. `None` if there are none.
pub fn differ(
    all: &LaunchResults,
    (launch, many): (&PlannedLaunch, &Launched),
    same: &[&(&PlannedLaunch, Launched)],
) -> Option<bool> {
    let steps = |launch: &PlannedLaunch| launch.tiles(all.rubric)[2];
    let of = steps(launch);
    let below = same.iter().filter(|(other, _)| steps(other) <= of);
    let below = below.max_by_key(|(other, _)| steps(other))?;
    let above = same.iter().filter(|(other, _)| steps(other) >= of);
    let above = above.min_by_key(|(other, _)| steps(other))?;
    let [from, to] = [below, above].map(|(other, _)| steps(other));
    let part = (of - from) as f64 / (to - from).max(1) as f64;
    let instructions = all.trial(launch).instructions().iter().enumerate();
    let mut ordering = instructions.filter(|(_, instruction)| orders(&instruction.kind));
    Some(ordering.any(|(at, _)| {
        let rates = |of: &PlannedLaunch, one: &Launched| rates(of, one, at, all.rubric);
        let [below, above] = [below, above].map(|(of, one)| rates(of, one));
        let found = rates(launch, many);
        // Persistent blocks execute some instructions once per tile, and others once per block.
        (0..found.len()).all(|unit| {
            let expected = below[unit] + part * (above[unit] - below[unit]);
            (found[unit] - expected).abs() > SLACK * expected
        })
    }))
}

/// Whether an instruction orders accesses. How often it is executed depends on the tiles and steps of a launch alone; copies have a
/// guard for each element, and waits for mbarriers are repeated.
fn orders(kind: &InstructionKind) -> bool {
    use InstructionKind as Kind;
    matches!(
        kind,
        Kind::AsyncCopyGroup
            | Kind::BulkCopyGroup
            | Kind::WgmmaGroup
            | Kind::Barrier
            | Kind::ClusterBarrier
            | Kind::Mbarrier { .. }
            | Kind::Fence(_)
    )
}

/// How many threads execute an instruction in a launch, per tile, and per thread of the launch, all of which execute the first one.
fn rates(launch: &PlannedLaunch, one: &Launched, at: usize, rubric: &Rubric) -> [f64; 2] {
    let threads = |at: usize| one.run.counters.get(at).map_or(0, |of| of.threads);
    let [rows, columns, _] = launch.tiles(rubric);
    [rows * columns, threads(0)].map(|units| threads(at) as f64 / units.max(1) as f64)
}
