//! Which elements a thread stores to one place of shared memory, one over the other: that is not a race. Nobody can have read the first
//! if the thread's warp has neither read shared memory nor come to a barrier in between.
use std::collections::HashMap;

use emulator::{InstructionKind, Snapshot, SnapshotRequest, Space};
use harness::{Launched, Trial, TrialLaunch};

use super::diagnosis::{Cause, CauseKind};
use super::labels::{Element, Labels};
use super::quote;
use super::rubric::AssignmentKind;

/// How many of a block's warp instructions are examined: the copies of the first step are among the first.
pub const STEPS: usize = 1 << 13;

/// What was stored last at an address: by which warp and lane, by which instruction.
#[derive(Clone, Copy)]
struct Stored {
    warp: u32,
    lane: usize,
    instruction: usize,
    element: Element,
}

/// The first two such elements, of a launch whose inputs identify elements.
pub fn of(trial: &Trial, on: &TrialLaunch, task: AssignmentKind) -> Option<Cause> {
    let stores = |kind: &InstructionKind| matches!(kind, InstructionKind::Store(transfer) if transfer.space == Space::Shared);
    let mut all = trial.instructions().iter();
    if !all.any(|of| stores(&of.kind)) {
        return None;
    }
    let request = SnapshotRequest {
        steps: STEPS,
        operands_of_steps: true,
        ..SnapshotRequest::default()
    };
    let done = trial.snapshot(on, request).ok()?;
    let (address, [first, second]) = collision(trial, &done, &done.run.snapshot)?;
    let name = |element: Element| match task {
        AssignmentKind::Transpose => element.to_string().replacen('A', "in", 1),
        AssignmentKind::Gemm | AssignmentKind::Predict => element.to_string(),
    };
    let harness::Function::Emulator(function) = trial.function() else {
        return None;
    };
    let before = |variable: &emulator::SharedVariable| variable.address <= address;
    let variable = function.shared_variables().filter(before).last();
    let place = variable.map_or(format!("0x{address:x}"), |of| {
        format!("{} + 0x{:x}", of.name, address - of.address)
    });
    let thread = 32 * second.warp as usize + second.lane;
    let mut what = format!(
        "two elements in one place: thread {thread} of block 0 stores {} and then {} to {place}, and nothing can have read the first",
        name(first.element),
        name(second.element)
    );
    let lines = [first, second].map(|one| {
        let instruction = trial.instructions().get(one.instruction)?;
        quote::line(trial.source(), instruction)
    });
    let mut lines: Vec<_> = lines.into_iter().flatten().collect();
    lines.dedup();
    for line in lines {
        what += &format!("\n  {line}");
    }
    Some(Cause {
        what,
        hint: "which term of the address distinguishes these two elements: is it missing, or too small?".into(),
        kind: CauseKind::Other("two-in-one-place"),
    })
}

/// The address, and the two stores.
fn collision(trial: &Trial, done: &Launched, snapshot: &Snapshot) -> Option<(u32, [Stored; 2])> {
    use InstructionKind::{Arithmetic, Branch, ConvertAddress, Load, Move, Store};
    let labels = Labels::of(&done.problem);
    let mut stored = HashMap::<u32, Stored>::new();
    for step in &snapshot.steps {
        let instruction = step.instruction as usize;
        let transfer = match &trial.instructions().get(instruction)?.kind {
            Store(transfer) if transfer.space == Space::Shared => transfer,
            Arithmetic { .. } | Move | ConvertAddress(_) | Branch => continue,
            Load(of) | Store(of) if of.space == Space::Global => continue,
            _ => {
                stored.retain(|_, one| one.warp != step.warp);
                continue;
            }
        };
        let operands = step.operands.and_then(|at| snapshot.operands.get(at));
        let Some((address, values)) = operands.and_then(|of| of.operands.split_first()) else {
            continue;
        };
        for lane in (0..32).filter(|lane| step.active >> lane & 1 != 0) {
            for value in values {
                let from = address.lanes[lane] as u32 + value.number as u32 * transfer.bytes;
                for (at, element) in elements(value.lanes[lane], transfer.bytes, &labels) {
                    let now = Stored {
                        warp: step.warp,
                        lane,
                        instruction,
                        element,
                    };
                    let before = stored.insert(from + at, now);
                    let is_over = |one: &Stored| {
                        (one.warp, one.lane) == (step.warp, lane) && one.element != element
                    };
                    if let Some(before) = before.filter(is_over) {
                        return Some((from + at, [before, now]));
                    }
                }
            }
        }
    }
    None
}

/// The elements in a stored value, an f32 or f16s, and how many bytes after its beginning.
pub fn elements(value: u64, bytes: u32, labels: &Labels) -> Vec<(u32, Element)> {
    let float = f32::from_bits(value as u32);
    let as_half = half::f16::from_f32(float);
    let is_exact = bytes == 4 && as_half.to_f32() == float;
    if let Some(element) = labels.get(as_half.to_bits()).filter(|_| is_exact) {
        return vec![(0, element)];
    }
    let halves = (0..bytes / 2).map(|half| (2 * half, (value >> (16 * half)) as u16));
    let found = halves.filter_map(|(at, bits)| Some((at, labels.get(bits)?)));
    found.collect()
}

#[cfg(test)]
mod tests {
    use harness::{Problem, Size, Tile, Values};

    use super::*;

    #[test]
    fn floats_and_halves_are_told_apart() {
        let tile = Tile {
            bm: 4,
            bn: 4,
            bk: 4,
        };
        let size = Size { m: 4, n: 4, k: 4 };
        let problem = Problem::with_values(size, tile, 0, Values::Distinct).expect("a problem");
        let labels = Labels::of(&problem);
        let half = |at: usize| u64::from(problem.a[at].to_bits());
        let float = |at: usize| u64::from(problem.a[at].to_f32().to_bits());
        let (first, second) = (Element::A(0, 0), Element::A(0, 1));
        assert_eq!(elements(half(1), 2, &labels), [(0, second)]);
        assert_eq!(elements(float(1), 4, &labels), [(0, second)]);
        let pair = half(0) | half(1) << 16;
        assert_eq!(elements(pair, 4, &labels), [(0, first), (2, second)]);
        assert_eq!(elements(0, 4, &labels), []);
    }
}
