//! `cargo ladder plot`: makes a record's tables and plots from its bench.json and from what the clock predicted.
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::clock;
use crate::record::{self, DERIVED, Record};

#[derive(clap::Args)]
pub struct Arguments {
    /// Folders that hold a bench.json [default: all in results/]
    #[arg(value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Only check whether they are current
    #[arg(long)]
    check: bool,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let folders = match &arguments.folders[..] {
        [] => record::all()?,
        folders => folders.to_vec(),
    };
    let mut current = true;
    for folder in &folders {
        let stale = stale(folder)?;
        for (name, text) in &stale {
            let file = folder.join(name);
            match (arguments.check, text) {
                (true, _) => harness::println!("{} does not match the record", file.display()),
                (false, Some(text)) => {
                    record::write(&file, text)?;
                    harness::println!("{} written", file.display());
                }
                (false, None) => {
                    fs::remove_file(&file)?;
                    harness::println!("{} removed", file.display());
                }
            }
        }
        current &= stale.is_empty() || !arguments.check;
        if stale.is_empty() {
            harness::println!("{} is current", folder.display());
        }
    }
    if !current {
        harness::println!("`cargo ladder plot` regenerates them");
    }
    Ok(current)
}

/// The files that do not match the folder's records, with their new text: `None` if there is nothing to show.
fn stale(folder: &Path) -> Result<Vec<(&'static str, Option<String>)>> {
    let mut derived = Record::read(folder)?.derived()?;
    let mut stale = Vec::new();
    for name in DERIVED {
        let at = derived.iter().position(|(file, _)| *file == name);
        let wanted = at.map(|at| derived.swap_remove(at).1);
        if fs::read_to_string(folder.join(name)).ok() != wanted {
            stale.push((name, wanted));
        }
    }
    let scatter = clock::scatter(folder)?;
    if fs::read_to_string(folder.join(clock::PLOT)).ok() != scatter {
        stale.push((clock::PLOT, scatter));
    }
    Ok(stale)
}
