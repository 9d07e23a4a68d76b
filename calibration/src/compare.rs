//! All recordings of a card, compared with the emulator.
use anyhow::Error;
use emulator::Card;

use crate::instructions::{self, Comparison};
use crate::kernels;
use crate::recordings::{Part, Recordings};

/// What became of a file.
pub enum Compared {
    /// It was executed again.
    With(Comparison),
    /// It cannot be read or executed.
    Not(Error),
    /// No recording has such a name.
    Ignored,
}

/// Executes these parts of the recordings again on the emulator of this card, one file after the other: whole kernels
/// first. A file of whole kernels that cannot be read has no name of its own, and is named by the error.
pub fn compare(
    recordings: &Recordings,
    parts: &[Part],
    card: Card,
) -> impl Iterator<Item = (String, Compared)> {
    let of_kernels = match parts.contains(&Part::Rungs) {
        true => kernels::compare(recordings, card),
        false => Ok(Vec::new()),
    };
    let of_kernels = match of_kernels {
        Ok(compared) => compared
            .into_iter()
            .map(|(name, comparison)| (name.to_owned(), Compared::With(comparison)))
            .collect(),
        Err(why) => vec![(String::new(), Compared::Not(why))],
    };
    let others = recordings.0.iter().filter(move |(name, _)| {
        let of_other_part = instructions::is_known(name) && !parts.contains(&Part::of(name));
        !kernels::is_known(name) && !of_other_part
    });
    let of_instructions = others.map(move |(name, bytes)| {
        let compared = match instructions::compare(name, bytes, card) {
            Some(Ok(comparison)) => Compared::With(comparison),
            Some(Err(why)) => Compared::Not(Error::msg(why)),
            None => Compared::Ignored,
        };
        (name.clone(), compared)
    });
    of_kernels.into_iter().chain(of_instructions)
}
