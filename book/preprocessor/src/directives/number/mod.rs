//! `{{#number SOURCE | WHERE | HOW}}`: a measured number in a sentence.
mod shown;
mod take;

use anyhow::{Context, Result};
use transcript::CommandLine;

use super::figure::LADDER;
use super::result::of_section;
use super::{Directive, Shown, options};
use crate::world::World;
use shown::Format;
pub use shown::{grouped, rounded_to};
pub use take::Take;

/// The source of the number.
enum Source {
    /// A file of the repository, or of the record; of a Markdown file, a section.
    File(String),
    /// The output of a command.
    Command(CommandLine),
}

/// Parses the arguments.
pub fn read(words: &str) -> Result<Directive> {
    let (source, rest) = options::split(words);
    let places = ["pointer", "regex", "row", "column"];
    let options = options::named(rest, &[&places[..], &Format::OPTIONS].concat())?;
    let [pointer, regex, row, column] = places.map(|name| options::value(&options, name));
    let take = Take::new(pointer, regex, (row, column))?;
    let format = Format::read(&options)?;
    let source = Source::read(source)?;
    let commands = match &source {
        Source::File(_) => Vec::new(),
        Source::Command(line) => vec![line.clone()],
    };
    Ok(Directive::inline(commands, move |world, _| {
        let text = source.text(world)?;
        let number = take.text(&text).and_then(|found| format.of(&found));
        Ok(Shown::Inline(number.with_context(|| source.name())?))
    }))
}

impl Source {
    fn read(words: &str) -> Result<Self> {
        let (first, _) = words.split_once(' ').unwrap_or((words, ""));
        Ok(match first {
            "cargo" => Self::Command(words.parse()?),
            _ if LADDER.contains(&first) => {
                Self::Command(format!("cargo ladder {words} --format json").parse()?)
            }
            _ => Self::File(words.to_owned()),
        })
    }

    fn name(&self) -> String {
        match self {
            Self::File(file) => file.clone(),
            Self::Command(line) => format!("`{}`", line.text),
        }
    }

    fn text(&self, world: &World) -> Result<String> {
        match self {
            Self::Command(line) => Ok(world.success(line)?.to_owned()),
            Self::File(file) => {
                let (path, section) = match file.split_once('#') {
                    Some((path, section)) => (path, Some(section)),
                    None => (file.as_str(), None),
                };
                let text = match path.contains('/') {
                    true => world.read(path)?,
                    false => world.record()?.file(world, path)?,
                };
                match section {
                    Some(section) => of_section(&text, section).context(path.to_owned()),
                    None => Ok(text),
                }
            }
        }
    }
}
