//! Grades a submission: points, and how to get the missing ones.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `rubric` | what is required, and for how many points? |
//! | `plan` | at which sizes is the kernel launched, and on which numbers? |
//! | `compiled` | which PTX is known already? |
//! | `launches` | what does the kernel do there? |
//! | `judge` | how many points does it get? |
//! | `values` | is C right? |
//! | `diagnosis` | why is C wrong: |
//! | `labels` | which elements of A and B were multiplied? |
//! | `fragment` | which register holds another element than it should? |
//! | `misplaced` | which elements of C are swapped, which products are missing? |
//! | `probe` | which elements are multiplied with each other? |
//! | `one_place` | which elements are stored to one place of shared memory? |
//! | `epilogue` | are the sums right, and is a later step wrong? |
//! | `pattern` | which elements of C are wrong? |
//! | `mechanism` | is it right for the right reason? |
//! | `sectors` | does a warp load a sector again? |
//! | `turns` | do lanes that would conflict take turns? |
//! | `budget` | what may and must a kernel do, with whatever instructions? |
//! | `stored_as_f16` | are operands f32 in shared memory? |
//! | `own_slots` | do threads exchange values through shared memory? |
//! | `shared_values` | do the values that are multiplied or moved come from shared memory? |
//! | `dead` | which accesses to shared memory does C not depend on? |
//! | `pipeline` | how early are copies issued? |
//! | `warnings` | what does the compiler warn about? |
//! | `clock` | how long would it take? |
//! | `sanitizer` | what did the sanitizer find? |
//! | `advice` | what should the student ask about it? |
//! | `merged_loads` | where is the value of a load used that the compiler has moved? |
//! | `quote` | how does a complaint quote a line? |
//! | `barriers` | which barrier do perhaps some warps not reach? |
//! | `mbarriers` | which arrivals are missing, and what orders nothing? |
//! | `groups` | which copies are not waited for? |
//! | `overrun` | does a store run into the next array of shared memory? |
//! | `element` | which element of a matrix is at an address? |
//! | `conflict` | which lanes conflict? |
//! | `gap` | which lanes' accesses are not contiguous? |
//! | `profile` | which memory traffic do the lines around the mistake cause? |
//! | `see` | where can the mistake be watched? |
//! | `reasons` | why is a prediction's answer right? |
//! | `predict` | were the student's predictions right? |
//! | `diagnose` | has the student found the bug of a broken kernel? |
//! | `answers` | were the answers to an exam right? |
//! | `class` | how does a whole class do? |
//! | `text`, `results` | how does the reader see it? |
mod advice;
pub(crate) mod answers;
mod barriers;
mod budget;
pub(crate) mod class;
mod clock;
mod compiled;
mod conflict;
mod dead;
mod diagnose;
mod diagnosis;
mod element;
mod epilogue;
mod feeds;
mod fragment;
mod gap;
mod groups;
mod judge;
mod labels;
mod launches;
mod mbarriers;
mod mechanism;
mod merged_loads;
mod misplaced;
mod one_place;
mod overrun;
mod own_slots;
mod pattern;
mod pipeline;
pub(crate) mod plan;
mod predict;
mod probe;
mod profile;
mod quote;
mod rates;
pub(crate) mod reasons;
pub(crate) mod results;
pub(crate) mod rubric;
mod sanitizer;
mod sectors;
mod see;
mod shared_values;
mod stored_as_f16;
pub(crate) mod text;
mod turns;
mod values;
mod warnings;

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use compiled::CachedCompiler;
pub use diagnose::{BROKEN, sealed};
use harness::Compile;
use harness::tools::{PTXAS, version};
pub use results::Evidence;
use results::Results;
use rubric::{AssignmentKind, Rubric};
use sha2::{Digest, Sha256};

use crate::submission::{self, DIAGNOSIS, PREDICTIONS, read};

/// The anchor for mistakes that have no entry on the book's page of mistakes.
const NO_MISTAKE: &str = "none-of-these";

/// The version of the rules, part of every grade: raised whenever the same kernel might get other points, or other
/// sizes.
pub const VERSION: &str = "27";

/// What a child process has to grade; it prints a `results.json`.
#[derive(Clone, Debug)]
pub struct Request {
    /// The folder of the assignment.
    pub assignment: PathBuf,
    /// The submitted file.
    pub submission: PathBuf,
    /// The book: a folder or an address.
    pub book: String,
    /// The file with the teacher's secret.
    pub secret: Option<PathBuf>,
    /// Empty without a secret.
    pub student: String,
    /// Whether the kernel is untrusted and compiled in the sandbox.
    pub untrusted: bool,
}

/// Creates the process for a request. Exit code 0: passed. 1: points are missing. Any other: not graded.
pub type Process<'a> = dyn Fn(&Request) -> std::io::Result<std::process::Command> + Sync + 'a;

/// The grade of a submission.
pub struct Grade {
    /// Points required to pass.
    pass: f64,
    items: Vec<RubricItem>,
    complaints: Vec<Complaint>,
    /// Every planned launch, in order.
    launches: Vec<LaunchOutcome>,
    /// The memory traffic of each line around the mistake, at a public size.
    profile: Option<String>,
    /// The kernel's output at the first public size where it printed anything.
    printed: Option<String>,
    /// Why the kernel works, if it does.
    after: Option<String>,
    evidence: Evidence,
}

/// Points for one criterion.
pub struct RubricItem {
    /// The criterion.
    pub name: String,
    /// Points achieved.
    pub points: f64,
    /// Points available.
    pub of: f64,
    /// Reasons, one per line.
    pub why: Vec<String>,
    /// Whether students see it immediately.
    pub visible: bool,
}

/// The outcome of a launch. A hidden one is named by its tile only.
pub struct LaunchOutcome {
    /// The part of the rubric, the size and the tile, unless they are hidden.
    pub name: String,
    /// Whether C is right; none if the launch did not take place, because an earlier one failed.
    pub right: Option<bool>,
    /// Whether the sanitizer found nothing.
    pub clean: bool,
}

/// A mistake, and where to read about it.
pub struct Complaint {
    /// Where and what it is.
    pub what: String,
    /// A question to think about; never the answer.
    pub hint: String,
    /// An anchor on the book's page of mistakes.
    pub mistake: String,
    /// The wavefront player for the student's own addresses: page and fragment.
    pub player: Option<String>,
    /// The line of kernel.cu with the mistake, if there is one.
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

    /// Where to read about it: the book's address or file, and the fragment.
    pub fn read(&self, book: &str) -> String {
        let book = book.trim_end_matches('/');
        format!("{book}/mistakes.html#{}", self.mistake)
    }

    /// Where to watch it in the book: the wavefront player with the student's own addresses, or a kernel with the same
    /// mistake, step by step.
    pub fn see(&self, book: &str) -> Option<String> {
        let book = book.trim_end_matches('/');
        let page = self.player.clone().or_else(|| see::page(&self.mistake))?;
        Some(format!("{book}/{page}"))
    }

    /// Names the part that it belongs to, if there are several.
    fn in_part(mut self, part: &str) -> Self {
        if !part.is_empty() {
            self.what = format!("{part}: {}", self.what);
        }
        self
    }
}

impl Grade {
    /// The points for each criterion.
    pub fn items(&self) -> &[RubricItem] {
        &self.items
    }

    /// The complaints.
    pub fn complaints(&self) -> &[Complaint] {
        &self.complaints
    }

    /// Every planned launch and its outcome.
    pub fn launches(&self) -> &[LaunchOutcome] {
        &self.launches
    }

    /// The memory traffic of the lines around the mistake, at a public size.
    pub fn profile(&self) -> Option<&str> {
        self.profile.as_deref()
    }

    /// The kernel's output at the first public size where it printed anything.
    pub fn printed(&self) -> Option<&str> {
        self.printed.as_deref()
    }

    /// Why the kernel works, if it passed.
    pub fn after(&self) -> Option<&str> {
        self.after.as_deref()
    }

    /// The inputs of the grade: assignment, text, grader.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// The total of the points.
    pub fn points(&self) -> f64 {
        self.items.iter().map(|item| item.points).sum()
    }

    /// Points required to pass.
    pub fn pass(&self) -> f64 {
        self.pass
    }

    /// Whether the points suffice to pass.
    pub fn passed(&self) -> bool {
        // Points have at most three decimals.
        self.points() > self.pass - 1e-6
    }

    /// Formats it for a terminal; the book is at this folder or address.
    pub fn text(&self, book: &str) -> String {
        text::text(self, book)
    }

    /// Formats it as Gradescope's results.json.
    ///
    /// # Errors
    /// If a number of points is not finite.
    pub fn json(&self, book: &str) -> Result<String> {
        let results = Results::of(self, book);
        Ok(serde_json::to_string_pretty(&results)? + "\n")
    }
}

/// Which launches are performed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Launches {
    Public,
    All,
}

/// Grades submissions to one assignment.
pub struct Grader {
    rubric: Rubric,
    secret: Option<Vec<u8>>,
    /// The number of the tile for public sizes.
    public_tile: usize,
    /// And the compiler's name; none if nothing is compiled.
    compiler: Option<(CachedCompiler, String)>,
}

impl Grader {
    /// Reads the assignment's rubric, and finds a compiler if it needs one. Without a secret, anyone can find out the
    /// hidden sizes.
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
                let compiler = CachedCompiler::new(compiler()?);
                let mut name = name_of(&compiler)?;
                if rubric.sizes.timed.is_some() {
                    // So that a missing assembler is reported here and not as a kernel's error.
                    compiler.assemble(&empty(&compiler)?.ptx, EMPTY, &rubric.arch)?;
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

    /// Launches public sizes with another tile of the rubric, counted from 1, with all details.
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

    /// Whether submissions are kernels, and not answers.
    pub fn launches_kernels(&self) -> bool {
        self.compiler.is_some()
    }

    /// The name of the file that is graded.
    pub fn handed_in(&self) -> &'static str {
        self.rubric.task.handed_in()
    }

    /// Grades a student's submission.
    ///
    /// # Errors
    /// If the file cannot be read. Errors in the submission are reported in its grade.
    pub fn grade(&self, file: &Path, student: &str) -> Result<Grade> {
        self.grade_launches(file, student, Launches::All)
    }

    /// Grades only the public sizes: what a student wants to know first. Hidden launches neither count nor appear.
    ///
    /// # Errors
    /// As for [`Self::grade`].
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
                // Identifies the secret without revealing it.
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
            let found = diagnose::judge(rubric, handed_in.diagnosis.as_deref(), compiler)?;
            grade.items.extend(found);
            let mut launches = plan::public(rubric, self.public_tile)?;
            if which == Launches::All {
                launches.extend(plan::others(rubric, self.secret.as_deref(), student));
            }
            // Grades do not depend on where a file is stored.
            let name = submission::plain_name(file);
            judge::judge(&mut grade, rubric, (&name, text), &launches, compiler)?;
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

/// A submission.
struct HandedIn {
    /// The kernel or the answers.
    text: String,
    /// Predictions of a kernel's counters.
    predictions: Option<String>,
    /// The diagnosis of a broken kernel.
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

    /// SHA-256 of all files, 64 digits.
    fn hash(&self) -> String {
        let beside = [&self.predictions, &self.diagnosis];
        let beside = beside.map(|text| text.as_deref().unwrap_or_default());
        harness::hex(&Sha256::digest(
            [&self.text, beside.concat().as_str()].concat(),
        ))
    }
}

/// SHA-256 of a submission including the files beside it, 64 digits.
pub(crate) fn submission_hash(file: &Path, is_kernel: bool) -> Result<String> {
    Ok(HandedIn::read(file, is_kernel)?.hash())
}

/// The name of the kernel in [`empty`].
const EMPTY: &str = "gemm";

/// A kernel that does nothing.
fn empty(compiler: &dyn Compile) -> Result<harness::Source> {
    let text = format!("extern \"C\" __global__ void {EMPTY}() {{}}");
    let source = harness::Source::compiled("empty.cu", &text, "sm_80", &[], compiler)?;
    Ok(source)
}

/// The full name of a compiler, from its output: the version that its API reports has only two numbers.
fn name_of(compiler: &dyn Compile) -> Result<String> {
    Ok(match empty(compiler)?.origin {
        harness::Origin::Nvrtc(name) => name,
        other => other.to_string(),
    })
}
