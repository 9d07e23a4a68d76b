//! Grades texts as submissions, with right predictions.
use std::fs;
use std::path::{Path, PathBuf};

use grader::grade::{Grade, Grader};
use harness::Nvrtc;

use crate::support::{self, has_ptxas, is_timed, name, read, root};

pub const SECRET: &[u8] = b"a secret of the tests";

/// The only assignment to grade, while you work on one: all others take minutes.
pub fn only() -> Option<String> {
    std::env::var("GEMM_ASSIGNMENT").ok()
}

/// Assignments that have a kernel.
pub fn assignments() -> Vec<PathBuf> {
    let mut all = support::assignments();
    all.retain(|folder| only().is_none_or(|only| only == name(folder)));
    all.retain(|folder| folder.join("solution/kernel.cu").is_file());
    all.retain(|folder| !is_timed(folder) || has_ptxas());
    all
}

pub fn swizzle() -> PathBuf {
    root().join("course/assignments/05_swizzle")
}

pub fn solution(assignment: &Path) -> String {
    read(&assignment.join("solution/kernel.cu"))
}

pub fn grader(assignment: &Path, secret: Option<&[u8]>) -> Grader {
    let compiler = || Ok(Box::new(Nvrtc::find()?) as Box<dyn harness::Compile>);
    Grader::new(assignment, secret.map(<[u8]>::to_vec), compiler).expect("a grader")
}

/// Grades a text with right predictions, in a temporary folder.
pub fn graded(grader: &Grader, assignment: &Path, text: &str) -> Grade {
    graded_for("student", grader, assignment, text)
}

pub fn graded_for(student: &str, grader: &Grader, assignment: &Path, text: &str) -> Grade {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).expect("a file");
    };
    for name in ["prediction.toml", "diagnosis.toml"] {
        let answers = assignment.join("solution").join(name);
        if answers.is_file() {
            write(name, &read(&answers));
        }
    }
    write("kernel.cu", text);
    let kernel = folder.path().join("kernel.cu");
    grader.grade(&kernel, student).expect("a grade")
}
