//! `cargo ladder course`: a student's progress, and what comes next.
use anyhow::{Context, Result};
use harness::rungs;

use super::grade;
use crate::progress::{self, Step};

#[derive(clap::Args)]
#[command(
    after_help = "`cargo ladder grade`, with or without --watch, records each grading under target/course/, with the hash of the \
    file.\nExit code 0, however many are passed: an open assignment is not an error. 2: this folder has no course."
)]
pub struct Arguments {
    /// Grade files that have changed since they were last graded
    #[arg(long)]
    grade: bool,
}

/// Prints the list. An assignment that is still open is not an error.
pub fn run(arguments: &Arguments) -> Result<()> {
    let root = rungs::root().context("this is not the workspace: run the command there")?;
    let mut all = progress::all(&root)?;
    if arguments.grade {
        let changed = |step: &Step| matches!(step, Step::NotGraded | Step::Changed { .. });
        for one in all.iter().filter(|one| changed(&one.step)) {
            let (folder, file) = (root.join(&one.folder), root.join(&one.file));
            grade::record(&folder, &file).with_context(|| one.title.clone())?;
        }
        all = progress::all(&root)?;
    }
    harness::print!("{}", progress::text(&all));
    Ok(())
}
