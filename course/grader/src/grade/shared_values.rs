//! Do the values that a kernel multiplies or moves come from shared memory, where that is the lesson? Whatever is done with shared
//! memory for show, results then do not depend on what it holds.
//!
//! The kernel is launched on matrices of threes and sixes. Before each load from shared memory, each three there becomes a five,
//! and each six a ten. If all values that count are loaded from there, the result has the bits of a launch on matrices of fives and
//! tens. Sums of products remain as they are, so that C, too, may pass through shared memory.
use std::collections::BTreeSet;

use harness::{Launched, Size, Trial, TrialLaunch, Values, thousands};

use super::budget::Budget;
use super::launches::LaunchResults;
use super::plan::PlannedLaunch;
use super::rubric::AssignmentKind;

/// Tiles of C in each direction, and steps along K: every stage of a pipeline is used.
const TILES: u32 = 2;
const STEPS: u32 = 5;

/// What is said if shared memory is the lesson and a value that counts was not loaded from there, and a launch with the same tile.
pub fn missed<'a>(budget: &Budget, all: &LaunchResults<'a>) -> Option<(&'a PlannedLaunch, String)> {
    budget.at_least.filter(|_| budget.of.is_shared())?;
    let mut known = BTreeSet::new();
    let launches = all.done.iter().map(|(launch, _)| *launch);
    let mut of_each_tile = launches.filter(|launch| known.insert(launch.tile));
    of_each_tile.find_map(|launch| {
        let tile = all.rubric.tile[launch.tile];
        let size = Size {
            m: tile.m * TILES,
            n: tile.n * TILES,
            k: tile.k * STEPS,
        };
        let on = TrialLaunch { size, ..launch.on };
        let what = describe(all.rubric.task, all.trial(launch), &on)?;
        Some((launch, what))
    })
}

/// What is wrong, if anything is.
fn describe(task: AssignmentKind, trial: &Trial, on: &TrialLaunch) -> Option<String> {
    let name = task.output();
    let right =
        |launched: harness::Result<Launched>| launched.ok().filter(|one| one.verification.ok());
    let of = |values| right(trial.launch_unsanitized(&TrialLaunch { values, ..*on }));
    let (Some(threes), Some(fives)) = (of(Values::Threes), of(Values::Fives)) else {
        return Some(format!(
            "{name} is wrong if all values are 3, 6, 5 or 10, or their negatives"
        ));
    };
    let Ok(changed) = trial.launch_with_fives_in_shared(on) else {
        return Some(
            "the launch fails if what shared memory holds is changed before each load".to_owned(),
        );
    };
    let all = (changed.c.iter().zip(&fives.c)).zip(&threes.c).enumerate();
    let wrong = all.filter(|(_, ((changed, five), _))| changed.to_bits() != five.to_bits());
    let wrong: Vec<_> = wrong
        .map(|(at, ((changed, _), three))| (at, changed == three))
        .collect();
    let (at, is_kept) = *wrong
        .iter()
        .find(|(_, is_kept)| *is_kept)
        .or(wrong.first())?;
    let columns = match task {
        AssignmentKind::Transpose => fives.problem.padded.m,
        AssignmentKind::Gemm | AssignmentKind::Predict => fives.problem.padded.n,
    } as usize;
    let [row, column] = [at / columns, at % columns];
    let how = match is_kept {
        true => "remains as it is",
        false => "does not follow",
    };
    Some(format!(
        "values that were not loaded from shared memory are in {} of {} elements of {name}\n  \
         {name}[{row}][{column}] {how} if what shared memory holds is changed before each load",
        thousands(wrong.len() as u64),
        thousands(fives.c.len() as u64),
    ))
}
