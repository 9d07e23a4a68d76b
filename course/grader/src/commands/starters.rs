//! `cargo ladder starters`: every assignment's kernel.cu, made of its solution, and the questions of one that has an exam.
use std::fs;

use anyhow::{Context, Result};
use harness::rungs;

use crate::starters;

#[derive(clap::Args)]
pub struct Arguments {
    /// Only say which are not current; exit code 1 if any is
    #[arg(long)]
    check: bool,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let root = rungs::root().context("there is no workspace here: run this in it")?;
    let outdated = starters::outdated(&root)?;
    for (path, text) in &outdated {
        if arguments.check {
            anstream::println!("not current: {}", path.display());
        } else {
            fs::write(path, text).with_context(|| path.display().to_string())?;
            anstream::println!("wrote {}", path.display());
        }
    }
    Ok(!arguments.check || outdated.is_empty())
}
