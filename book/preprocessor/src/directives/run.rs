//! `{{#run COMMAND | from TEXT | to TEXT | line TEXT | exit CODE}}`: the output of a command.
use anyhow::{Context, Result};
use transcript::{CommandLine, Output};

use super::lines::{self, Lines};
use super::{Directive, options};
use crate::fence::fenced;
use crate::live;
use crate::world::{World, exit_code};

/// A command, and the lines to show.
pub struct Run {
    pub command: CommandLine,
    pub exit: i32,
    pub lines: Lines,
}

pub fn read(words: &str) -> Result<Directive> {
    let (command, rest) = options::split(words);
    let options = options::named(rest, &[&lines::OPTIONS[..], &["exit"]].concat())?;
    let exit = options::value(&options, "exit").map(str::parse).transpose();
    let run = Run {
        command: command.parse()?,
        exit: exit.context("`| exit` takes a number")?.unwrap_or(0),
        lines: lines::read(&options),
    };
    let command = run.command.clone();
    Ok(Directive::of_command(command, move |world, _| {
        run.block(world)
    }))
}

impl Run {
    /// Its output, if it exited with the expected code.
    pub fn output<'a>(&self, world: &'a World) -> Result<&'a Output> {
        let output = world.output(&self.command)?;
        exit_code(&self.command, output, self.exit)?;
        Ok(output)
    }

    /// The command and the shown lines.
    pub fn block(&self, world: &World) -> Result<String> {
        let output = self.output(world)?;
        // A failing command's standard error is shown, as a reader who runs it would see it; otherwise standard error
        // is only progress.
        let complaints = if self.exit == 0 { "" } else { &output.errors };
        let text = output.text.clone() + complaints;
        let kept = self
            .lines
            .of(&text)
            .with_context(|| format!("`{}`", self.command.text))?;
        let data = live::data(world, &self.command, &self.lines);
        Ok(marked(&data, &format!("$ {}", self.command.text), &kept))
    }
}

/// A command with an excerpt of its output; a page that runs it shows all of it.
pub fn some_lines(world: &World, command: &CommandLine, lines: &str) -> String {
    let data = live::data_of_some_lines(world, command);
    marked(&data, &format!("$ {}", command.text), lines)
}

/// A command with its output.
pub fn block(command: &str, text: &str) -> String {
    listing(&format!("$ {command}"), text)
}

/// Lines with a line above them that states their origin.
pub fn listing(head: &str, text: &str) -> String {
    marked("", head, text)
}

/// The same with attributes for the page's scripts.
fn marked(attributes: &str, head: &str, text: &str) -> String {
    let listing = fenced("text", &format!("{head}\n{text}"));
    format!("<div class=\"run\"{attributes}>\n\n{listing}\n</div>\n")
}
