//! `cargo ladder grade ASSIGNMENT KERNEL.cu`: points, and what to do about those that are missing.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `rubric` | what is asked, and for how many points? |
//! | `hidden` | at which sizes, and on which numbers? |
//! | `judge` | how many points are they? |
//! | `mechanism` | is C right for the right reason? |
//! | `conflict` | which lanes meet in which bank? |
//! | `predict` | were the student's predictions right? |
//! | `text`, `gradescope` | how does the reader see it? |
//! | `starter` | what does a student begin with? |
mod conflict;
mod gradescope;
mod hidden;
mod judge;
mod mechanism;
mod predict;
mod rubric;
pub mod starter;
mod text;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
pub(crate) use hidden::hex;
use rubric::Rubric;

/// Raised whenever the same kernel might get other points, or other sizes.
const VERSION: &str = "1";

/// What the command was asked for.
#[derive(clap::Args)]
#[command(
    after_help = "Predictions are read from prediction.toml in the kernel's folder.\n\
    Exit code 0: passed. 1: points are missing. 2: it could not be graded."
)]
pub struct Arguments {
    /// The assignment's folder, such as assignments/05_swizzle
    assignment: PathBuf,
    /// The student's kernel
    #[arg(value_name = "KERNEL.cu")]
    kernel: PathBuf,
    /// Print the grade as Gradescope's results.json
    #[arg(long)]
    json: bool,
    /// A file that only the teacher has: hidden sizes and numbers come from it
    #[arg(long, value_name = "FILE", requires = "student")]
    secret: Option<PathBuf>,
    /// Whose kernel it is: everybody has hidden sizes of their own
    #[arg(long, value_name = "ID", requires = "secret")]
    student: Option<String>,
    /// Where the book is: a folder or an address
    #[arg(long, value_name = "PLACE", env = "GEMM_BOOK", default_value = "book/book")]
    book: String,
}

/// What a kernel is worth.
pub struct Grade {
    assignment: String,
    /// Points that pass.
    pass: f64,
    tests: Vec<Test>,
    complaints: Vec<Complaint>,
    /// Why it worked, if it did.
    after: Option<String>,
    /// Of the rubric, in 64 digits.
    rubric: String,
    compiler: String,
    /// Whether the hidden sizes come from a secret.
    secret: bool,
}

/// Points for one thing.
pub struct Test {
    /// What it is.
    pub name: &'static str,
    /// Points that it has.
    pub points: f64,
    /// Points that it can have.
    pub of: f64,
    /// Why, in lines.
    pub why: Vec<String>,
    /// Whether a student sees it at once.
    pub visible: bool,
}

/// What is wrong, and where to read on.
pub struct Complaint {
    /// Where, and what.
    pub what: String,
    /// Never the answer.
    pub hint: String,
    /// An anchor of the book's page of mistakes.
    pub mistake: &'static str,
    /// The wavefront player at the student's own addresses: page and fragment.
    pub player: Option<String>,
}

impl Grade {
    /// What it is worth for what.
    pub fn tests(&self) -> &[Test] {
        &self.tests
    }

    /// What is wrong.
    pub fn complaints(&self) -> &[Complaint] {
        &self.complaints
    }

    /// All points.
    pub fn points(&self) -> f64 {
        self.tests.iter().map(|test| test.points).sum()
    }

    /// Whether they suffice.
    pub fn passed(&self) -> bool {
        // Points are thousandths at the finest.
        self.points() > self.pass - 1e-6
    }

    /// For a terminal; the book is at this folder or address.
    pub fn text(&self, book: &str) -> String {
        text::text(self, book)
    }

    /// As Gradescope's results.json.
    pub fn json(&self, book: &str) -> String {
        gradescope::text(self, book)
    }
}

/// Grades a kernel; `secret` is a teacher's secret and whose kernel it is.
///
/// # Errors
/// If there is no such assignment, no such kernel or no compiler. Whatever the kernel does wrong is in its grade.
pub fn grade(assignment: &Path, kernel: &Path, secret: Option<(&[u8], &str)>) -> Result<Grade> {
    let rubric = Rubric::read(assignment)?;
    if kernel.extension().is_none_or(|ending| ending != "cu") {
        bail!(
            "{} does not end in .cu: CUDA source is graded",
            kernel.display()
        );
    }
    let predictions = kernel.with_file_name("prediction.toml");
    let predictions = match predictions.is_file() {
        true => Some(
            std::fs::read_to_string(&predictions)
                .with_context(|| format!("cannot read {}", predictions.display()))?,
        ),
        false => None,
    };
    let (key, student) = secret.unwrap_or((hidden::PUBLIC_SECRET, ""));
    let launches = hidden::launches(&rubric, key, student)?;
    let mut grade = judge::grade(&rubric, kernel, predictions.as_deref(), &launches)?;
    grade.secret = secret.is_some();
    Ok(grade)
}

/// The command; whether the kernel passed.
///
/// # Errors
/// See [`grade`].
pub fn run(arguments: &Arguments) -> Result<bool> {
    let secret = arguments.secret.as_deref().map(read_secret).transpose()?;
    let student = arguments.student.as_deref().unwrap_or_default();
    let secret = secret.as_deref().map(|secret| (secret, student));
    let grade = grade(&arguments.assignment, &arguments.kernel, secret)?;
    let text = match arguments.json {
        true => grade.json(&arguments.book),
        false => grade.text(&arguments.book),
    };
    anstream::print!("{text}");
    Ok(grade.passed())
}

/// A teacher's secret.
///
/// # Errors
/// If it cannot be read, or can be guessed.
pub(crate) fn read_secret(file: &Path) -> Result<Vec<u8>> {
    let secret = std::fs::read(file)
        .with_context(|| format!("cannot read {}; `--secret` names a file", file.display()))?;
    ensure!(
        secret.len() >= 16,
        "{} has {} bytes, which can be guessed: take 16 random ones or more",
        file.display(),
        secret.len()
    );
    Ok(secret)
}
