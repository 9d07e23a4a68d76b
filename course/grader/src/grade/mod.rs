//! Grades a submission: points, and what to do about those that are missing.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `rubric` | what is asked, and for how many points? |
//! | `plan` | at which sizes is the kernel launched, and on which numbers? |
//! | `judge` | how many points are they? |
//! | `values` | is C right? |
//! | `diagnosis` | why is C wrong: |
//! | `labels` | which elements of A and B were multiplied? |
//! | `fragment` | which register holds another element than it should? |
//! | `misplaced` | which elements of C are exchanged, which products missing? |
//! | `probe` | which elements are multiplied with each other? |
//! | `pattern` | which elements of C are wrong? |
//! | `mechanism` | is it right for the right reason? |
//! | `budget` | what may a kernel do, and what must it, by whatever instruction? |
//! | `pipeline` | how early are copies issued? |
//! | `warnings` | what does the compiler warn of? |
//! | `clock` | how long would it take? |
//! | `sanitizer` | what was found wrong? |
//! | `element` | which element of a matrix is at an address? |
//! | `conflict` | which lanes want the same bank? |
//! | `gap` | which lanes' bytes are not side by side? |
//! | `profile` | what did the lines around the one at fault ask memory for? |
//! | `see` | where can the mistake be watched? |
//! | `predict` | were the student's predictions right? |
//! | `diagnose` | has the student found the bug of a broken kernel? |
//! | `answers` | were the answers to an exam right? |
//! | `class` | how does a whole class do? |
//! | `text`, `results` | how does the reader see it? |
pub(crate) mod answers;
mod budget;
pub(crate) mod class;
mod clock;
mod conflict;
mod diagnose;
mod diagnosis;
mod element;
mod fragment;
mod gap;
mod judge;
mod labels;
mod mechanism;
mod misplaced;
mod pattern;
mod pipeline;
pub(crate) mod plan;
mod predict;
mod probe;
mod profile;
pub(crate) mod results;
pub(crate) mod rubric;
mod sanitizer;
mod see;
pub(crate) mod text;
mod values;
mod warnings;

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
pub use diagnose::{BROKEN, sealed};
use harness::Compile;
use harness::tools::{PTXAS, version};
pub use results::Evidence;
use results::Results;
use rubric::{AssignmentKind, Rubric};
use sha2::{Digest, Sha256};

use crate::submission::{self, DIAGNOSIS, PREDICTIONS, read};

/// The anchor for what no entry of the book's page of mistakes describes.
const NO_MISTAKE: &str = "none-of-these";

/// Raised whenever the same kernel might get other points, or other sizes.
pub(crate) const VERSION: &str = "9";

/// What a process of its own is to grade, into a `results.json` that it prints.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its folder.
    pub assignment: PathBuf,
    /// The file that was handed in.
    pub submission: PathBuf,
    /// Where the book is: a folder or an address.
    pub book: String,
    /// The file with the teacher's secret.
    pub secret: Option<PathBuf>,
    /// Empty without a secret.
    pub student: String,
    /// Whether the kernel is a stranger's, and compiled in the sandbox.
    pub untrusted: bool,
}

/// Makes the process that a request asks for. Exit code 0: passed. 1: points are missing. Any other: not graded.
pub type Process<'a> = dyn Fn(&Request) -> std::io::Result<std::process::Command> + Sync + 'a;

/// What a kernel is worth.
pub struct Grade {
    /// Points that pass.
    pass: f64,
    items: Vec<RubricItem>,
    complaints: Vec<Complaint>,
    /// Every launch that was planned, in their order.
    launches: Vec<LaunchOutcome>,
    /// Around the line at fault, what each line asked memory for at a public size.
    profile: Option<String>,
    /// What the kernel printed at the first public size where it printed anything.
    printed: Option<String>,
    /// Why it worked, if it did.
    after: Option<String>,
    evidence: Evidence,
}

/// Points for one thing.
pub struct RubricItem {
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

/// What became of one launch. A hidden one is named by its tile alone.
pub struct LaunchOutcome {
    /// The part of the rubric, the size and the tile, as far as they are told.
    pub name: String,
    /// Whether C is right; none if there was no launch, since one before it was stopped.
    pub right: Option<bool>,
    /// Whether the sanitizer found nothing.
    pub clean: bool,
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
    /// The line of kernel.cu that is at fault, where one is.
    pub line: Option<u32>,
}

impl Complaint {
    fn new(what: impl Into<String>, hint: &str, mistake: &str) -> Self {
        Self {
            what: what.into(),
            hint: hint.into(),
            mistake: mistake.into(),
            player: None,
            line: None,
        }
    }

    /// Where it reads on: an address or a file of the book at this place, and the fragment.
    pub fn read(&self, book: &str) -> String {
        let book = book.trim_end_matches('/');
        format!("{book}/mistakes.html#{}", self.mistake)
    }

    /// Where it can be watched, in the book at this place: the wavefront player at the student's own addresses, or a kernel with
    /// the same mistake, step by step.
    pub fn see(&self, book: &str) -> Option<String> {
        let book = book.trim_end_matches('/');
        let page = self.player.clone().or_else(|| see::page(&self.mistake))?;
        Some(format!("{book}/{page}"))
    }

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
    pub fn items(&self) -> &[RubricItem] {
        &self.items
    }

    /// What is wrong.
    pub fn complaints(&self) -> &[Complaint] {
        &self.complaints
    }

    /// Every launch that was planned, and what became of it.
    pub fn launches(&self) -> &[LaunchOutcome] {
        &self.launches
    }

    /// What the lines around the one at fault asked memory for, at a public size.
    pub fn profile(&self) -> Option<&str> {
        self.profile.as_deref()
    }

    /// What the kernel printed at the first public size where it did.
    pub fn printed(&self) -> Option<&str> {
        self.printed.as_deref()
    }

    /// Why it worked, if it passed.
    pub fn after(&self) -> Option<&str> {
        self.after.as_deref()
    }

    /// What the points rest on: which assignment, which text, which grader.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// All points.
    pub fn points(&self) -> f64 {
        self.items.iter().map(|item| item.points).sum()
    }

    /// Points that pass.
    pub fn pass(&self) -> f64 {
        self.pass
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
    ///
    /// # Errors
    /// If a number of points is none.
    pub fn json(&self, book: &str) -> Result<String> {
        let results = Results::of(self, book);
        Ok(serde_json::to_string_pretty(&results)? + "\n")
    }
}

/// Which launches are made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Launches {
    Public,
    All,
}

/// Grades submissions to one assignment.
pub struct Grader {
    rubric: Rubric,
    secret: Option<Vec<u8>>,
    /// With which of the rubric's tiles public sizes are launched.
    public_tile: usize,
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
            AssignmentKind::Predict => None,
            AssignmentKind::Gemm | AssignmentKind::Transpose => {
                let compiler = compiler()?;
                let mut name = name_of(&*compiler)?;
                if rubric.sizes.timed.is_some() {
                    // So that an assembler that is missing shows here, and is no fault of a kernel.
                    compiler.assemble(&empty(&*compiler)?.ptx, EMPTY, &rubric.arch)?;
                    name += &format!(", ptxas {}", version(PTXAS));
                }
                Some((compiler, name))
            }
        };
        Ok(Self {
            rubric,
            secret,
            public_tile: 0,
            compiler,
        })
    }

    /// Launches public sizes with another of the rubric's tiles, counted from 1: what is told of them is told then.
    ///
    /// # Errors
    /// If the rubric has no such tile.
    pub fn with_public_tile(mut self, number: usize) -> Result<Self> {
        let tiles = self.rubric.tile.len();
        ensure!(
            number == 1 || (1..=tiles).contains(&number),
            "{} has {tiles} tiles, and they are counted from 1",
            self.rubric.name
        );
        self.public_tile = number - 1;
        Ok(self)
    }

    /// Whether what is handed in is a kernel, and not answers.
    pub fn launches_kernels(&self) -> bool {
        self.compiler.is_some()
    }

    /// What the file is called that counts.
    pub fn handed_in(&self) -> &'static str {
        self.rubric.task.handed_in()
    }

    /// Grades what this student handed in.
    ///
    /// # Errors
    /// If it cannot be read. Whatever it does wrong is in its grade.
    pub fn grade(&self, file: &Path, student: &str) -> Result<Grade> {
        self.grade_launches(file, student, Launches::All)
    }

    /// The same at the public sizes alone: what a student wants to know at once. Nothing of a hidden launch counts or shows.
    ///
    /// # Errors
    /// As of [`Self::grade`].
    pub fn grade_public(&self, file: &Path, student: &str) -> Result<Grade> {
        self.grade_launches(file, student, Launches::Public)
    }

    fn grade_launches(&self, file: &Path, student: &str, which: Launches) -> Result<Grade> {
        let rubric = &self.rubric;
        let handed_in = HandedIn::read(file, self.launches_kernels())?;
        let text = &handed_in.text;
        let hash = |bytes: &[u8]| harness::hex(&Sha256::digest(bytes));
        let mut grade = Grade {
            pass: rubric.pass,
            items: Vec::new(),
            complaints: Vec::new(),
            launches: Vec::new(),
            profile: None,
            printed: None,
            after: None,
            evidence: Evidence {
                assignment: rubric.name.clone(),
                compiler: self.compiler.as_ref().map(|(_, name)| name.clone()),
                grader: VERSION.into(),
                rubric_sha256: rubric.hash.clone(),
                // Tells secrets apart, and none from it.
                secret: self.secret.as_ref().map(|secret| hash(secret)[..8].into()),
                student: student.to_owned(),
                submission_sha256: handed_in.hash(),
            },
        };
        if let Some((compiler, _)) = &self.compiler {
            ensure!(
                file.extension().is_some_and(|ending| ending == "cu"),
                "{} does not end in .cu: CUDA source is graded",
                file.display()
            );
            let predicted = predict::judge(rubric, handed_in.predictions.as_deref());
            grade.items.extend(predicted);
            let found = diagnose::judge(rubric, handed_in.diagnosis.as_deref(), &**compiler)?;
            grade.items.extend(found);
            let mut launches = plan::public(rubric, self.public_tile)?;
            if which == Launches::All {
                launches.extend(plan::others(rubric, self.secret.as_deref(), student));
            }
            // Grades do not depend on where a file is stored.
            let name = submission::plain_name(file);
            judge::judge(&mut grade, rubric, (&name, text), &launches, &**compiler)?;
        } else {
            let questions = rubric.questions(self.secret.as_deref(), student)?;
            (grade.items, grade.complaints) =
                answers::judge(&questions, text, rubric.points.prediction);
        }
        let is_whole = which == Launches::All || self.compiler.is_none();
        grade.after = (is_whole && grade.passed()).then(|| rubric.after.passed.clone());
        Ok(grade)
    }
}

/// What was handed in.
struct HandedIn {
    /// The kernel, or the answers.
    text: String,
    /// Beside a kernel, what its counters were predicted to be.
    predictions: Option<String>,
    /// Beside a kernel that was broken, what its bug is.
    diagnosis: Option<String>,
}

impl HandedIn {
    fn read(file: &Path, is_kernel: bool) -> Result<Self> {
        let beside = |name| match is_kernel {
            true => submission::beside(file, name),
            false => Ok(None),
        };
        Ok(Self {
            text: read(file)?,
            predictions: beside(PREDICTIONS)?,
            diagnosis: beside(DIAGNOSIS)?,
        })
    }

    /// SHA-256 of all of it, in 64 digits.
    fn hash(&self) -> String {
        let beside = [&self.predictions, &self.diagnosis];
        let beside = beside.map(|text| text.as_deref().unwrap_or_default());
        harness::hex(&Sha256::digest(
            [&self.text, beside.concat().as_str()].concat(),
        ))
    }
}

/// SHA-256 of what was handed in, with the files beside it, in 64 digits.
pub(crate) fn submission_hash(file: &Path, is_kernel: bool) -> Result<String> {
    Ok(HandedIn::read(file, is_kernel)?.hash())
}

/// The name of [`empty`].
const EMPTY: &str = "gemm";

/// A kernel that does nothing.
fn empty(compiler: &dyn Compile) -> Result<harness::Source> {
    let text = format!("extern \"C\" __global__ void {EMPTY}() {{}}");
    let source = harness::Source::compiled("empty.cu", &text, "sm_80", &[], compiler)?;
    Ok(source)
}

/// The whole name of a compiler, which only its output tells: the version that it states has two numbers.
fn name_of(compiler: &dyn Compile) -> Result<String> {
    Ok(match empty(compiler)?.origin {
        harness::Origin::Nvrtc(name) => name,
        other => other.to_string(),
    })
}
