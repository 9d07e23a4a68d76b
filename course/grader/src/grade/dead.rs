//! Dead accesses to shared memory: those that C does not depend on. A kernel that makes them for show could do without shared
//! memory. A statement is dead if C is still right once it is removed from the PTX, in addition to those found dead before: of two
//! that do the same, one is not. `shared_values` finds those whose value is checked or cancelled.
use std::collections::BTreeMap;

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
    let mut ptx = trial.source().ptx.clone();
    let mut dead = Vec::new();
    // From the last to the first, so that those before stay where they are.
    for ((line, nth, opcode), (amount, index)) in statements(budget, trial, &done).into_iter().rev()
    {
        let less = removed(&ptx, line, opcode, nth);
        if let Some(less) = less.filter(|less| is_right(all, &one_tile, less)) {
            ptx = less;
            dead.push((amount, index));
        }
    }
    let total: f64 = amounts(budget, trial, &done)
        .map(|(amount, _)| amount)
        .sum();
    let without: f64 = dead.iter().map(|(amount, _)| amount).sum();
    let least = least * unit(budget.per, all, &one_tile);
    if total - without >= least * 0.999_999 {
        return None;
    }
    let whole = |number: f64| harness::thousands(number.round() as u64);
    let (_, worst) = dead.into_iter().max_by(|(a, _), (b, _)| a.total_cmp(b))?;
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

/// The statements that have a share of the budget's effect, by their line, which of those with the same opcode on that line they are,
/// and their opcode; with their share, and the number of an instruction. A function that is called several times has an
/// instruction for each call.
fn statements<'b>(
    budget: &'b Budget,
    trial: &'b Trial,
    one: &'b Launched,
) -> BTreeMap<(u32, usize, &'b str), (f64, usize)> {
    let all = trial.instructions();
    let mut statements = BTreeMap::new();
    for (amount, index) in amounts(budget, trial, one).filter(|(amount, _)| *amount > 0.0) {
        let Some(this) = all.get(index) else { continue };
        let same =
            |other: &&Instruction| (other.ptx_line, &other.opcode) == (this.ptx_line, &this.opcode);
        let before = all.iter().take(index).filter(same).count();
        let there = places(&trial.source().ptx, this.ptx_line, &this.opcode).len();
        // One that cannot be removed is not dead.
        if let Some(nth) = before.checked_rem(there) {
            let key = (this.ptx_line, nth, this.opcode.as_str());
            statements.entry(key).or_insert((0.0, index)).0 += amount;
        }
    }
    statements
}

/// Whether C is right with this PTX.
fn is_right(all: &LaunchResults, launch: &PlannedLaunch, ptx: &str) -> bool {
    let source = Source {
        ptx: ptx.into(),
        ..all.trial(launch).source().clone()
    };
    let done = Trial::new(source, all.rubric.task.task())
        .and_then(|trial| trial.launch_unsanitized(&launch.on));
    done.is_ok_and(|one| one.verification.ok())
}

/// Where the statements with this opcode are on this line. Inline PTX may have several of them.
fn places(ptx: &str, line: u32, opcode: &str) -> Vec<usize> {
    let lines = ptx.split_inclusive('\n').map(str::len);
    let from: usize = lines.take(line.saturating_sub(1) as usize).sum();
    let text = ptx.get(from..).and_then(|text| text.lines().next());
    let text = text.unwrap_or_default();
    let is_word = |at: &usize| {
        let ends = |of: Option<char>| of.is_none_or(|of| of.is_whitespace() || ";{}:".contains(of));
        ends(text[..*at].chars().next_back()) && ends(text[at + opcode.len()..].chars().next())
    };
    let found = text.match_indices(opcode).map(|(at, _)| at);
    found.filter(is_word).map(|at| from + at).collect()
}

/// The PTX without one of the statements with this opcode on this line.
fn removed(ptx: &str, line: u32, opcode: &str, nth: usize) -> Option<String> {
    let at = *places(ptx, line, opcode).get(nth)?;
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
        let without = |line, opcode, nth| removed(ptx, line, opcode, nth).unwrap_or_default();
        assert!(without(2, "st.shared.u32", 0).contains("\n$L:;\n{ st"));
        assert!(without(3, "st.u32", 1).contains("{ st.u32 [a], 1;; st.u32.v2"));
        assert!(without(3, "st.u32", 0).contains("{; st.u32 [b]"));
        assert!(removed(ptx, 3, "st.u32", 2).is_none());
        assert!(removed(ptx, 3, "ld.u32", 0).is_none());
        assert!(removed(ptx, 9, "st.u32", 0).is_none());
    }
}
