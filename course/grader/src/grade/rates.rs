//! How often a launch executes barriers, waits, fences, products and memory accesses, compared with smaller launches of the same tile.
use emulator::{Counters, InstructionKind, Space};
use harness::Launched;

use super::launches::LaunchResults;
use super::plan::PlannedLaunch;
use super::rubric::Rubric;

/// How much the rate of an instruction may differ from the expected one, relative to that: if it depends on the tiles and steps of a launch
/// alone; and if it has a guard for each element, and so depends on how far M, N and K are from whole tiles.
const SLACK: f64 = 0.02;
const SLACK_AT_EDGES: f64 = 0.6;

/// Whether a barrier, wait, fence, product or memory access is executed more or less often than the launches with the next smaller and the
/// next larger number of steps suggest. `None` if there are none.
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
    let mut instructions = all.trial(launch).instructions().iter().enumerate();
    Some(instructions.any(|(at, instruction)| {
        let Some(slack) = slack(&instruction.kind) else {
            return false;
        };
        AMOUNTS.into_iter().any(|amount| {
            let rates = |of: &PlannedLaunch, one: &Launched| {
                let counters = one.run.counters.get(at);
                let first = one.run.counters.first().map_or(0, |first| first.threads);
                rates(of, counters.map_or(0, amount), first, all.rubric)
            };
            let [below, above] = [below, above].map(|(of, one)| rates(of, one));
            let found = rates(launch, many);
            // Persistent blocks execute some instructions once per tile, and others once per block.
            (0..found.len()).all(|unit| {
                let expected = below[unit] + part * (above[unit] - below[unit]);
                (found[unit] - expected).abs() > slack * expected
            })
        })
    }))
}

/// What is compared of an instruction: how many threads execute it, and what it accesses, since a generic address may be anywhere.
const AMOUNTS: [fn(&Counters) -> u64; 3] = [
    |of| of.threads,
    |of| of.shared.wavefronts,
    |of| of.global_sectors,
];

/// How much the rate of an instruction may differ from the expected one; `None` for those that are not compared: waits for mbarriers are
/// repeated, and arithmetic may depend on the place of a tile.
fn slack(kind: &InstructionKind) -> Option<f64> {
    use InstructionKind as Kind;
    match kind {
        Kind::AsyncCopyGroup
        | Kind::BulkCopyGroup
        | Kind::WgmmaGroup
        | Kind::Barrier
        | Kind::ClusterBarrier
        | Kind::Mbarrier { .. }
        | Kind::Fence(_)
        | Kind::LoadMatrix { .. }
        | Kind::Mma(_)
        | Kind::Wgmma(_) => Some(SLACK),
        Kind::Load(of) if of.space == Space::Shared => Some(SLACK),
        Kind::Load(of) | Kind::Store(of)
            if !matches!(of.space, Space::Global | Space::Shared | Space::Generic) =>
        {
            None
        }
        Kind::Load(_)
        | Kind::Store(_)
        | Kind::StoreMatrix { .. }
        | Kind::AsyncCopy { .. }
        | Kind::BulkCopy { .. }
        | Kind::Atomic { .. } => Some(SLACK_AT_EDGES),
        _ => None,
    }
}

/// An amount per tile, and per thread of the launch.
fn rates(launch: &PlannedLaunch, amount: u64, threads: u64, rubric: &Rubric) -> [f64; 2] {
    let [rows, columns, _] = launch.tiles(rubric);
    [rows * columns, threads].map(|units| amount as f64 / units.max(1) as f64)
}
