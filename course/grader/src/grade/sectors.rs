//! Does a warp load a sector again that it has loaded before? If so, it could have used all of it the first time.
use std::collections::{BTreeMap, BTreeSet};

use emulator::{Effect, LaunchReport, TraceLine};

use super::budget;
use super::judge::Judged;
use super::launches::LaunchResults;
use super::mechanism::stores_globally;
use super::plan::{Class, PlannedLaunch};
use super::rubric::Measure;

/// Sectors of a line of global memory, a bit each.
const SECTORS: u32 = 4;

/// How often a warp loads each of its sectors, on average over the warps of a block. Unlike a number of sectors per tile, it does not
/// depend on how many warps share a tile of C. Counted in small launches, in which a persistent block computes one tile, and in those of many
/// tiles if blocks are not persistent.
pub fn loads_per_sector<'a>(measure: &Measure, all: &LaunchResults<'a>, judged: &mut Judged<'a>) {
    let is_it = |launch: &PlannedLaunch| match launch.class {
        Class::Public | Class::EveryTile => true,
        Class::Many(_) => !all.trial(launch).is_persistent(),
        _ => false,
    };
    let right = all.done.iter().filter(|(_, one)| one.verification.ok());
    for (launch, _) in right.filter(|(launch, _)| is_it(launch)) {
        let trial = all.trial(launch);
        // It has ended without an error before.
        let Ok(traced) = trial.launch_one_cluster(&launch.on, launch.on.seed) else {
            continue;
        };
        let instructions = trial.instructions();
        let loads = |at: usize| instructions.get(at).is_some_and(|of| !stores_globally(of));
        let found = Loaded::of(&traced, loads);
        let words = format!(
            "a warp loads each of its sectors {:.2} times on average",
            found.times()
        );
        let before = judged.complaints.len();
        judged.measured(measure, all, launch, (found.times(), words), "uncoalesced");
        let worst = found.again.iter().max_by_key(|(_, again)| **again);
        let worst = worst.and_then(|(at, _)| instructions.get(*at));
        if let (Some(complaint), Some(worst), false) =
            (judged.complaints.get_mut(before), worst, launch.closed)
        {
            complaint.what += &budget::at(all, launch, worst);
        }
    }
}

/// Sectors that the warps of a launch have loaded.
#[derive(Default)]
struct Loaded {
    /// In all loads.
    all: u64,
    /// Those of each instruction that its warp had loaded before.
    again: BTreeMap<usize, u64>,
}

impl Loaded {
    fn of(traced: &LaunchReport, loads: impl Fn(usize) -> bool) -> Self {
        let mut found = Self::default();
        for warp in &traced.traces {
            let mut known = BTreeSet::new();
            for one in &warp.effects {
                let Effect::Global { first, count } = one.effect else {
                    continue;
                };
                let event = warp.events.get(one.event as usize);
                let event = event.map(|event| event.instruction as usize);
                let Some(instruction) = event.filter(|at| loads(*at)) else {
                    continue;
                };
                let lines = warp.lines.iter().skip(first as usize).take(count as usize);
                for sector in lines.flat_map(sectors) {
                    found.all += 1;
                    if !known.insert(sector) {
                        *found.again.entry(instruction).or_default() += 1;
                    }
                }
            }
        }
        found
    }

    fn times(&self) -> f64 {
        let again: u64 = self.again.values().sum();
        self.all as f64 / self.all.saturating_sub(again).max(1) as f64
    }
}

/// The numbers of a line's sectors.
fn sectors(line: &TraceLine) -> impl Iterator<Item = u64> {
    let TraceLine { number, sectors } = *line;
    let its = (0..SECTORS).filter(move |at| sectors >> at & 1 == 1);
    its.map(move |at| number * u64::from(SECTORS) + u64::from(at))
}
