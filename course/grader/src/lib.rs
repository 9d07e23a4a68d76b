//! The commands of `cargo ladder` for teachers and students: grades kernels, writes exams, and exports the course.
//!
//! | module | what it answers |
//! | --- | --- |
//! | [`grade`] | how many points does a kernel or a sheet of answers get, and why? |
//! | [`exam`] | questions about accesses of a warp, with an answer key |
//! | [`sandbox`] | how is an untrusted kernel compiled? |
//! | [`export`] | which files do students and Gradescope get? |
//! | [`autograder`] | what happens to a submission on Gradescope's machine? |
//! | [`starters`] | what do students start with? |
//! | [`watch`] | what changed since the last save, and what is still wrong? |
//! | `progress` | which assignments are done, and what comes next? |
//! | `submission` | which file was submitted, and what does it contain? |
//! | `commands` | the command line: maps arguments to the modules above |
pub mod autograder;
mod commands;
pub mod exam;
pub mod export;
pub mod grade;
mod progress;
pub mod sandbox;
pub mod starters;
mod submission;
pub mod watch;

use std::sync::LazyLock;

pub use commands::{Command, sandboxed};

/// The points out of 100 that answers to some exam get from `grade`; none if the exam cannot be generated. For fuzzers
/// and tests: no text may cause a panic.
pub fn points_of_answers(toml: &str) -> Option<f64> {
    static EXAM: LazyLock<Option<Vec<exam::Question>>> =
        LazyLock::new(|| exam::questions(1, 4).ok());
    let (items, _) = grade::answers::judge(EXAM.as_ref()?, toml, 100.0);
    Some(items.iter().map(|item| item.points).sum())
}
