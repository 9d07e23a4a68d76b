//! `ladder autograder ROOT`, hidden, inside Gradescope's machine.
use std::path::PathBuf;

use anyhow::Result;

use super::grade;
use crate::autograder;

#[derive(clap::Args)]
pub struct Arguments {
    /// The folder that Gradescope calls /autograder
    root: PathBuf,
}

/// Exit code 0 if results were written.
pub fn run(arguments: &Arguments) -> Result<bool> {
    autograder::run(&arguments.root, &grade::process)?;
    Ok(true)
}
