//! The directives, one per file.
mod budget;
mod choice;
pub mod claims;
mod code;
mod commands;
mod diff;
mod figure;
mod lines;
pub mod minutes;
mod number;
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

/// The output of a directive.
pub enum Shown {
    /// Complete lines.
    Block(String),
    /// Part of a sentence.
    Inline(String),
    /// The reading time of the page, which is known last.
    Minutes,
}

type Commands = dyn Fn(&World) -> Vec<CommandLine> + Send + Sync;
type Show = dyn Fn(&World, &str) -> Result<Shown> + Send + Sync;

/// A parsed directive.
pub struct Directive {
    commands: Box<Commands>,
    show: Box<Show>,
}

impl Directive {
    /// A directive that shows this and runs nothing; see [`Self::show`].
    fn new(show: impl Fn(&World, &str) -> Result<Shown> + Send + Sync + 'static) -> Self {
        Self {
            commands: Box::new(|_| Vec::new()),
            show: Box::new(show),
        }
    }

    /// A directive that shows complete lines.
    fn block(show: impl Fn(&World, &str) -> Result<String> + Send + Sync + 'static) -> Self {
        Self::new(move |world, id| Ok(Shown::Block(show(world, id)?)))
    }

    /// The same, from the output of this command.
    fn of_command(
        command: CommandLine,
        show: impl Fn(&World, &str) -> Result<String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            commands: Box::new(move |_| vec![command.clone()]),
            ..Self::block(show)
        }
    }

    /// A directive that is part of a sentence, from the output of these commands.
    fn inline(
        commands: Vec<CommandLine>,
        show: impl Fn(&World, &str) -> Result<Shown> + Send + Sync + 'static,
    ) -> Self {
        Self {
            commands: Box::new(move |_| commands.clone()),
            ..Self::new(show)
        }
    }

    /// The commands whose output it shows. It is called again when those have run, until it returns no more.
    pub fn commands(&self, world: &World) -> Vec<CommandLine> {
        (self.commands)(world)
    }

    /// Its output. `id` is a name that no other directive of the book has.
    pub fn show(&self, world: &World, id: &str) -> Result<Shown> {
        (self.show)(world, id)
    }
}

/// Parses the text between `{{#` and `}}`; a block directive also has a body.
pub fn read(words: &str, body: Option<&str>) -> Result<Directive> {
    let words = words.trim();
    let (name, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    let rest = rest.trim();
    match name {
        "claims" | "commands" | "minutes" if !rest.is_empty() => {
            bail!("`{{{{#{name}}}}}` takes no words")
        }
        "budget" => budget::read(rest),
        "claims" => Ok(claims::directive()),
        "code" => code::read(rest),
        "commands" => Ok(commands::directive()),
        "diff" => diff::read(rest),
        "figure" => figure::read(rest),
        "minutes" => Ok(Directive::new(|_, _| Ok(Shown::Minutes))),
        "number" => number::read(rest),
        "predict" => predict::read(body.unwrap_or_default()),
        "result" => result::read(rest),
        "run" => run::read(rest),
        "table" => table::read(rest),
        "include" | "playground" | "rustdoc_include" => bail!(
            "`{{{{#{name}}}}}` leaves a hole where a file is missing; use `{{{{#code FILE}}}}`"
        ),
        _ => bail!(
            "there is no directive `{name}`; there are budget, claims, code, commands, diff, figure, minutes, number, predict, result, run, table"
        ),
    }
}
