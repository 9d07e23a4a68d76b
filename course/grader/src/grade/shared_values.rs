//! Do the values that a kernel multiplies or moves come from shared memory, where that is the lesson? Then C depends on global memory
//! only through shared memory. Loads for show, compared or cancelled, do not change that.
//!
//! Each launch is repeated on other matrices, with what shared memory held before each load in the first launch. If all values that
//! count are loaded from there, both results have the same bits. A kernel that notices executes other instructions.
use harness::{Launched, thousands};

use super::budget::Budget;
use super::launches::LaunchResults;
use super::plan::{Class, PlannedLaunch};
use super::rubric::AssignmentKind;

/// The repeated launch, in a complaint.
const AGAIN: &str =
    "launched again on other matrices, with the same words in shared memory at each load,";

/// What is said if shared memory is the lesson and a value that counts was not loaded from there, and the launch. Products of many tiles
/// are repeated only if they execute other instructions than smaller ones, and products of many steps never: these launches would take
/// longer than all others together.
pub fn missed<'a>(budget: &Budget, all: &LaunchResults<'a>) -> Option<(&'a PlannedLaunch, String)> {
    budget.at_least.filter(|_| budget.of.is_shared())?;
    let is_it = |launch: &PlannedLaunch, one: &Launched| match launch.class {
        Class::Public | Class::EveryTile | Class::Large => true,
        Class::Many(_) => {
            all.rubric.task == AssignmentKind::Transpose || all.does_more(launch, one)
        }
        _ => false,
    };
    let mut launches = all.done.iter();
    launches.find_map(|(launch, one)| {
        let why = is_it(launch, one).then(|| describe(all, launch));
        Some((*launch, why.flatten()?))
    })
}

/// What is wrong, if anything is.
fn describe(all: &LaunchResults, launch: &PlannedLaunch) -> Option<String> {
    let name = all.rubric.task.output();
    let [first, again] = match all.trial(launch).replay(&launch.on, !launch.on.seed) {
        Ok(both) => both,
        Err(error) => return Some(format!("{AGAIN} the kernel fails: {error}")),
    };
    let both = first.c.iter().zip(&again.c).enumerate();
    let differ = both.filter(|(_, (first, again))| first.to_bits() != again.to_bits());
    let differ: Vec<usize> = differ.map(|(at, _)| at).collect();
    let Some(at) = differ.first() else {
        let both = first.run.counters.iter().zip(&again.run.counters);
        let way = |one: &emulator::Counters| (one.shared, one.executions, one.threads);
        let has_noticed = both
            .into_iter()
            .any(|(first, again)| way(first) != way(again));
        return has_noticed.then(|| {
            format!("{AGAIN} the kernel executes other instructions: what it does may not depend on values")
        });
    };
    let columns = match all.rubric.task {
        AssignmentKind::Transpose => first.problem.padded.m,
        AssignmentKind::Gemm | AssignmentKind::Predict => first.problem.padded.n,
    } as usize;
    let (row, column) = (at / columns, at % columns);
    Some(format!(
        "values that were not loaded from shared memory are in {} of {} elements of {name}, such as {name}[{row}][{column}]\n  \
         {AGAIN} the kernel should give the same {name}",
        thousands(differ.len() as u64),
        thousands(first.c.len() as u64)
    ))
}
