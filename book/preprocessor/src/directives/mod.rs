//! The directives, a file each.
mod choice;
pub mod claims;
mod code;
mod commands;
mod diff;
mod figure;
mod lines;
pub mod minutes;
mod options;
mod parts;
mod predict;
mod result;
mod run;
mod table;

use anyhow::{Result, bail};
use transcript::CommandLine;

use crate::world::World;
pub use result::Record;

/// What stands in a directive's place.
pub enum Shown {
    /// Lines of their own.
    Block(String),
    /// Part of a sentence.
    Inline(String),
    /// How long the page takes, which is known once everything else is.
    Minutes,
}

/// A directive whose words have been understood.
pub trait Directive: Send + Sync {
    /// The commands whose output it shows. It is asked again when those have run, until it knows no more.
    fn commands(&self, _: &World) -> Vec<CommandLine> {
        Vec::new()
    }

    /// What stands in its place. `id` is a name that no other directive of the book has.
    fn show(&self, world: &World, id: &str) -> Result<Shown>;
}

/// Understands what stands between `{{#` and `}}`; a block directive also has a body.
pub fn read(words: &str, body: Option<&str>) -> Result<Box<dyn Directive>> {
    let words = words.trim();
    let (name, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let rest = rest.trim();
    Ok(match name {
        "claims" => Box::new(claims::Claims::read(rest)?),
        "code" => Box::new(code::Code::read(rest)?),
        "commands" => Box::new(commands::Commands::read(rest)?),
        "diff" => Box::new(diff::Diff::read(rest)?),
        "figure" => figure::read(rest)?,
        "minutes" => Box::new(minutes::Minutes::read(rest)?),
        "predict" => Box::new(predict::Predict::read(body.unwrap_or_default())?),
        "result" => result::read(rest)?,
        "run" => Box::new(run::Run::read(rest)?),
        "table" => Box::new(table::Table::read(rest)?),
        "include" | "playground" | "rustdoc_include" => bail!(
            "`{{{{#{name}}}}}` leaves a hole where a file is missing; use `{{{{#code FILE}}}}`"
        ),
        _ => bail!(
            "there is no directive `{name}`; there are claims, code, commands, diff, figure, minutes, predict, result, run, table"
        ),
    })
}
