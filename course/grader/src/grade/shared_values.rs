//! Do the values that a kernel multiplies or moves come from shared memory, where that is the lesson? If so, its results depend on
//! global memory only by way of shared memory: whatever is done there for show, checked or cancelled, they do not.
//!
//! The kernel is launched twice, the second time on other matrices, and with what shared memory held before each load in the first
//! launch. If all values that count are loaded from there, both results have the same bits.
use std::collections::BTreeSet;

use harness::thousands;

use super::budget::Budget;
use super::launches::LaunchResults;
use super::plan::{Class, PlannedLaunch};
use super::rubric::AssignmentKind;

/// What is said if shared memory is the lesson and a value that counts was not loaded from there, and the launch. Each tile is
/// launched at the first of its planned sizes.
pub fn missed<'a>(budget: &Budget, all: &LaunchResults<'a>) -> Option<(&'a PlannedLaunch, String)> {
    budget.at_least.filter(|_| budget.of.is_shared())?;
    let mut known = BTreeSet::new();
    let is_small = |launch: &&PlannedLaunch| !matches!(launch.class, Class::Large | Class::Many(_));
    let launches = all.done.iter().map(|(launch, _)| *launch).filter(is_small);
    let mut of_each_tile = launches.filter(|launch| known.insert(launch.tile));
    of_each_tile.find_map(|launch| Some((launch, describe(all, launch)?)))
}

/// What is wrong, if anything is.
fn describe(all: &LaunchResults, launch: &PlannedLaunch) -> Option<String> {
    let name = all.rubric.task.output();
    let Ok([first, again]) = all.trial(launch).replay(&launch.on, !launch.on.seed) else {
        return Some(format!("{name} depends on more than shared memory"));
    };
    let both = first.c.iter().zip(&again.c).enumerate();
    let differ = both.filter(|(_, (first, again))| first.to_bits() != again.to_bits());
    let differ: Vec<usize> = differ.map(|(at, _)| at).collect();
    let at = *differ.first()?;
    let columns = match all.rubric.task {
        AssignmentKind::Transpose => first.problem.padded.m,
        AssignmentKind::Gemm | AssignmentKind::Predict => first.problem.padded.n,
    } as usize;
    let (row, column) = (at / columns, at % columns);
    let which = match launch.closed {
        true => format!("elements of {name}"),
        false => format!(
            "{} of {} elements of {name}, such as {name}[{row}][{column}]",
            thousands(differ.len() as u64),
            thousands(first.c.len() as u64)
        ),
    };
    Some(format!(
        "values that were not loaded from shared memory are in {which}\n  with other matrices, but the same words in shared memory \
         at each load, a launch should give the same {name}"
    ))
}
