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
//! | `mechanism` | is it right for the right reason? |
//! | `budget` | what may a kernel do, and what must it, by whatever instruction? |
//! | `pipeline` | how early are copies issued? |
//! | `sanitizer` | what was found wrong? |
//! | `conflict` | which lanes want the same bank? |
//! | `gap` | which lanes' bytes are not side by side? |
//! | `predict` | were the student's predictions right? |
//! | `diagnose` | has the student found the bug of a broken kernel? |
//! | `answers` | were the answers to an exam right? |
//! | `class` | how does a whole class do? |
//! | `text`, `results` | how does the reader see it? |
pub(crate) mod answers;
mod budget;
pub(crate) mod class;
mod conflict;
mod diagnose;
mod diagnosis;
mod fragment;
mod gap;
mod judge;
mod labels;
mod mechanism;
mod misplaced;
mod pipeline;
pub(crate) mod plan;
mod predict;
pub(crate) mod results;
pub(crate) mod rubric;
mod sanitizer;
pub(crate) mod text;
mod values;

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
pub use diagnose::{BROKEN, sealed};
use harness::Compile;
use results::{Evidence, Results};
use rubric::{AssignmentKind, Rubric};
use sha2::{Digest, Sha256};

use crate::submission::{self, DIAGNOSIS, PREDICTIONS, read};

/// The anchor for what no entry of the book's page of mistakes describes.
const NO_MISTAKE: &str = "none-of-these";

/// Raised whenever the same kernel might get other points, or other sizes.
const VERSION: &str = "5";

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
    fn new(what: impl Into<String>, hint: &str, mistake: &str) -> Self {
        Self {
            what: what.into(),
            hint: hint.into(),
            mistake: mistake.into(),
            player: None,
        }
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

    /// All points.
    pub fn points(&self) -> f64 {
        self.items.iter().map(|item| item.points).sum()
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
                let name = name_of(&*compiler)?;
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

    /// What the file is called that counts.
    pub fn handed_in(&self) -> &'static str {
        self.rubric.task.handed_in()
    }

    /// Grades what this student handed in.
    ///
    /// # Errors
    /// If it cannot be read. Whatever it does wrong is in its grade.
    pub fn grade(&self, file: &Path, student: &str) -> Result<Grade> {
        let rubric = &self.rubric;
        let text = read(file)?;
        let predictions = match self.compiler {
            Some(_) => submission::beside(file, PREDICTIONS)?,
            None => None,
        };
        let diagnosis = match &rubric.bug {
            Some(_) => submission::beside(file, DIAGNOSIS)?,
            None => None,
        };
        let hash = |bytes: &[u8]| harness::hex(&Sha256::digest(bytes));
        let others = [&predictions, &diagnosis];
        let others = others.map(|text| text.as_deref().unwrap_or_default());
        let all = [text.as_str(), &others.concat()].concat();
        let mut grade = Grade {
            pass: rubric.pass,
            items: Vec::new(),
            complaints: Vec::new(),
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
                submission_sha256: hash(all.as_bytes()),
            },
        };
        if let Some((compiler, _)) = &self.compiler {
            ensure!(
                file.extension().is_some_and(|ending| ending == "cu"),
                "{} does not end in .cu: CUDA source is graded",
                file.display()
            );
            let predicted = predict::judge(rubric, predictions.as_deref());
            grade.items.extend(predicted);
            let found = diagnose::judge(rubric, diagnosis.as_deref(), &**compiler)?;
            grade.items.extend(found);
            let mut launches = plan::public(rubric, self.public_tile)?;
            launches.extend(plan::others(rubric, self.secret.as_deref(), student));
            // Grades do not depend on where a file is stored.
            let name = submission::plain_name(file);
            judge::judge(&mut grade, rubric, (&name, &text), &launches, &**compiler)?;
        } else {
            let questions = rubric.questions(self.secret.as_deref(), student)?;
            (grade.items, grade.complaints) =
                answers::judge(&questions, &text, rubric.points.prediction);
        }
        grade.after = grade.passed().then(|| rubric.after.passed.clone());
        Ok(grade)
    }
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
