//! `{{#result …}}`: recordings of a GPU. The main record is the one that README.md names; other recordings are named by
//! their folder.
mod elsewhere;
mod provenance;
mod record;

use anyhow::{Context, Result, bail};

use super::choice::Choice;
use super::figure::figure;
use super::{Directive, Shown, options};
use crate::svg;
pub use record::Record;

/// Parses the arguments.
pub fn read(words: &str) -> Result<Directive> {
    let (what, alt) = options::split(words);
    if let ["bench", rung, size, field] = what.split_whitespace().collect::<Vec<_>>()[..]
        && alt.is_none()
    {
        let [rung, size, field] = [rung, size, field].map(str::to_owned);
        return Ok(Directive::new(move |world, _| {
            let number = world.record()?.number(&rung, &size, &field)?;
            Ok(Shown::Inline(number))
        }));
    }
    let file = what.split_once('#').map_or(what, |(file, _)| file);
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let mut parts = file.split('/');
    if !parts.all(|part| !part.is_empty() && !part.starts_with('.') && part.chars().all(plain)) {
        bail!(
            "the words are a file of the record (`bench.md#by-rung`, `tiles.csv`, `rungs.svg | what it shows`), another \
             recording (`calibration/h100/stalls.csv | rows … | columns …`) or `bench RUNG SIZE percent|tflops|time_us|clocks`"
        );
    }
    if file.contains('/') {
        return elsewhere::read(what, alt);
    }
    match file.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "svg" => plot(file, alt),
        "csv" => {
            let choice = Choice::read(alt)?;
            Ok(of_record(file, "\n\n", move |text, _| choice.of_csv(text)))
        }
        _ if alt.is_some() => bail!("only a picture or a CSV file takes words after ` | `"),
        "md" => {
            let section = what.split_once('#').map(|(_, section)| section.to_owned());
            let section = section.context("which of its sections? `FILE.md#section`")?;
            let show = move |text: &str, _: &str| of_section(text, &section);
            Ok(of_record(file, "\n\n", show))
        }
        _ => bail!("`{file}` is neither a table (.md#section, .csv) nor a plot (.svg)"),
    }
}

/// A picture of the record, and its description.
fn plot(file: &str, alt: Option<&str>) -> Result<Directive> {
    let alt = alt.filter(|alt| !alt.trim().is_empty()).map(str::to_owned);
    let alt =
        alt.context("a plot needs a description for readers who do not see it: `| what it shows`")?;
    Ok(of_record(file, "", move |text, id| {
        Ok(figure("picture", &svg::inline(text, &alt, id)?))
    }))
}

/// A file of the record in this format, followed by its provenance.
fn of_record(
    file: &str,
    end: &'static str,
    show: impl Fn(&str, &str) -> Result<String> + Send + Sync + 'static,
) -> Directive {
    let file = file.to_owned();
    Directive::block(move |world, id| {
        let record = world.record()?;
        let shown = show(&record.file(world, &file)?, id).with_context(|| file.clone())?;
        Ok(shown + end + &recorded_on(&record.provenance()))
    })
}

fn recorded_on(provenance: &str) -> String {
    format!("<p class=\"provenance\">Recorded on {provenance}.</p>\n")
}

/// The table in a section.
pub fn of_section(text: &str, name: &str) -> Result<String> {
    let lines =
        transcript::section(text, name).with_context(|| format!("it has no section {name}"))?;
    let rows: Vec<&str> = lines
        .into_iter()
        .filter(|line| line.starts_with('|'))
        .collect();
    if rows.is_empty() {
        bail!("its section {name} holds no table");
    }
    Ok(rows.join("\n"))
}
