//! Do threads exchange values through shared memory, where that is the lesson? A thread that loads what it has stored itself could have
//! kept it in registers.
use harness::{Launched, thousands};

use super::budget::{Budget, Effect};
use super::launches::LaunchResults;
use super::plan::PlannedLaunch;
use super::rubric::AssignmentKind;

/// The largest part of the loaded bytes that threads may have stored themselves. On the diagonal of a tile, they do in every transposition.
const MOST: f64 = 0.5;

/// What is said of a transposition whose threads load mostly what they have stored themselves, and the launch.
pub fn missed<'a>(budget: &Budget, all: &LaunchResults<'a>) -> Option<(&'a PlannedLaunch, String)> {
    let exchanges = budget.of == Effect::SharedLoads && budget.at_least.is_some();
    if !exchanges || all.rubric.task != AssignmentKind::Transpose {
        return None;
    }
    let mut launches = all.done.iter();
    launches.find_map(|(launch, one)| Some((*launch, describe(all, launch, one)?)))
}

fn describe(all: &LaunchResults, launch: &PlannedLaunch, one: &Launched) -> Option<String> {
    let counted = all.trial(launch).instructions().iter();
    let counted = counted.zip(&one.run.counters);
    let loaded: f64 = counted
        .map(|(of, counters)| Effect::SharedLoads.done(of, counters))
        .sum();
    let own = one.run.own_loads;
    (own as f64 > MOST * loaded).then(|| {
        format!(
            "of {} bytes that threads load from shared memory, they have stored {} themselves: at most half may be",
            thousands(loaded as u64),
            thousands(own)
        )
    })
}
