//! Sectors of global memory and wavefronts of shared memory, compared with what a kernel's tiles need.
use harness::Launched;

use super::by_line::by_measure;
use super::{ELEMENT, SECTOR, WAVEFRONT, stores_globally};
use crate::grade::budget::{self, Budget, Effect, Per};
use crate::grade::judge::Judged;
use crate::grade::launches::LaunchResults;
use crate::grade::plan::PlannedLaunch;
use crate::grade::rubric::{AssignmentKind, Measure, TileVariant, What};

/// Row lengths that are a multiple of this many elements start every row at a sector boundary.
const ROW: u32 = (SECTOR / ELEMENT) as u32;

/// All sectors or wavefronts of a launch, relative to those that its tiles fill.
pub fn sectors_and_wavefronts<'a>(
    measure: &Measure,
    all: &LaunchResults<'a>,
    judged: &mut Judged<'a>,
) {
    for (launch, one) in all.done.iter() {
        let padded = one.problem.padded;
        let is_whole = padded.n.is_multiple_of(ROW) && padded.k.is_multiple_of(ROW);
        let is_gemm = all.rubric.task == AssignmentKind::Gemm;
        if is_gemm && measure.what != What::SharedTraffic && !is_whole {
            // Rows begin within a sector, so every kernel has to load the rest of it.
            continue;
        }
        let TileVariant {
            m,
            n,
            k,
            global_loads,
            shared_traffic,
            ..
        } = all.rubric.tile[launch.tile];
        let [m, n, k] = [m, n, k].map(u64::from);
        let [rows, columns, steps] = launch.tiles(all.rubric);
        let (operands, result) = match all.rubric.task {
            AssignmentKind::Gemm => (steps * (m * k + k * n), m * n),
            AssignmentKind::Transpose | AssignmentKind::Predict => (m * n, m * n),
        };
        let counted = all
            .trial(launch)
            .instructions()
            .iter()
            .zip(&one.run.counters);
        let sectors = |stored: bool| -> u64 {
            let of = counted
                .clone()
                .filter(|(of, _)| stores_globally(of) == stored);
            of.map(|(_, counters)| counters.global_sectors * SECTOR)
                .sum()
        };
        let wavefronts = counted
            .clone()
            .map(|(_, of)| of.shared.wavefronts * WAVEFRONT);
        let (done, elements, unit, words) = match measure.what {
            What::GlobalStores => (
                sectors(true),
                result,
                1.0,
                match all.rubric.task {
                    AssignmentKind::Transpose => "the sectors of out's tiles are stored",
                    AssignmentKind::Gemm | AssignmentKind::Predict => {
                        "the sectors of C's tiles are stored"
                    }
                },
            ),
            What::GlobalLoads => (
                sectors(false),
                operands,
                global_loads,
                "the necessary sectors are loaded",
            ),
            _ => (
                wavefronts.sum(),
                match all.rubric.task {
                    AssignmentKind::Gemm => operands,
                    AssignmentKind::Transpose | AssignmentKind::Predict => operands + result,
                },
                shared_traffic,
                "the necessary wavefronts are taken by all accesses to shared memory",
            ),
        };
        let ideal = (rows * columns * elements * ELEMENT) as f64 * unit;
        let ideal = ideal + through_shared(measure, all, launch, one);
        let times = done as f64 / ideal.max(1.0);
        by_measure(
            measure,
            all,
            launch,
            (times, format!("{times:.2} times {words}")),
            judged,
        );
    }
}

/// Bytes of C that a product stores in shared memory, as far as a budget allows, and loads from there.
fn through_shared(
    measure: &Measure,
    all: &LaunchResults,
    launch: &PlannedLaunch,
    one: &Launched,
) -> f64 {
    let is_it =
        |budget: &&Budget| budget.of == Effect::RegistersToShared && budget.and_results > 0.0;
    let budget = all.rubric.budget.iter().find(is_it);
    let Some(budget) = budget.filter(|_| measure.what == What::SharedTraffic) else {
        return 0.0;
    };
    let counted = all
        .trial(launch)
        .instructions()
        .iter()
        .zip(&one.run.counters);
    let stored: f64 = counted
        .map(|(of, counters)| budget.of.done(of, counters))
        .sum();
    let unit = |per| budget::unit(per, all, launch);
    let beside = stored - budget.at_least.unwrap_or(0.0) * unit(budget.per);
    2.0 * beside.clamp(0.0, budget.and_results * unit(Per::Result))
}
