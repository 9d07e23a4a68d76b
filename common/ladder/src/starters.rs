//! `cargo ladder starters`: every assignment's kernel.cu, made of its solution.
use std::fs;

use anyhow::{Context, Result};

use crate::grade::starter;
use crate::rungs;

#[derive(clap::Args)]
pub struct Arguments {
    /// Only say which are not current; exit code 1 if any is
    #[arg(long)]
    check: bool,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let root = rungs::root().context("there is no workspace here: run this in it")?;
    let folder = root.join("assignments");
    let entries = fs::read_dir(&folder).context("there is no folder assignments/ here")?;
    let mut folders: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    folders.sort();
    let mut current = true;
    for assignment in folders {
        let solution = assignment.join("solution/kernel.cu");
        let Ok(text) = fs::read_to_string(&solution) else {
            continue;
        };
        let made = starter::of_solution(&text).with_context(|| solution.display().to_string())?;
        let path = assignment.join("kernel.cu");
        if fs::read_to_string(&path).is_ok_and(|there| there == made) {
            continue;
        }
        if arguments.check {
            current = false;
            anstream::println!("not current: {}", path.display());
        } else {
            fs::write(&path, made).with_context(|| path.display().to_string())?;
            anstream::println!("wrote {}", path.display());
        }
    }
    Ok(current)
}
