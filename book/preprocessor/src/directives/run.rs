//! `{{#run COMMAND | from TEXT | to TEXT | line TEXT | exit CODE}}`: what a command prints.
use anyhow::{Context, Result};
use transcript::{CommandLine, Output};

use super::lines::Lines;
use super::{Directive, Shown, options};
use crate::fence::fenced;
use crate::world::{World, exit_code};

/// A command, and which of its lines are shown.
pub struct Run {
    command: CommandLine,
    lines: Lines,
    exit: i32,
}

impl Run {
    /// These lines of what the command prints.
    pub fn new(command: CommandLine, exit: i32, lines: Lines) -> Self {
        Self {
            command,
            lines,
            exit,
        }
    }

    pub fn read(words: &str) -> Result<Self> {
        let (command, rest) = options::split(words);
        let options = options::named(rest, &[&Lines::OPTIONS[..], &["exit"]].concat())?;
        let exit = options::value(&options, "exit").map(str::parse).transpose();
        let exit = exit.context("`| exit` takes a number")?.unwrap_or(0);
        Ok(Self::new(command.parse()?, exit, Lines::read(&options)))
    }

    /// The command.
    pub fn line(&self) -> CommandLine {
        self.command.clone()
    }

    /// As the reader types it.
    pub fn command(&self) -> &str {
        &self.command.text
    }

    /// What it printed, if it ended as it should.
    pub fn output<'a>(&self, world: &'a World) -> Result<&'a Output> {
        let output = world.output(&self.command)?;
        exit_code(&self.command, output, self.exit)?;
        Ok(output)
    }

    /// The command with the lines that are shown.
    pub fn block(&self, world: &World) -> Result<String> {
        let output = self.output(world)?;
        // Whoever runs it sees its complaints too; where all is well, standard error has progress.
        let complaints = if self.exit == 0 { "" } else { &output.errors };
        let text = output.text.clone() + complaints;
        let kept = self
            .lines
            .of(&text)
            .with_context(|| format!("`{}`", self.command.text))?;
        Ok(block(&self.command.text, &kept))
    }
}

impl Directive for Run {
    fn commands(&self, _: &World) -> Vec<CommandLine> {
        vec![self.command.clone()]
    }

    fn show(&self, world: &World, _: &str) -> Result<Shown> {
        Ok(Shown::Block(self.block(world)?))
    }
}

/// A command with what it prints.
pub fn block(command: &str, text: &str) -> String {
    let listing = fenced("text", &format!("$ {command}\n{text}"));
    format!("<div class=\"run\">\n\n{listing}\n</div>\n")
}
