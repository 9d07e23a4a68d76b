//! Accesses to shared memory that are spread over several instructions: lanes that would conflict take turns, or repeat what
//! others access until it is their turn, so that no access has a conflict, and together they take as long as if it had.
use std::collections::{BTreeMap, BTreeSet};

use emulator::{AccessPattern, Counters, Instruction, InstructionKind};
use harness::Launched;

use super::budget::{Per, unit};
use super::launches::LaunchResults;
use super::plan::PlannedLaunch;
use super::quote;
use super::rubric::AssignmentKind;

/// A bank's word, and all banks of a wavefront.
const WORD: u64 = 4;
const WAVEFRONT: f64 = 128.0;

/// What idle lanes may cost, in units of the wavefronts that A's and B's tiles fill: a flag or a counter needs one lane.
const NEGLIGIBLE: f64 = 0.1;

/// Wavefronts of one lane that each warp may take besides, per tile of C: for a persistent block, it may store the next tile's number, and
/// load it.
const OF_A_WARP: f64 = 2.0;

pub const HINT: &str = "accesses that are spread over several instructions have no conflicts, but they take as long as if they had: what would it take for all lanes to take part at once?";

/// A line on which lanes take turns.
pub struct Turns {
    /// Its wavefronts, relative to those of the same accesses by whole warps.
    pub times: f64,
    /// What is said about it.
    pub words: String,
}

/// The line of a launch whose idle lanes cost most, unless all of them together cost next to nothing.
pub fn worst(all: &LaunchResults, launch: &PlannedLaunch, one: &Launched) -> Option<Turns> {
    let source = all.trial(launch).source();
    let counted = all.trial(launch).instructions().iter();
    let counted = counted.zip(&one.run.counters);
    // By line: wavefronts without conflicts, those that whole warps would take, and an instruction.
    let mut lines = BTreeMap::new();
    let mut wasted = 0.0;
    for (index, (instruction, counters)) in counted.enumerate() {
        let Some(whole) = of_whole_warps(instruction, counters) else {
            continue;
        };
        let different = match all.rubric.task {
            // Each element goes in once, and comes out once.
            AssignmentKind::Transpose => different(one, index),
            // Lanes may multiply the same element.
            AssignmentKind::Gemm | AssignmentKind::Predict => 1.0,
        };
        let whole = whole * different;
        let ideal = counters.shared.ideal as f64;
        wasted += (ideal - whole).max(0.0);
        let line = lines
            .entry(quote::innermost(source, instruction))
            .or_insert((0.0, 0.0, (instruction, different)));
        line.0 += ideal;
        line.1 += whole.min(ideal);
    }
    let of_warps = OF_A_WARP * all.trial(launch).warps() as f64 * unit(Per::Tile, all, launch);
    if wasted <= NEGLIGIBLE * unit(Per::Operands, all, launch) / WAVEFRONT + of_warps {
        return None;
    }
    let by_waste =
        |(a, b, _): &(f64, f64, _), (c, d, _): &(f64, f64, _)| (a - b).total_cmp(&(c - d));
    let (ideal, whole, (instruction, different)) = lines.into_values().max_by(by_waste)?;
    let times = ideal / whole;
    let quoted = quote::line(source, instruction).unwrap_or_default();
    let opcode = &instruction.opcode;
    let how = match different < 1.0 {
        true => "several lanes of a warp access the same bytes of shared memory",
        false => "only some lanes of a warp access shared memory at a time",
    };
    Some(Turns {
        times,
        words: format!(
            "{quoted}\n  {opcode}: {how}, which takes {times:.2} times the wavefronts that whole warps would take"
        ),
    })
}

/// The part of the active lanes whose bytes no lane before them accesses in the same instruction, as far as its patterns are known.
fn different(one: &Launched, instruction: usize) -> f64 {
    let shared =
        |asked: &&AccessPattern| asked.instruction == instruction && asked.shared.is_some();
    let (mut lanes, mut places) = (0, 0);
    for asked in one.run.patterns.iter().filter(shared) {
        let offsets = asked.offsets.iter().flatten();
        lanes += offsets.clone().count();
        places += offsets.collect::<BTreeSet<_>>().len();
    }
    match lanes {
        0 => 1.0,
        _ => places as f64 / lanes as f64,
    }
}

/// The most wavefronts that these accesses could take without conflicts if all lanes of a warp took part.
fn of_whole_warps(instruction: &Instruction, counters: &Counters) -> Option<f64> {
    let bytes = match instruction.kind {
        InstructionKind::Load(_) | InstructionKind::Store(_) => {
            counters.bytes / counters.threads.max(1)
        }
        InstructionKind::AsyncCopy { bytes, .. } => bytes.into(),
        _ => return None,
    };
    let whole = (counters.threads * bytes.max(WORD)) as f64 / WAVEFRONT;
    (counters.shared.wavefronts > 0).then_some(whole)
}
