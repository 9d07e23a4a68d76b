//! `cargo ladder starters`: every assignment's kernel.cu, made of its solution, and the questions of one that has an exam.
use std::fs;

use anyhow::{Context, Result};

use crate::grade::starter;
use crate::{exam, rungs};

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
    folders.retain(|folder| folder.join("rubric.toml").is_file());
    for assignment in folders {
        let made = match fs::read_to_string(assignment.join("solution/kernel.cu")) {
            Ok(text) => {
                let made = starter::of_solution(&text)
                    .with_context(|| format!("{}/solution/kernel.cu", assignment.display()))?;
                vec![(assignment.join("kernel.cu"), made)]
            }
            Err(_) => exam::starter::files(&assignment)?,
        };
        for (path, text) in made {
            if fs::read_to_string(&path).is_ok_and(|there| there.replace("\r\n", "\n") == text) {
                continue;
            }
            if arguments.check {
                current = false;
                anstream::println!("not current: {}", path.display());
            } else {
                fs::write(&path, text).with_context(|| path.display().to_string())?;
                anstream::println!("wrote {}", path.display());
            }
        }
    }
    Ok(current)
}
