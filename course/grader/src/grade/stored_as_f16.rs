//! Are operands stored to shared memory as f32, where that is the lesson? Stored twice as f16, they have as many bytes.
use emulator::{InstructionKind, Snapshot, SnapshotRequest, Space};
use harness::{Trial, thousands};

use super::budget::{Budget, Effect};
use super::labels::{Element, Labels};
use super::launches::LaunchResults;
use super::one_place::{STEPS, elements};
use super::plan::{Class, PlannedLaunch};
use super::rubric::AssignmentKind;

/// The largest part of the stored bytes that may be f16: C may be, in a launch that has little else.
const MOST: f64 = 0.5;

/// What is said of a block that stores its operands as f16, in a launch whose inputs identify elements; and that launch.
pub fn missed<'a>(budget: &Budget, all: &LaunchResults<'a>) -> Option<(&'a PlannedLaunch, String)> {
    let is_asked = budget.of == Effect::RegistersToShared && budget.at_least.is_some();
    if !is_asked || all.rubric.task != AssignmentKind::Gemm {
        return None;
    }
    let is_told = |launch: &PlannedLaunch| matches!(launch.class, Class::EveryTile);
    let mut right = all.done.iter().filter(|(_, one)| one.verification.ok());
    let (launch, _) = right.find(|(launch, _)| is_told(launch))?;
    let request = SnapshotRequest {
        steps: STEPS,
        operands_of_steps: true,
        ..SnapshotRequest::default()
    };
    let trial = all.trial(launch);
    let done = trial.snapshot(&launch.on, request).ok()?;
    let labels = Labels::of(&done.problem);
    let [halves, stored] = stored(trial, &done.run.snapshot, &labels);
    (halves as f64 > MOST * stored as f64).then(|| {
        let what = format!(
            "of {} bytes that a block stores to shared memory in its first steps, {} are f16: A and B have to be f32 there",
            thousands(stored),
            thousands(halves)
        );
        (*launch, what)
    })
}

/// Bytes that the block stores to shared memory: those of neighboring elements side by side as f16, and all.
fn stored(trial: &Trial, snapshot: &Snapshot, labels: &Labels) -> [u64; 2] {
    let [mut halves, mut stored] = [0; 2];
    for step in &snapshot.steps {
        let instruction = trial.instructions().get(step.instruction as usize);
        let transfer = match instruction.map(|of| &of.kind) {
            Some(InstructionKind::Store(transfer)) if transfer.space == Space::Shared => transfer,
            _ => continue,
        };
        let operands = step.operands.and_then(|at| snapshot.operands.get(at));
        let values = operands.and_then(|of| of.operands.split_first());
        for value in values.into_iter().flat_map(|(_, values)| values) {
            for lane in (0..32).filter(|lane| step.active >> lane & 1 != 0) {
                stored += u64::from(transfer.bytes);
                halves += bytes_of_halves(value.lanes[lane], transfer.bytes, labels);
            }
        }
    }
    [halves, stored]
}

/// Bytes of a stored value that are neighboring elements as f16.
fn bytes_of_halves(value: u64, bytes: u32, labels: &Labels) -> u64 {
    let words = (0..bytes / 4).map(|word| value >> (32 * word));
    let are_two = words.filter(|word| match elements(*word, 4, labels)[..] {
        [(_, one), (_, other)] => are_neighbors(one, other),
        _ => false,
    });
    4 * are_two.count() as u64
}

fn are_neighbors(one: Element, other: Element) -> bool {
    match (one, other) {
        (Element::A(row, column), Element::A(other_row, other_column))
        | (Element::B(row, column), Element::B(other_row, other_column)) => {
            row.abs_diff(other_row) + column.abs_diff(other_column) == 1
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use harness::{Problem, Size, Tile, Values};

    use super::*;

    #[test]
    fn neighbors_as_f16_are_told_from_floats() {
        let tile = Tile {
            bm: 4,
            bn: 4,
            bk: 4,
        };
        let size = Size { m: 4, n: 4, k: 4 };
        let problem = Problem::with_values(size, tile, 0, Values::Distinct).expect("a problem");
        let labels = Labels::of(&problem);
        let half = |at: usize| u64::from(problem.a[at].to_bits());
        let pair = |one: usize, other: usize| half(one) | half(other) << 16;
        let float = u64::from(problem.a[1].to_f32().to_bits());
        assert_eq!(bytes_of_halves(pair(0, 1), 4, &labels), 4);
        assert_eq!(bytes_of_halves(pair(4, 0), 4, &labels), 4, "a column");
        assert_eq!(bytes_of_halves(pair(0, 2), 4, &labels), 0, "apart");
        assert_eq!(bytes_of_halves(float, 4, &labels), 0);
        assert_eq!(bytes_of_halves(pair(0, 1) | float << 32, 8, &labels), 4);
    }
}
