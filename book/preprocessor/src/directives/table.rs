//! `{{#table FILE.csv}}`: a table that others measured or that is given, from a file of the repository.
use anyhow::{Context, Result, ensure};

use super::choice::{Cells, Choice};
use super::{Directive, Shown, options};
use crate::world::World;

/// A file, and what of it is shown.
pub struct Table {
    file: String,
    choice: Choice,
}

impl Table {
    pub fn read(words: &str) -> Result<Self> {
        let (file, choice) = options::split(words);
        ensure!(
            file.ends_with(".csv") && !file.contains(char::is_whitespace),
            "the words are a file: `FILE.csv | rows … | columns …`"
        );
        Ok(Self {
            file: file.into(),
            choice: Choice::read(choice)?,
        })
    }
}

impl Directive for Table {
    fn show(&self, world: &World, _: &str) -> Result<Shown> {
        let cells = Cells::of_csv(&world.read(&self.file)?);
        let table = cells.and_then(|cells| self.choice.markdown(cells));
        Ok(Shown::Block(
            table.with_context(|| self.file.clone())? + "\n",
        ))
    }
}
