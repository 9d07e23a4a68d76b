//! Loads and stores of shared memory that C does not depend on: a kernel that makes them for show could do without shared
//! memory. An instruction is idle if C is still right once it is removed from the PTX.
use emulator::Instruction;
use harness::{Launched, Size, Source, Trial, TrialLaunch};

use super::budget::{Budget, unit};
use super::launches::LaunchResults;
use super::plan::PlannedLaunch;
use super::quote;

/// Steps along K of the launch that is repeated: every stage of a pipeline is used.
const STEPS: u32 = 5;

/// What is said if the instructions that C depends on have less than the budget's least amount of its effect, and a launch with the
/// same tile.
pub fn missed<'a>(budget: &Budget, all: &LaunchResults<'a>) -> Option<(&'a PlannedLaunch, String)> {
    let least = budget.at_least.filter(|_| budget.of.is_shared())?;
    let (launch, _) = all.done.iter().find(|(launch, _)| launch.is_public())?;
    let trial = all.trial(launch);
    // A whole tile: in a padded one, an instruction may store nothing but zeros, and C is right without them.
    let tile = all.rubric.tile[launch.tile];
    let one_tile = PlannedLaunch {
        on: TrialLaunch {
            size: Size {
                m: tile.m,
                n: tile.n,
                k: tile.k * STEPS,
            },
            ..launch.on
        },
        ..(*launch).clone()
    };
    let done = trial.launch_unsanitized(&one_tile.on).ok();
    let done = done.filter(|one| one.verification.ok())?;
    let idle: Vec<_> = amounts(budget, trial, &done)
        .filter(|(amount, _)| *amount > 0.0)
        .filter(|(_, index)| is_idle(all, &one_tile, *index))
        .collect();
    let total: f64 = amounts(budget, trial, &done)
        .map(|(amount, _)| amount)
        .sum();
    let without: f64 = idle.iter().map(|(amount, _)| amount).sum();
    let least = least * unit(budget.per, all, &one_tile);
    if total - without >= least * 0.999_999 {
        return None;
    }
    let whole = |number: f64| harness::thousands(number.round() as u64);
    let (_, worst) = idle.into_iter().max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let instruction = trial.instructions().get(worst)?;
    let quoted = quote::line(trial.source(), instruction);
    let quoted = quoted.map_or(String::new(), |quoted| format!(" in {quoted}"));
    let what = format!(
        "{} of the {} {} {} change nothing: {} is right without them, and at least {} are needed\n  such as {}{quoted}",
        whole(without),
        whole(total),
        budget.of.words(),
        one_tile.label(all.rubric),
        all.rubric.task.output(),
        whole(least),
        instruction.opcode,
    );
    Some((launch, what))
}

/// Each instruction's share of the budget's effect, and its number.
fn amounts<'b>(
    budget: &'b Budget,
    trial: &'b Trial,
    one: &'b Launched,
) -> impl Iterator<Item = (f64, usize)> + 'b {
    let counted = trial.instructions().iter().zip(&one.run.counters);
    let amount = |(index, (of, counters)): (usize, _)| (budget.of.done(of, counters), index);
    counted.enumerate().map(amount)
}

/// Whether C is right without this instruction. One that cannot be removed is not idle.
fn is_idle(all: &LaunchResults, launch: &PlannedLaunch, index: usize) -> bool {
    let trial = all.trial(launch);
    let Some(ptx) = without(trial, index) else {
        return false;
    };
    let source = Source {
        ptx,
        ..trial.source().clone()
    };
    let done = Trial::new(source, all.rubric.task.task())
        .and_then(|trial| trial.launch_unsanitized(&launch.on));
    done.is_ok_and(|one| one.verification.ok())
}

/// The PTX without the statement of an instruction.
fn without(trial: &Trial, index: usize) -> Option<String> {
    let (all, ptx) = (trial.instructions(), &trial.source().ptx);
    let this = all.get(index)?;
    let same =
        |other: &&Instruction| (other.ptx_line, &other.opcode) == (this.ptx_line, &this.opcode);
    let before = all.iter().take(index).filter(same).count();
    removed(ptx, this.ptx_line, &this.opcode, before)
}

/// A text without the statement on this line that has this opcode. Inline PTX may have several of them on a line, and a function
/// that is called several times repeats them.
fn removed(ptx: &str, line: u32, opcode: &str, before: usize) -> Option<String> {
    let from = (ptx.split_inclusive('\n').map(str::len))
        .take((line as usize).checked_sub(1)?)
        .sum::<usize>();
    let text = ptx.get(from..)?.lines().next()?;
    let found: Vec<usize> = text.match_indices(opcode).map(|(at, _)| at).collect();
    let is_word = |at: &usize| {
        let ends = |of: Option<char>| of.is_none_or(|of| of.is_whitespace() || ";{}:".contains(of));
        ends(text[..*at].chars().next_back()) && ends(text[at + opcode.len()..].chars().next())
    };
    let found: Vec<usize> = found.into_iter().filter(is_word).collect();
    let at = from + found.get(before.checked_rem(found.len())?)?;
    let begins = ptx[..at].rfind([';', '{', '}', ':', '\n'])? + 1;
    let ends = at + ptx[at..].find(';')?;
    Some(format!("{}{}", &ptx[..begins], &ptx[ends..]))
}

#[cfg(test)]
mod tests {
    use super::removed;

    #[test]
    fn a_statement_is_removed_with_its_guard() {
        let ptx = "a;\n$L: @%p1 st.shared.u32 [%r1], {%r2};\n{ st.u32 [a], 1; st.u32 [b], 2; st.u32.v2 [c], 3; }\n";
        let without = |line, opcode, before| removed(ptx, line, opcode, before).unwrap_or_default();
        assert!(without(2, "st.shared.u32", 0).contains("\n$L:;\n{ st"));
        assert!(without(3, "st.u32", 1).contains("{ st.u32 [a], 1;; st.u32.v2"));
        // The same statement in another call.
        assert!(without(3, "st.u32", 2).contains("{; st.u32 [b]"));
        assert!(removed(ptx, 3, "ld.u32", 0).is_none());
        assert!(removed(ptx, 9, "st.u32", 0).is_none());
    }
}
