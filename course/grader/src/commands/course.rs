//! `cargo ladder course`: how far a student is, and what comes next.
use anyhow::{Context, Result};
use harness::rungs;

use super::grade;
use crate::progress::{self, Step};

#[derive(clap::Args)]
#[command(
    after_help = "`cargo ladder grade`, with or without --watch, records each grading under target/course/, with the hash of the \
    file.\nExit code 0: all assignments are passed. 1: some are not. 2: there is no course here."
)]
pub struct Arguments {
    /// Grade what has changed since its last grading
    #[arg(long)]
    grade: bool,
}

/// Whether all are passed.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let root = rungs::root().context("there is no workspace here: run this in it")?;
    let mut all = progress::all(&root)?;
    if arguments.grade {
        let changed = |step: &Step| matches!(step, Step::NotGraded | Step::Changed { .. });
        for one in all.iter().filter(|one| changed(&one.step)) {
            let (folder, file) = (root.join(&one.folder), root.join(&one.file));
            grade::record(&folder, &file).with_context(|| one.title.clone())?;
        }
        all = progress::all(&root)?;
    }
    anstream::print!("{}", progress::text(&all));
    Ok(all.iter().all(progress::Assignment::is_passed))
}
