//! What tensor cores multiply, and what it costs to load that from shared memory.
use std::collections::BTreeMap;

use emulator::{Instruction, InstructionKind, Transfer};
use harness::Launched;

use super::{ELEMENT, WAVEFRONT};
use crate::grade::judge::Judged;
use crate::grade::launches::LaunchResults;
use crate::grade::plan::PlannedLaunch;
use crate::grade::rubric::{Measure, What};
use crate::grade::{budget, feeds, quote};

/// Of a warp.
const LANES: u64 = 32;

/// The line whose loads take the most wavefronts beyond those that the same bytes would fill if all lanes loaded at once; if there is
/// none, the line with the most wavefronts.
fn most_wavefronts(all: &LaunchResults, launch: &PlannedLaunch, one: &Launched) -> Option<String> {
    let source = all.trial(launch).source();
    let instructions = all.trial(launch).instructions();
    let mut lines = BTreeMap::new();
    for (of, counters) in instructions.iter().zip(&one.run.counters) {
        let wavefronts = counters.shared.wavefronts;
        if of.kind.is_load() && wavefronts > 0 {
            let line = lines
                .entry(quote::innermost(source, of))
                .or_insert((0, 0, of));
            line.0 += wavefronts.saturating_sub(counters.bytes.div_ceil(filled(of)));
            line.1 += wavefronts;
        }
    }
    let (.., most) = lines
        .into_values()
        .max_by_key(|(too_many, wavefronts, _)| (*too_many, *wavefronts))?;
    Some(budget::at(all, launch, most))
}

/// Bytes of a wavefront that a whole warp's load fills; as many for 8 bits per lane as for 16, so that narrower loads cost more.
fn filled(load: &Instruction) -> u64 {
    match load.kind {
        InstructionKind::Load(Transfer {
            bytes, elements, ..
        }) => (LANES * u64::from(bytes * elements)).clamp(LANES * ELEMENT, WAVEFRONT),
        _ => WAVEFRONT,
    }
}

/// Wavefronts of shared loads, relative to those that hold the multiplied elements and C's tiles. By hand, elements of B
/// need twice as many: the two of a register are in two rows. The elements that a step multiplies are known from launches whose
/// inputs identify elements, and are the same in every launch with this tile.
pub fn operand_traffic<'a>(measure: &Measure, all: &LaunchResults<'a>, judged: &mut Judged<'a>) {
    let right = all.done.iter().filter(|(_, one)| one.verification.ok());
    let telling = right.clone().filter(|(_, one)| !one.run.factors.is_empty());
    let by_hand = measure.what == What::OperandTrafficByHand;
    let of_a_step = telling.map(|(launch, _)| {
        let steps: u64 = launch.tiles(all.rubric).iter().product();
        let needed = all.coverage(launch);
        let bytes = match by_hand {
            true => needed.by_hand.iter().sum(),
            false => needed.operand_bytes,
        };
        let of_a_step = |bytes: u64| bytes / steps.max(1);
        (
            launch.tile,
            (of_a_step(bytes), needed.by_hand.map(of_a_step)),
        )
    });
    let of_a_step: BTreeMap<_, _> = of_a_step.collect();
    for (launch, one) in right {
        let Some((of_a_step, by_operand)) = of_a_step.get(&launch.tile) else {
            continue;
        };
        let tile = all.rubric.tile[launch.tile];
        let [rows, columns, steps] = launch.tiles(all.rubric);
        let result = rows * columns * u64::from(tile.m * tile.n) * ELEMENT;
        let counted = all
            .trial(launch)
            .instructions()
            .iter()
            .zip(&one.run.counters);
        let staged = counted
            .clone()
            .filter(|(of, counters)| of.kind.is_store() && counters.shared.wavefronts > 0);
        let staged: u64 = staged.map(|(_, counters)| counters.bytes).sum();
        let needed =
            rows * columns * steps * of_a_step + staged.min(result + all.bytes_of_sums(launch));
        let loads = counted.filter(|(of, _)| of.kind.is_load());
        let wavefronts: u64 = loads.map(|(_, counters)| counters.shared.wavefronts).sum();
        // A warp may read the number of each tile from shared memory.
        let numbers = rows * columns * all.trial(launch).warps();
        let wavefronts = wavefronts.saturating_sub(numbers);
        let mut times = (wavefronts * WAVEFRONT) as f64 / needed.max(1) as f64;
        // Neither operand may take what the other one leaves.
        if by_hand {
            let instructions = all.trial(launch).instructions();
            let fed = feeds::operands(instructions);
            for (operand, of_a_step) in [1, 2].into_iter().zip(by_operand) {
                let loads = instructions.iter().zip(&one.run.counters).zip(&fed);
                let loads = loads.filter(|((of, _), fed)| of.kind.is_load() && **fed == operand);
                let wavefronts: u64 = loads.map(|((_, of), _)| of.shared.wavefronts).sum();
                let needed = rows * columns * steps * of_a_step;
                times = times.max((wavefronts * WAVEFRONT) as f64 / needed.max(1) as f64);
            }
        }
        let words = format!(
            "loads from shared memory take {times:.2} times the wavefronts that the multiplied elements {}",
            if by_hand {
                "need by hand: those of A fill them, those of B fill half"
            } else {
                "fill"
            }
        );
        let before = judged.complaints.len();
        judged.measured(measure, all, launch, (times, words), "shared-traffic");
        if let Some(complaint) = judged.complaints.get_mut(before).filter(|_| !launch.closed) {
            complaint.what += &most_wavefronts(all, launch, one).unwrap_or_default();
        }
    }
}

/// The fraction of the problem's products that tensor cores compute, in launches whose inputs identify elements.
pub fn tensor_products<'a>(measure: &Measure, all: &LaunchResults<'a>, judged: &mut Judged<'a>) {
    let told = |launch: &PlannedLaunch| launch.on.values == harness::Values::Distinct;
    for (launch, one) in all.done.iter().filter(|(launch, _)| told(launch)) {
        if !one.verification.ok() {
            continue;
        }
        let found = all.coverage(launch);
        let part = found.products as f64 / found.of.max(1) as f64;
        let words = format!("tensor cores compute {:.0}% of C's products", 100.0 * part);
        judged.measured(measure, all, launch, (part, words), "another-way");
    }
}
