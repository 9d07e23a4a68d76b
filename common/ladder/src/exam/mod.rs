//! `cargo ladder exam`: questions about accesses of a warp, and their key. From a seed, so the same on every machine.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `draw` | which numbers? |
//! | `families` | what is asked, and why is that so? |
//! | `formula` | where are a lane's bytes? |
//! | `access` | what does a warp do, and what can be counted? |
//! | `predicted` | how much is it, by the `layout` crate's formulas? |
//! | `executed` | how much is it on the emulator? |
//! | `sheet` | how do a student and a teacher see it? |
//! | `starter` | what does an assignment made of questions hold? |
pub(crate) mod access;
mod draw;
mod executed;
mod families;
mod formula;
pub(crate) mod predicted;
pub(crate) mod sheet;
pub mod starter;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use access::{Access, Count};
use anyhow::{Context, Result, ensure};
use draw::Draw;
use families::{Draft, FAMILIES};

use crate::grade::rubric::Rubric;

/// What the command was asked for.
#[derive(clap::Args)]
#[command(
    after_help = "It writes questions.md and answers.toml, which students get, and key.toml and key.md, which they do not.\n\
    `cargo ladder grade ASSIGNMENT answers.toml` with the same --secret and --student grades what comes back.\n\
    With --secret, everybody has questions of their own."
)]
pub struct Arguments {
    /// Which questions
    #[arg(long, required_unless_present = "secret")]
    seed: Option<u64>,
    /// How many of them, 1 to 100
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST)))]
    questions: u32,
    /// A file that only the teacher has: the questions come from it
    #[arg(long, value_name = "FILE", requires = "student", conflicts_with_all = ["seed", "questions"])]
    secret: Option<PathBuf>,
    /// Whose questions they are
    #[arg(long, value_name = "ID", requires = "secret")]
    student: Option<String>,
    /// The assignment whose questions they are, with --secret
    #[arg(
        long,
        value_name = "ASSIGNMENT",
        default_value = "assignments/00_predict",
        requires = "secret"
    )]
    assignment: PathBuf,
    /// Where to write [default: exam-SEED or exam-STUDENT]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Questions of one exam.
pub const MOST: u32 = 100;

/// One access of a warp, what is asked about it, and why that is so.
#[derive(Debug, PartialEq, Eq)]
pub struct Question {
    /// Its name among the answers: `q01`.
    pub key: String,
    story: String,
    access: Access,
    /// Byte offsets, a lane each.
    offsets: Vec<u32>,
    counts: Vec<(Count, u64)>,
    reason: String,
}

impl Question {
    /// What is asked, by its name among the answers, and the answer.
    pub fn answers(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.counts
            .iter()
            .map(|(count, number)| (count.name(), *number))
    }

    /// What the warp does.
    pub(crate) fn op(&self) -> access::Op {
        self.access.op
    }

    /// Why: who comes back to which banks, and never how many wavefronts or sectors that makes.
    pub fn reason(&self) -> String {
        let Access { op, bytes, .. } = self.access;
        match predicted::meeting(op, bytes, &self.offsets) {
            Some(meeting) => format!("{} Here {meeting}.", self.reason),
            None => self.reason.clone(),
        }
    }
}

/// The questions of a seed: no access twice, hard and easy ones mixed. A longer exam begins with the shorter one.
///
/// # Errors
/// If there are not so many, or if formulas and emulator count differently.
pub fn questions(seed: u64, number: u32) -> Result<Vec<Question>> {
    ensure!(
        (1..=MOST).contains(&number),
        "an exam has 1 to {MOST} questions, not {number}"
    );
    let mut draw = Draw::new(seed);
    let mut families = Vec::new();
    let mut seen = BTreeSet::new();
    let mut questions = Vec::new();
    let mut repeated = 0;
    while questions.len() < number as usize {
        if families.is_empty() {
            families = FAMILIES.to_vec();
            draw.shuffle(&mut families);
        }
        let Some(family) = families.pop() else { break };
        let draft = family(&mut draw);
        let offsets = predicted::offsets(&draft.access)?;
        if seen.insert(looks(&draft.access, &offsets)) {
            let key = format!("q{:02}", questions.len() + 1);
            questions.push(asked(key, draft, offsets)?);
        } else {
            repeated += 1;
            ensure!(
                repeated < 1000,
                "there are not {number} different questions"
            );
        }
    }
    Ok(questions)
}

/// Two questions that look the same have the same answer: another column of a tile is the same access.
fn looks(access: &Access, offsets: &[u32]) -> impl Ord + use<> {
    let from = match access.op.shared() {
        Some(_) => offsets.iter().min().copied().unwrap_or_default(),
        None => 0,
    };
    let offsets: Vec<u32> = offsets.iter().map(|offset| offset - from).collect();
    (access.op, access.bytes, offsets)
}

/// The formulas' counts, if they are the emulator's.
fn asked(key: String, draft: Draft, offsets: Vec<u32>) -> Result<Question> {
    let Draft {
        story,
        access,
        reason,
    } = draft;
    let counts = predicted::counts(access.op, access.bytes, &offsets);
    let end = offsets.iter().max().map_or(0, |last| last + access.bytes);
    let executed = executed::counts(&access, end).with_context(|| format!("{key}: {story}"))?;
    ensure!(
        counts == executed,
        "{key}, {}, {}: formulas say {counts:?}, the emulator counts {executed:?}; please report this",
        access.instruction(),
        access.address
    );
    Ok(Question {
        key,
        story,
        access,
        offsets,
        counts,
        reason,
    })
}

/// The command.
///
/// # Errors
/// If a file cannot be read or written, or see [`questions`].
pub fn run(arguments: &Arguments) -> Result<bool> {
    let (whose, questions) = match (&arguments.seed, &arguments.secret) {
        (Some(seed), _) => (seed.to_string(), questions(*seed, arguments.questions)?),
        (None, Some(secret)) => {
            let student = arguments.student.as_deref().unwrap_or_default();
            let secret = crate::grade::secret(secret)?;
            let rubric = Rubric::read(&arguments.assignment)?;
            let questions = rubric.questions(Some(&secret), student)?;
            (student.to_owned(), questions)
        }
        (None, None) => {
            anyhow::bail!("say which questions: --seed S, or --secret FILE --student ID")
        }
    };
    let folder = match &arguments.out {
        Some(folder) => folder.clone(),
        None => {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
            ensure!(
                whose.chars().all(plain),
                "{whose:?} is no name for a folder: say --out DIR"
            );
            format!("exam-{whose}").into()
        }
    };
    let head = match arguments.seed {
        Some(seed) => format!(
            "`cargo ladder exam --seed {seed} --questions {}`",
            questions.len()
        ),
        None => format!("For {whose}"),
    };
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for (name, text) in sheet::files(&head, &questions) {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        anstream::println!("wrote {}", path.display());
    }
    Ok(true)
}

#[cfg(test)]
mod tests;
