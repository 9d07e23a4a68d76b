//! `cargo ladder grade ASSIGNMENT KERNEL.cu`: points, and what to do about those that are missing.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `rubric` | what is asked, and for how many points? |
//! | `hidden` | at which sizes, and on which numbers? |
//! | `judge` | how many points are they? |
//! | `mechanism` | is C right for the right reason? |
//! | `instruction` | are these the instructions that are asked for? |
//! | `pipeline` | how early are copies started? |
//! | `sanitizer` | what was found wrong? |
//! | `conflict` | which lanes meet in which bank? |
//! | `predict` | were the student's predictions right? |
//! | `answers` | were the answers to an exam right? |
//! | `class` | how does a whole class do? |
//! | `text`, `gradescope` | how does the reader see it? |
//! | `starter` | what does a student begin with? |
pub(crate) mod answers;
pub(crate) mod class;
mod conflict;
mod gap;
mod gradescope;
pub(crate) mod hidden;
mod instruction;
mod judge;
mod mechanism;
mod pipeline;
mod predict;
pub(crate) mod rubric;
mod sanitizer;
pub mod starter;
mod text;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use harness::{Compile, Nvrtc};
use rubric::{Rubric, Task};
use sha2::Digest;

use crate::locked::Locked;

/// Raised whenever the same kernel might get other points, or other sizes.
const VERSION: &str = "3";

/// What the command was asked for.
#[derive(clap::Args)]
#[command(
    after_help = "Predictions are read from prediction.toml in the kernel's folder.\n\
    Exit code 0: passed, or the whole class is graded. 1: points are missing. 2: it could not be graded."
)]
pub struct Arguments {
    /// The assignment's folder, such as assignments/05_swizzle
    assignment: PathBuf,
    /// The student's kernel, or answers
    #[arg(value_name = "KERNEL.cu|ANSWERS.toml", required_unless_present_any = ["class", "regrade"])]
    submission: Option<PathBuf>,
    /// Grade every folder in this one, each named after a student, into grades.csv and a grade.json each
    #[arg(long, value_name = "DIR", conflicts_with_all = ["submission", "regrade", "student", "json"])]
    class: Option<PathBuf>,
    /// Grade a class again that was graded before, and list who changed, and why
    #[arg(long, value_name = "DIR", conflicts_with_all = ["submission", "student", "json"])]
    regrade: Option<PathBuf>,
    /// Print the grade as Gradescope's results.json
    #[arg(long)]
    json: bool,
    /// A file that only the teacher has: hidden sizes, numbers and tiles come from it
    #[arg(long, value_name = "FILE")]
    secret: Option<PathBuf>,
    /// Whose kernel it is: everybody has hidden sizes of their own
    #[arg(long, value_name = "ID", requires = "secret")]
    student: Option<String>,
    /// Launch the public sizes with another tile of the rubric; the first is the public one
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with_all = ["json", "class", "regrade"])]
    tile: usize,
    /// Compile kernels of others where they reach nothing and take no more than 10 s and 2 GiB (Linux 5.13 or later)
    #[arg(long)]
    untrusted: bool,
    /// Where the book is: a folder or an address
    #[arg(
        long,
        value_name = "PLACE",
        env = "GEMM_BOOK",
        default_value = "book/book"
    )]
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
    /// None where nothing was compiled.
    compiler: Option<String>,
    /// Which secret the hidden sizes come from, if from any.
    secret: Option<String>,
    /// Whose it is; empty if nobody said.
    student: String,
    /// SHA-256 of what was handed in, predictions too.
    submission: String,
}

/// Points for one thing.
pub struct Test {
    /// What it is.
    pub name: String,
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
    pub mistake: String,
    /// The wavefront player at the student's own addresses: page and fragment.
    pub player: Option<String>,
}

impl Complaint {
    /// Says of which part it is, if there are several.
    fn in_part(mut self, part: &str) -> Self {
        if !part.is_empty() {
            self.what = format!("{part}: {}", self.what);
        }
        self
    }
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

/// Grades submissions to one assignment.
pub struct Grader {
    rubric: Rubric,
    secret: Option<Vec<u8>>,
    /// With which of the rubric's tiles public sizes are launched.
    tile: usize,
    /// And its name; none where nothing is compiled.
    compiler: Option<(Box<dyn Compile>, String)>,
}

impl Grader {
    /// Reads the assignment's rubric; asks for a compiler where it takes one. Without a secret, hidden sizes are what
    /// anybody can find out.
    ///
    /// # Errors
    /// If there is no such assignment or no compiler.
    pub fn new(
        assignment: &Path,
        secret: Option<Vec<u8>>,
        compiler: impl FnOnce() -> Result<Box<dyn Compile>>,
    ) -> Result<Self> {
        let rubric = Rubric::read(assignment)?;
        let compiler = match rubric.task {
            Task::Predict => None,
            _ => {
                let compiler = compiler()?;
                let name = name_of(&*compiler)?;
                Some((compiler, name))
            }
        };
        Ok(Self {
            rubric,
            secret,
            tile: 0,
            compiler,
        })
    }

    /// Launches public sizes with another of the rubric's tiles, counted from 1: what is told of them is told then.
    ///
    /// # Errors
    /// If the rubric has no such tile.
    fn with_tile(mut self, number: usize) -> Result<Self> {
        let tiles = self.rubric.tile.len();
        ensure!(
            number == 1 || (1..=tiles).contains(&number),
            "--tile {number}: {} has {tiles}, and they are counted from 1",
            self.rubric.name
        );
        self.tile = number - 1;
        Ok(self)
    }

    /// Grades what this student handed in.
    ///
    /// # Errors
    /// If it cannot be read. Whatever it does wrong is in its grade.
    pub fn grade(&self, submission: &Path, student: &str) -> Result<Grade> {
        let Self {
            rubric,
            secret,
            tile,
            compiler,
        } = self;
        let text = read(submission)?;
        let secret = secret.as_deref().unwrap_or(hidden::PUBLIC_SECRET);
        let mut grade = Grade {
            assignment: rubric.name.clone(),
            pass: rubric.pass,
            tests: Vec::new(),
            complaints: Vec::new(),
            after: None,
            rubric: rubric.hash.clone(),
            compiler: None,
            // Tells secrets apart, and none from it.
            secret: self
                .secret
                .as_deref()
                .map(|secret| harness::hex(&sha2::Sha256::digest(secret)[..4])),
            student: student.to_owned(),
            submission: harness::hex(&sha2::Sha256::digest(&text)),
        };
        if let Some((compiler, name)) = compiler {
            ensure!(
                submission.extension().is_some_and(|ending| ending == "cu"),
                "{} does not end in .cu: CUDA source is graded",
                submission.display()
            );
            grade.compiler = Some(name.clone());
            let predictions = submission.with_file_name("prediction.toml");
            let predictions = match predictions.symlink_metadata() {
                Ok(_) => Some(read(&predictions)?),
                Err(_) => None,
            };
            let all = [text.as_str(), predictions.as_deref().unwrap_or_default()].concat();
            grade.submission = harness::hex(&sha2::Sha256::digest(all));
            grade
                .tests
                .extend(predict::test(rubric, predictions.as_deref()));
            let mut launches = hidden::launches(rubric, secret, student)?;
            for public in launches.iter_mut().filter(|launch| !launch.hidden) {
                public.tile = *tile;
            }
            let submission = judge::Submission {
                // Grades do not depend on where a file lies.
                file: &submission.file_name().unwrap_or_default().to_string_lossy(),
                text: &text,
            };
            judge::judge(&mut grade, rubric, &submission, &launches, &**compiler)?;
        } else {
            let questions = rubric.questions(self.secret.as_deref(), student)?;
            let (tests, complaints) = answers::tests(&questions, &text, rubric.points.prediction);
            grade.tests.extend(tests);
            grade.complaints.extend(complaints);
        }
        grade.after = grade.passed().then(|| rubric.after.passed.clone());
        Ok(grade)
    }
}

/// Bytes of a submission: no kernel has as many.
const MOST: u64 = 1 << 20;

/// What a stranger handed in. A link might lead to a file of this machine, which a message would quote, and a device
/// or a pipe never ends.
pub(crate) fn read(path: &Path) -> Result<String> {
    let cannot = || format!("cannot read {}", path.display());
    let kind = std::fs::symlink_metadata(path).with_context(cannot)?;
    ensure!(
        kind.is_file(),
        "{} is no plain file: hand in a copy, and no link",
        path.display()
    );
    ensure!(
        kind.len() <= MOST,
        "{} has {} bytes; at most {MOST} are read",
        path.display(),
        kind.len()
    );
    let bytes = std::fs::read(path).with_context(cannot)?;
    Ok(harmless(&String::from_utf8_lossy(&bytes)))
}

/// Text without the control characters by which it would steer the terminal of whoever it is quoted to.
pub(crate) fn harmless(text: &str) -> String {
    text.replace(
        |c: char| c.is_control() && !"\n\r\t".contains(c),
        "\u{fffd}",
    )
}

/// The whole name of a compiler, which only its output tells: the version that it states has two numbers.
fn name_of(compiler: &dyn Compile) -> Result<String> {
    let empty = "extern \"C\" __global__ void gemm() {}";
    let source = harness::Source::compiled("empty.cu", empty, "sm_80", &[], compiler)?;
    Ok(match source.origin {
        harness::Origin::Nvrtc(name) => name,
        other => other.to_string(),
    })
}

/// Kernels of one's own are compiled in this process, those of others behind a lock.
fn compiler(untrusted: bool) -> Result<Box<dyn Compile>> {
    if untrusted {
        return Ok(Box::new(Locked::new()?));
    }
    let nvrtc = Nvrtc::find().map_err(harness::Error::from)?;
    Ok(Box::new(nvrtc))
}

/// A teacher's secret.
pub(crate) fn secret(file: &Path) -> Result<Vec<u8>> {
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

/// The command; whether the kernel passed.
///
/// # Errors
/// If there is no such assignment, no such kernel or no compiler.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let secret = arguments.secret.as_deref().map(secret).transpose()?;
    let whole_class = arguments.class.is_some() || arguments.regrade.is_some();
    ensure!(
        secret.is_none() || arguments.student.is_some() || whole_class,
        "a secret takes `--student ID`: everybody has hidden sizes of their own"
    );
    // For a class too: what is missing here would be missing for everybody, after their old grades are gone.
    let grader = Grader::new(&arguments.assignment, secret, || {
        compiler(arguments.untrusted)
    })?
    .with_tile(arguments.tile)?;
    if let Some(folder) = &arguments.class {
        return class::run(arguments, &grader, folder);
    }
    if let Some(folder) = &arguments.regrade {
        return class::again(arguments, &grader, folder);
    }
    let submission = arguments.submission.as_deref().unwrap_or(Path::new(""));
    let student = arguments.student.as_deref().unwrap_or_default();
    let grade = grader.grade(submission, student)?;
    let text = match arguments.json {
        true => grade.json(&arguments.book),
        false => grade.text(&arguments.book),
    };
    anstream::print!("{text}");
    Ok(grade.passed())
}
