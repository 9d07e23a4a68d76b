//! All recordings of a card, compared with the emulator.
use anyhow::Error;
use emulator::Card;

use crate::instructions::{self, Comparison};
use crate::kernels;
use crate::recordings::{Part, Recordings};

/// The result for a file.
pub enum Compared {
    /// It was executed and compared.
    With(Comparison),
    /// It cannot be read or executed.
    Not(Error),
    /// No kind of recording has this name.
    Ignored,
}

/// Executes these parts of the recordings on the emulator of this card and compares them: whole kernels first, then
/// one file after the other. For a malformed file of whole kernels the error has the file's name.
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
