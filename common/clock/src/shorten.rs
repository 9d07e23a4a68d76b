//! Long loops: two simulations with some of the iterations give the time of all of them.
//!
//! Iterations are cut out of the middle, equally many from each warp. That is sound if all iterations do the same and
//! nothing counts them; a kernel that waits at mbarriers, whose phases alternate, is not shortened.
use std::sync::Arc;

use emulator::{Effect, TraceEffect, WarpTrace};
use rustc_hash::FxHashMap as HashMap;

use crate::machine_code::MachineCode;
use crate::path::Step;

/// A loop that all warps execute equally often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loop {
    /// The branch at its end, by its index in the machine code.
    branch: u32,
    /// Number of iterations.
    pub rounds: usize,
}

/// Whether some of these warps wait at mbarriers, whose phases count the iterations.
pub(crate) fn counts_phases(warps: &[WarpTrace]) -> bool {
    let counts = |one: &TraceEffect| {
        matches!(
            one.effect,
            Effect::MbarrierInit { .. }
                | Effect::MbarrierWait { .. }
                | Effect::MbarrierArrive { .. }
        )
    };
    (warps.iter()).any(|warp| warp.effects.iter().any(counts))
}

/// The outermost loop of the paths that warps take with at least this many iterations that are all alike, if there is one.
pub(crate) fn find(code: &MachineCode, paths: &[Arc<[Step]>], least: usize) -> Option<Loop> {
    let longest = paths.iter().max_by_key(|steps| steps.len())?;
    let mut counts: HashMap<u32, usize> = HashMap::default();
    for step in longest.iter() {
        let one = &code.instructions[step.instruction as usize];
        if one.target.is_some_and(|target| target <= step.instruction) {
            *counts.entry(step.instruction).or_default() += 1;
        }
    }
    let mut all: Vec<Loop> = (counts.into_iter())
        .map(|(branch, rounds)| Loop { branch, rounds })
        .filter(|one| one.rounds >= least)
        .collect();
    // The outermost loop has the fewest iterations.
    all.sort_by_key(|one| (one.rounds, one.branch));
    all.into_iter()
        .find(|one| paths.iter().all(|steps| one.fits(steps)))
}

impl Loop {
    /// The ends of the iterations.
    fn ends(self, steps: &[Step]) -> Vec<usize> {
        let is_end = |(_, step): &(usize, &Step)| step.instruction == self.branch;
        steps
            .iter()
            .enumerate()
            .filter(is_end)
            .map(|(at, _)| at)
            .collect()
    }

    /// Whether a warp executes this loop with equal iterations and as often as the others, or not at all.
    fn fits(self, steps: &[Step]) -> bool {
        let ends = self.ends(steps);
        let round =
            |pair: &[usize]| (steps[pair[0] + 1..=pair[1]].iter()).map(|step| step.instruction);
        let same = |rounds: &[usize]| round(&rounds[..2]).eq(round(&rounds[1..]));
        ends.is_empty() || ends.len() == self.rounds && ends.windows(3).all(same)
    }

    /// The steps of a warp with at most `keep` iterations: the first half of them and the last half.
    pub fn cut(self, steps: &[Step], keep: usize) -> Vec<Step> {
        let ends = self.ends(steps);
        if ends.len() <= keep {
            return steps.to_vec();
        }
        let (first, last) = (keep / 2, keep - keep / 2);
        let mut cut = steps[..=ends[first - 1]].to_vec();
        cut.extend_from_slice(&steps[ends[ends.len() - last - 1] + 1..]);
        cut
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine_code::MachineInstruction;

    /// Instruction 0, a loop of 1 and 2, and 3.
    fn code() -> MachineCode {
        let one = |target| MachineInstruction {
            opcode: "NOP".into(),
            operands: String::new(),
            ptx_line: 0,
            guarded: false,
            target,
            stall: 1,
            write: None,
            read: None,
            wait: 0,
        };
        MachineCode {
            registers: 8,
            instructions: vec![one(None), one(None), one(Some(1)), one(None)],
        }
    }

    fn steps(of: impl IntoIterator<Item = u32>) -> Vec<Step> {
        let step = |instruction| Step {
            instruction,
            event: None,
        };
        of.into_iter().map(step).collect()
    }

    fn turning(rounds: usize) -> Vec<Step> {
        steps([0].into_iter().chain([1, 2].repeat(rounds)).chain([3]))
    }

    #[test]
    fn rounds_are_cut_out_of_the_middle() {
        let long = turning(10);
        let paths = [long.clone().into()];
        let found = find(&code(), &paths, 8).expect("a loop");
        assert_eq!((found.branch, found.rounds), (2, 10));
        assert_eq!(found.cut(&long, 4), turning(4));
        assert_eq!(found.cut(&long, 20), long);
        assert_eq!(find(&code(), &paths, 11), None);
    }

    #[test]
    fn warps_that_turn_otherwise_are_left_as_they_are() {
        let (long, short) = (turning(10), turning(9));
        let other = steps([0].into_iter().chain([1, 2].repeat(9)).chain([2, 3]));
        for odd in [short, other] {
            let paths = [long.clone().into(), odd.into()];
            assert_eq!(find(&code(), &paths, 8), None);
        }
        // A warp that never enters the loop does not prevent shortening.
        let paths = [long.into(), steps([0, 3]).into()];
        assert!(find(&code(), &paths, 8).is_some());
    }
}
