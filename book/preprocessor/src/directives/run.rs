//! `{{#run COMMAND | from TEXT | to TEXT | exit CODE}}`: what a command prints.
use anyhow::{Context, Result, bail};
use transcript::{CommandLine, Output};

use super::{Directive, Shown, options};
use crate::fence::fenced;
use crate::world::{World, exit_code};

/// A command, and which of its lines are shown.
pub struct Run {
    command: CommandLine,
    from: Option<String>,
    to: Option<String>,
    exit: i32,
}

impl Run {
    /// All that the command prints.
    pub fn new(command: CommandLine, exit: i32) -> Self {
        Self {
            command,
            from: None,
            to: None,
            exit,
        }
    }

    pub fn read(words: &str) -> Result<Self> {
        let (command, rest) = options::split(words);
        let options = options::named(rest, &["from", "to", "exit"])?;
        let value = |name| options::value(&options, name);
        let exit = value("exit").map(str::parse).transpose();
        let exit = exit.context("`| exit` takes a number")?.unwrap_or(0);
        let mut run = Self::new(command.parse()?, exit);
        run.keep(
            value("from").map(str::to_owned),
            value("to").map(str::to_owned),
        );
        Ok(run)
    }

    /// Shows only lines from one that contains the first text to one that contains the second.
    pub fn keep(&mut self, from: Option<String>, to: Option<String>) {
        self.from = from;
        self.to = to;
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
        let kept = kept(&text, self.from.as_deref(), self.to.as_deref())
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

/// The lines from the first that contains `from` to the next that contains `to`; `…` stands for the others.
fn kept(text: &str, from: Option<&str>, to: Option<&str>) -> Result<String> {
    let lines: Vec<&str> = text.trim_end_matches('\n').lines().collect();
    let first = match from {
        None => 0,
        Some(from) => match lines.iter().position(|line| line.contains(from)) {
            Some(first) => first,
            None => bail!("no line of its output contains `{from}`"),
        },
    };
    // The line that starts what is shown is only its end if nothing else says where it starts.
    let after = first + usize::from(from.is_some());
    let last = match to {
        None => lines.len(),
        Some(to) => match lines.iter().skip(after).position(|line| line.contains(to)) {
            Some(last) => after + last + 1,
            None => bail!("no line of its output below the first that is shown contains `{to}`"),
        },
    };
    let mut kept = Vec::new();
    kept.extend((first > 0).then_some("…"));
    kept.extend(&lines[first..last]);
    kept.extend((last < lines.len()).then_some("…"));
    Ok(kept.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::kept;

    #[test]
    fn lines_from_one_to_another() {
        let text = "a\nb 1\nc\nb 2\nd\n";
        let kept = |from, to| kept(text, from, to).map_err(|error| error.to_string());
        assert_eq!(kept(None, None), Ok("a\nb 1\nc\nb 2\nd".into()));
        assert_eq!(kept(Some("b"), None), Ok("…\nb 1\nc\nb 2\nd".into()));
        assert_eq!(kept(Some("b"), Some("b")), Ok("…\nb 1\nc\nb 2\n…".into()));
        assert_eq!(kept(None, Some("a")), Ok("a\n…".into()));
        assert!(kept(Some("x"), None).is_err_and(|why| why.contains("`x`")));
        assert!(kept(Some("b 2"), Some("c")).is_err());
    }
}
