//! `cargo ladder course`: a student's progress, and what comes next.
use anyhow::{Context, Result};
use harness::rungs;

use super::grade;
use crate::progress::{self, Step};

#[derive(clap::Args)]
#[command(
    after_help = "`cargo ladder grade`, with or without --watch, records each grading under target/course/, with the hash of the \
    file.\nExit code 0: all assignments are passed. 1: some are not. 2: this folder has no course."
)]
pub struct Arguments {
    /// Grade files that have changed since they were last graded
    #[arg(long)]
    grade: bool,
}

/// Whether all assignments are passed.
pub fn run(arguments: &Arguments) -> Result<bool> {
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
    anstream::print!("{}", progress::text(&all));
    Ok(all.iter().all(progress::Assignment::is_passed))
}
