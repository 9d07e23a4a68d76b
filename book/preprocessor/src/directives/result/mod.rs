//! `{{#result …}}`: what was recorded on a GPU. The record is the one that README.md names; other recordings are named by
//! their folder.
mod elsewhere;
mod number;
mod plot;
mod provenance;
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
    let mut parts = file.split('/');
    if !parts.all(|part| !part.is_empty() && !part.starts_with('.') && part.chars().all(plain)) {
        bail!(
            "the words are a file of the record (`bench.md#by-rung`, `tiles.csv`, `rungs.svg | what it shows`), another \
             recording (`tests/h100/stalls.csv | rows … | columns …`) or `bench RUNG [ARCH] SIZE percent|tflops|time_us`"
        );
    }
    if file.contains('/') {
        return Ok(Box::new(elsewhere::Elsewhere::read(what, alt)?));
    }
    Ok(
        match file.rsplit_once('.').map_or("", |(_, ending)| ending) {
            "svg" => Box::new(plot::Plot::read(file, alt)?),
            "csv" => Box::new(table::Table::of_csv(file, alt)?),
            _ if alt.is_some() => bail!("only a picture or a CSV file takes words behind ` | `"),
            "md" => Box::new(table::Table::of_markdown(what)?),
            _ => bail!("`{file}` is neither a table (.md#section, .csv) nor a plot (.svg)"),
        },
    )
}

/// What stands below whatever comes from a record.
fn provenance(record: &Record) -> String {
    recorded_on(&record.provenance())
}

fn recorded_on(provenance: &str) -> String {
    format!("<p class=\"provenance\">Recorded on {provenance}.</p>\n")
}
