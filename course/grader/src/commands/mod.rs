//! The commands for teachers. Each file has the arguments of a command, a call into the library, and its output.
mod autograder;
mod compile_locked;
mod course;
mod exam;
mod export_course;
mod grade;
mod starters;

use std::path::Path;

use anyhow::{Context, Result};

pub use compile_locked::sandboxed;

/// The commands for teachers.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Grade a student's kernel on the emulator
    Grade(grade::Arguments),
    /// Show your progress in the course, and what comes next
    Course(course::Arguments),
    /// What `grade --watch` starts for each run: reports in JSON, the public sizes first
    #[command(hide = true)]
    ReportRun(grade::Arguments),
    /// Write an exam: questions about accesses of a warp, with an answer key
    Exam(exam::Arguments),
    /// Regenerate every assignment's starter from its solution, or check that they are current
    Starters(starters::Arguments),
    /// Write a repository for students, without solutions, and autograders for Gradescope
    ExportCourse(export_course::Arguments),
    /// What `grade --untrusted` runs to compile
    #[command(hide = true)]
    CompileLocked(compile_locked::Arguments),
    /// What Gradescope's machine runs for each submission
    #[command(hide = true)]
    Autograder(autograder::Arguments),
}

impl Command {
    /// Runs the command; returns whether everything succeeded.
    ///
    /// # Errors
    /// On wrong usage, or if something is missing.
    pub fn run(&self) -> Result<bool> {
        match self {
            Self::Grade(arguments) => grade::run(arguments),
            Self::Course(arguments) => course::run(arguments).map(|()| true),
            Self::ReportRun(arguments) => grade::report_run(arguments),
            Self::Exam(arguments) => exam::run(arguments),
            Self::Starters(arguments) => starters::run(arguments),
            Self::ExportCourse(arguments) => export_course::run(arguments),
            Self::CompileLocked(arguments) => compile_locked::run(arguments),
            Self::Autograder(arguments) => autograder::run(arguments),
        }
    }
}

/// Reads a teacher's secret.
fn secret(file: Option<&Path>) -> Result<Option<Vec<u8>>> {
    let read = |file| crate::submission::secret(file).context("`--secret` names a file");
    file.map(read).transpose()
}
