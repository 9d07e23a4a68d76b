//! The inputs of directives.
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow, bail};
use transcript::{CommandLine, Output, Programs};

use crate::cache;
use crate::directives::Record;
use crate::page::Page;

/// Outputs of commands, or why they did not run.
pub type Outputs = HashMap<CommandLine, std::result::Result<Output, String>>;

/// The files of the repository, and the outputs of commands.
pub struct World {
    root: PathBuf,
    outputs: Outputs,
    record: OnceLock<std::result::Result<Record, String>>,
}

impl World {
    /// A world with these outputs.
    pub fn new(root: &Path, outputs: Outputs) -> Self {
        Self {
            root: root.to_owned(),
            outputs,
            record: OnceLock::new(),
        }
    }

    /// Runs all commands of these pages.
    pub fn of(root: &Path, pages: &[&Page]) -> Self {
        let programs = Programs::of(root);
        let mut world = Self::new(root, HashMap::new());
        loop {
            let commands = pages.iter().flat_map(|page| page.commands(&world));
            let unknown = |command: &CommandLine| !world.outputs.contains_key(command);
            let commands: BTreeSet<CommandLine> = commands.filter(unknown).collect();
            if commands.is_empty() {
                return world;
            }
            world
                .outputs
                .extend(cache::run_all(&programs, root, commands));
        }
    }

    /// The repository.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// All commands whose output the book shows.
    pub fn commands(&self) -> impl Iterator<Item = &CommandLine> {
        self.outputs.keys()
    }

    /// The output of a command.
    pub fn output(&self, command: &CommandLine) -> Result<&Output> {
        match self.outputs.get(command) {
            Some(Ok(output)) => Ok(output),
            Some(Err(why)) => bail!("{why}"),
            None => bail!("`{}` has not been run", command.text),
        }
    }

    /// The output of a command that succeeded.
    pub fn success(&self, command: &CommandLine) -> Result<&str> {
        let output = self.output(command)?;
        exit_code(command, output, 0)?;
        Ok(&output.text)
    }

    /// The recordings of a GPU.
    pub fn record(&self) -> Result<&Record> {
        let read = || Record::read(self).map_err(|error| format!("{error:#}"));
        self.record
            .get_or_init(read)
            .as_ref()
            .map_err(|why| anyhow!("{why}"))
    }

    /// The text of a file in the repository.
    pub fn read(&self, file: &str) -> Result<String> {
        let inside = Path::new(file)
            .components()
            .all(|part| matches!(part, std::path::Component::Normal(_)));
        if !inside {
            bail!("`{file}` is not a path inside the repository");
        }
        fs::read_to_string(self.root.join(file)).with_context(|| format!("cannot read {file}"))
    }
}

/// An error if the command exited with another code, including its standard error.
pub fn exit_code(command: &CommandLine, output: &Output, wanted: i32) -> Result<()> {
    if output.code == Some(wanted) {
        return Ok(());
    }
    let code = output.code.map(|code| format!("exit code {code}"));
    let found = code.unwrap_or("a signal".into());
    let said = output.errors.lines().chain(output.text.lines());
    let said = said.filter(|line| !line.trim().is_empty());
    let said: Vec<&str> = said.take(3).collect();
    bail!(
        "`{}` ended with {found}, not {wanted}: {}",
        command.text,
        said.join("\n")
    )
}
