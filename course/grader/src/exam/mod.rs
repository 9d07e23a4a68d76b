//! Questions about accesses of a warp, with an answer key. They depend on a seed only, and are the same on every
//! machine.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `random` | which numbers? |
//! | `families` | what is asked, and what explains the answer? |
//! | `formula` | where are a lane's bytes? |
//! | `access` | what does a warp do, and what can be counted? |
//! | `predicted` | what does the `layout` crate calculate? |
//! | `executed` | what does the emulator count? |
//! | `sheet` | what do student and teacher see? |
//! | `starter` | which files does an exam assignment have? |
pub(crate) mod access;
mod executed;
mod families;
mod formula;
pub(crate) mod predicted;
mod random;
pub(crate) mod sheet;
pub(crate) mod starter;

use std::collections::BTreeSet;

use access::{Count, WarpAccess};
use anyhow::{Context, Result, ensure};
use families::{Draft, FAMILIES};
use random::SeededRandom;

/// The most questions of an exam.
pub const MOST: u32 = 100;

/// An access of a warp, what is asked about it, and an explanation.
#[derive(Debug, PartialEq, Eq)]
pub struct Question {
    /// The key of its answers: `q01`.
    pub key: String,
    draft: Draft,
    /// Byte offset of each lane.
    offsets: Vec<u32>,
    counts: Vec<(Count, u64)>,
}

impl Question {
    /// What is asked, by its key among the answers, and the answer.
    pub fn answers(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = self.counts.iter();
        counts.map(|(count, number)| (count.name(), *number))
    }

    /// The instruction.
    pub(crate) fn op(&self) -> access::Op {
        self.draft.access.op
    }

    /// Explains the answer: which lanes conflict, but never how many wavefronts or sectors that makes.
    pub fn reason(&self) -> String {
        let Draft { access, reason, .. } = &self.draft;
        match predicted::meeting(access.op, access.bytes, &self.offsets) {
            Some(meeting) => format!("{reason} Here {meeting}."),
            None => reason.clone(),
        }
    }
}

/// The questions of a seed: all accesses differ, hard and easy ones are mixed. A longer exam begins with the shorter
/// one.
///
/// # Errors
/// If there are not that many, or if formulas and emulator disagree.
pub fn questions(seed: u64, number: u32) -> Result<Vec<Question>> {
    ensure!(
        (1..=MOST).contains(&number),
        "an exam has 1 to {MOST} questions, not {number}"
    );
    let mut draw = SeededRandom::new(seed);
    let mut families = Vec::new();
    let mut seen = BTreeSet::new();
    let mut questions = Vec::new();
    let mut repeated = 0;
    while questions.len() < number as usize {
        if families.is_empty() {
            families = FAMILIES.to_vec();
            draw.shuffle(&mut families);
        }
        let Some(family) = families.pop() else { break };
        let draft = family(&mut draw);
        let offsets = predicted::offsets(&draft.access)?;
        if seen.insert(looks(&draft.access, &offsets)) {
            let key = format!("q{:02}", questions.len() + 1);
            questions.push(asked(key, draft, offsets)?);
        } else {
            repeated += 1;
            ensure!(
                repeated < 1000,
                "there are fewer than {number} different questions"
            );
        }
    }
    Ok(questions)
}

/// Questions that look alike have the same answer: another column of a tile is the same access.
fn looks(access: &WarpAccess, offsets: &[u32]) -> impl Ord + use<> {
    let from = match access.op.shared() {
        Some(_) => offsets.iter().min().copied().unwrap_or_default(),
        None => 0,
    };
    let offsets: Vec<u32> = offsets.iter().map(|offset| offset - from).collect();
    (access.op, access.bytes, offsets)
}

/// A question with the formulas' counts, if the emulator counts the same.
fn asked(key: String, draft: Draft, offsets: Vec<u32>) -> Result<Question> {
    let access = &draft.access;
    let counts = predicted::counts(access.op, access.bytes, &offsets);
    let end = offsets.iter().max().map_or(0, |last| last + access.bytes);
    let executed = executed::counts(access, end);
    let executed = executed.with_context(|| format!("{key}: {}", draft.story))?;
    ensure!(
        counts == executed,
        "{key}, {}, {}: formulas say {counts:?}, the emulator counts {executed:?}; please report this",
        access.instruction(),
        access.address
    );
    Ok(Question {
        key,
        draft,
        offsets,
        counts,
    })
}

#[cfg(test)]
mod tests;
