//! The teacher's part of `cargo ladder`: it grades students' kernels, writes exams, and exports the course.
//!
//! | module | what it answers |
//! | --- | --- |
//! | [`grade`] | how many points is a kernel or a sheet of answers worth, and why? |
//! | [`exam`] | which questions about accesses of a warp, and what is their key? |
//! | [`sandbox`] | how is a stranger's kernel compiled? |
//! | [`export`] | what do students get, and what does Gradescope grade with? |
//! | [`autograder`] | what does Gradescope's machine do with a submission? |
//! | [`starters`] | what does a student begin with? |
//! | [`watch`] | what changed since a student saved last, and what is still wrong? |
//! | `progress` | how far is a student, and what comes next? |
//! | `submission` | which file was handed in, and what is in it? |
//! | `commands` | the command line: arguments to calls of the modules above |
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

/// The points that answers to some exam have, of 100, as `grade` counts them; none if the exam cannot be made. Fuzzers and
/// tests call it: no text may make it panic.
pub fn points_of_answers(toml: &str) -> Option<f64> {
    static EXAM: LazyLock<Option<Vec<exam::Question>>> =
        LazyLock::new(|| exam::questions(1, 4).ok());
    let (items, _) = grade::answers::judge(EXAM.as_ref()?, toml, 100.0);
    Some(items.iter().map(|item| item.points).sum())
}
