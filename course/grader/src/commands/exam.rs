//! `cargo ladder exam`: questions about accesses of a warp, with an answer key.
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

use crate::exam::{self, MOST, sheet};
use crate::grade::rubric::Rubric;
use crate::submission::one_line;

#[derive(clap::Args)]
#[command(
    after_help = "It writes questions.md and answers.toml, which students get, and key.toml and key.md, which they do not.\n\
    `cargo ladder grade ASSIGNMENT answers.toml` with the same --secret and --student grades the answers.\n\
    With --secret, each student has different questions."
)]
pub struct Arguments {
    /// Seed of the questions
    #[arg(long, required_unless_present_any = ["secret", "student"])]
    seed: Option<u64>,
    /// Number of questions, 1 to 100
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST)))]
    questions: u32,
    /// A file that only the teacher has; the questions are derived from it
    #[arg(long, value_name = "FILE", requires = "student", conflicts_with_all = ["seed", "questions"])]
    secret: Option<PathBuf>,
    /// The student who gets the questions
    #[arg(long, value_name = "ID", requires = "secret", conflicts_with = "seed")]
    student: Option<String>,
    /// The assignment that the questions are for, with --secret
    #[arg(
        long,
        value_name = "ASSIGNMENT",
        default_value = "course/assignments/00_predict",
        requires = "secret",
        conflicts_with = "seed"
    )]
    assignment: PathBuf,
    /// Where to write [default: exam-SEED or exam-STUDENT]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let secret = super::secret(arguments.secret.as_deref())?;
    let (whose, head, questions) = match arguments.seed {
        Some(seed) => {
            let questions = exam::questions(seed, arguments.questions)?;
            let number = questions.len();
            let head = format!("`cargo ladder exam --seed {seed} --questions {number}`");
            (seed.to_string(), head, questions)
        }
        None => {
            let student = arguments.student.clone().unwrap_or_default();
            let rubric = Rubric::read(&arguments.assignment)?;
            let questions = rubric.questions(secret.as_deref(), &student)?;
            let head = format!("For {}", one_line(&student));
            (student, head, questions)
        }
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
    ensure!(
        arguments.out.is_some() || whose.chars().all(plain),
        "{whose:?} cannot be the name of a folder: pass --out DIR"
    );
    let folder = arguments.out.clone();
    let folder = folder.unwrap_or_else(|| format!("exam-{whose}").into());
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for (name, text) in sheet::files(&head, &questions) {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        harness::println!("wrote {}", path.display());
    }
    Ok(true)
}
