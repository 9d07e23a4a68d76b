//! `{{#table FILE.csv}}`: a table of other people's measurements or of given facts, from a file of the repository.
use anyhow::{Context, Result, ensure};

use super::choice::Choice;
use super::{Directive, options};

/// A file, and the part to show.
pub fn read(words: &str) -> Result<Directive> {
    let (file, choice) = options::split(words);
    ensure!(
        file.ends_with(".csv") && !file.contains(char::is_whitespace),
        "the words are a file: `FILE.csv | rows … | columns …`"
    );
    let (file, choice) = (file.to_owned(), Choice::read(choice)?);
    Ok(Directive::block(move |world, _| {
        let table = choice.of_csv(&world.read(&file)?);
        Ok(table.with_context(|| file.clone())? + "\n")
    }))
}
