//! `cargo ladder starters`: generates every assignment's kernel.cu from its solution, and an exam assignment's
//! questions.
use std::fs;

use anyhow::{Context, Result};
use harness::rungs;

use crate::starters;

#[derive(clap::Args)]
pub struct Arguments {
    /// Only list those that are out of date; exit code 1 if there are any
    #[arg(long)]
    check: bool,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let root = rungs::root().context("this is not the workspace: run the command there")?;
    let outdated = starters::outdated(&root)?;
    for (path, text) in &outdated {
        if arguments.check {
            harness::println!("not current: {}", path.display());
        } else {
            fs::write(path, text).with_context(|| path.display().to_string())?;
            harness::println!("wrote {}", path.display());
        }
    }
    Ok(!arguments.check || outdated.is_empty())
}
