//! `{{#result …}}`: what was recorded on a GPU. The record is the one that README.md names.
mod number;
mod plot;
mod record;
mod table;

use anyhow::{Result, bail};

use super::{Directive, options};
pub use record::Record;

/// Understands the words.
pub fn read(words: &str) -> Result<Box<dyn Directive>> {
    let (what, alt) = options::split(words);
    if let ["bench", rung, arch @ .., size, field] =
        &what.split_whitespace().collect::<Vec<_>>()[..]
        && arch.len() <= 1
        && alt.is_none()
    {
        let label = [&[*rung], arch].concat().join(" ");
        return Ok(Box::new(number::Number::new(label, size, field)));
    }
    let file = what.split_once('#').map_or(what, |(file, _)| file);
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if file.is_empty() || !file.chars().all(plain) {
        bail!(
            "the words are a file of the record (`bench.md#by-rung`, `counters.csv`, `rungs.svg | what it shows`) or \
             `bench RUNG [ARCH] SIZE percent|tflops|time_us`"
        );
    }
    Ok(
        match file.rsplit_once('.').map_or("", |(_, ending)| ending) {
            "svg" => Box::new(plot::Plot::read(file, alt)?),
            _ if alt.is_some() => bail!("only a picture takes a text behind ` | `"),
            "csv" => Box::new(table::Table::of_csv(file)),
            "md" => Box::new(table::Table::of_markdown(what)?),
            _ => bail!("`{file}` is neither a table (.md#section, .csv) nor a plot (.svg)"),
        },
    )
}

/// What stands below whatever comes from a record.
fn provenance(record: &Record) -> String {
    format!(
        "<p class=\"provenance\">Recorded on {}.</p>\n",
        record.provenance()
    )
}
