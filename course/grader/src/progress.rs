//! A student's progress: each assignment with its last grading, provided that the file has not changed since, and with its best one.
//!
//! A grading is recorded under `target/course/`, with the hashes of the submission and the rubric and with the grader's
//! version. So the list is shown without compiling anything, and a result for another file is not mistaken for one of
//! this file.
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::exam::starter;
use crate::export::assignments;
use crate::grade::rubric::Rubric;
use crate::grade::text::points;
use crate::grade::{BROKEN, Evidence, Grade, VERSION, submission_hash};
use crate::starters;
use crate::submission::name;
use harness::terminal::harmless;

/// The folder of recorded gradings; a lost one can be repeated.
const FOLDER: &str = "target/course";

/// In an exported course: the hashes of the files that students change.
const HANDED_OUT: &str = ".github/handed_out.sha256";

/// The last grading of the assignment's own file, or of another one.
#[derive(Debug, Deserialize, Serialize)]
struct Record {
    /// The graded file, as an absolute path.
    file: PathBuf,
    points: f64,
    of: f64,
    /// The most points that any version of the file had, from the same grader by the same rubric.
    #[serde(default)]
    best: f64,
    passed: bool,
    evidence: Evidence,
}

impl Record {
    /// That of an assignment, if there is a readable one.
    fn read(root: &Path, assignment: &Path, own: bool) -> Option<Self> {
        let text = fs::read_to_string(place(root, assignment, own)).ok()?;
        serde_json::from_str(&text).ok()
    }

    fn has_rules_of(&self, other: &Evidence) -> bool {
        self.evidence.grader == other.grader && self.evidence.rubric_sha256 == other.rubric_sha256
    }
}

/// Records a grading for [`all`], unless it has a secret: then it is the teacher's.
///
/// # Errors
/// If it cannot be written.
pub fn record(root: &Path, assignment: &Path, file: &Path, grade: &Grade) -> Result<()> {
    let file = std::path::absolute(file)?;
    let handed_in = Rubric::read(assignment)?.task.handed_in();
    let own = is_same(&file, &assignment.join(handed_in));
    let earlier = Record::read(root, assignment, own);
    let earlier = earlier.filter(|earlier| earlier.has_rules_of(grade.evidence()));
    let record = Record {
        file,
        points: grade.points(),
        of: grade.items().iter().map(|item| item.of).sum(),
        best: earlier
            .map_or(0.0, |earlier| earlier.best)
            .max(grade.points()),
        passed: grade.passed(),
        evidence: grade.evidence().clone(),
    };
    let path = place(root, assignment, own);
    let folder = root.join(FOLDER);
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let text = serde_json::to_string_pretty(&record)? + "\n";
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// Whether both paths lead to one file.
fn is_same(one: &Path, other: &Path) -> bool {
    match (fs::canonicalize(one), fs::canonicalize(other)) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}

/// Another file, perhaps somebody else's, has a record of its own.
fn place(root: &Path, assignment: &Path, own: bool) -> PathBuf {
    let elsewhere = if own { "" } else { ".elsewhere" };
    root.join(FOLDER)
        .join(format!("{}{elsewhere}.json", name(assignment)))
}

/// The state of an assignment.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// The file is as handed out, and no other was graded.
    NotBegun,
    /// The file has changed, and was never graded.
    NotGraded,
    /// The file has changed since its last grading, or the grader or the rubric has; with the points of that grading
    /// and whether it passed, and the best points.
    Changed {
        points: f64,
        best: f64,
        passed: bool,
    },
    /// The file has been graded in its current state.
    Graded {
        points: f64,
        of: f64,
        best: f64,
        passed: bool,
    },
}

/// An assignment and its state.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// Relative to the root.
    pub folder: PathBuf,
    /// Title of its README.
    pub title: String,
    /// The file that is graded.
    pub file: PathBuf,
    /// Whether students change that file in place, as in an exported course.
    pub in_place: bool,
    pub step: Step,
}

/// All assignments of this workspace, in order.
///
/// # Errors
/// If there are none, or one cannot be read.
pub fn all(root: &Path) -> Result<Vec<Assignment>> {
    let folders = assignments::folders(root)?;
    folders.iter().map(|folder| of(root, folder)).collect()
}

fn of(root: &Path, folder: &Path) -> Result<Assignment> {
    let rubric = Rubric::read(folder)?;
    let readme = fs::read_to_string(folder.join("README.md")).unwrap_or_default();
    let title = readme.lines().next().unwrap_or_default();
    let mut handed_in = folder.join(rubric.task.handed_in());
    if rubric.bug.is_some() && !handed_in.exists() {
        handed_in = folder.join(BROKEN);
    }
    // A record whose file no longer exists counts as none.
    let own = !as_handed_out(root, folder, &handed_in)?;
    let exists = |record: &Record| record.file.is_file();
    let elsewhere = || Record::read(root, folder, false).filter(exists);
    let in_place = Record::read(root, folder, true).filter(exists);
    let record = if own {
        in_place
    } else {
        elsewhere().or(in_place)
    };
    let (file, step) = match record {
        Some(record) => {
            let step = step(&record, &rubric);
            (record.file, step)
        }
        None if own => (handed_in, Step::NotGraded),
        None => (handed_in, Step::NotBegun),
    };
    Ok(Assignment {
        folder: folder.strip_prefix(root).unwrap_or(folder).to_owned(),
        title: title.trim_start_matches("# ").to_owned(),
        file: file.strip_prefix(root).unwrap_or(&file).to_owned(),
        in_place: root.join(HANDED_OUT).is_file(),
        step,
    })
}

/// The state that follows from a record.
fn step(record: &Record, rubric: &Rubric) -> Step {
    let (evidence, points, best) = (&record.evidence, record.points, record.best);
    let is_current = evidence.grader == VERSION
        && evidence.rubric_sha256 == rubric.hash
        && submission_hash(&record.file, rubric.task.is_kernel())
            .is_ok_and(|hash| hash == evidence.submission_sha256);
    match is_current {
        true => Step::Graded {
            points,
            of: record.of,
            best,
            passed: record.passed,
        },
        false => Step::Changed {
            points,
            best,
            passed: record.passed,
        },
    }
}

/// Whether the student has not changed the file yet. In an exported course its hash is listed; here the starter is
/// derived from the solution.
fn as_handed_out(root: &Path, folder: &Path, file: &Path) -> Result<bool> {
    let Ok(text) = fs::read_to_string(file) else {
        return Ok(true);
    };
    let text = text.replace("\r\n", "\n");
    if let Ok(list) = fs::read_to_string(root.join(HANDED_OUT)) {
        let hash = harness::hex(&Sha256::digest(&text));
        let mut hashes = list.lines().filter_map(|line| line.split(' ').next());
        return Ok(hashes.any(|one| one == hash));
    }
    match fs::read_to_string(folder.join("solution/kernel.cu")) {
        Ok(solution) => Ok(starters::of_solution(&solution)? == text),
        Err(_) => {
            let mut files = starter::files(folder)?.into_iter();
            let starter = files.find(|(path, _)| path == file);
            Ok(starter.is_none_or(|(_, starter)| starter == text))
        }
    }
}

impl Assignment {
    /// Whether the current file passes.
    pub fn is_passed(&self) -> bool {
        matches!(self.step, Step::Graded { passed: true, .. })
    }

    /// Whether an earlier version passed. If it has been overwritten since, for example by the next assignment's file,
    /// the student need not return to it before all others are done.
    fn has_passed(&self) -> bool {
        self.is_passed() || matches!(self.step, Step::Changed { passed: true, .. })
    }

    /// A description of the state.
    fn state(&self) -> String {
        match &self.step {
            Step::NotBegun => "not begun".into(),
            Step::NotGraded => "begun, not graded".into(),
            Step::Graded {
                points: got,
                of,
                best,
                passed,
            } => {
                let words = if *passed { "passed" } else { "not passed" };
                let best = at_best(*got, *best);
                format!("{words}, {} of {} points{best}", points(*got), points(*of))
            }
            Step::Changed {
                points: got,
                best,
                passed,
            } => {
                let words = if *passed { ", which passed" } else { "" };
                let best = at_best(*got, *best);
                format!(
                    "to be graded again; it had {} points{words}{best}",
                    points(*got)
                )
            }
        }
    }

    /// The commands to type, one per line.
    fn commands(&self) -> Vec<String> {
        let (folder, file) = (self.folder.display(), self.file.display());
        if self.in_place || self.step != Step::NotBegun {
            return vec![format!("cargo ladder grade --watch {folder} {file}")];
        }
        let mine = match name(&self.file) {
            broken if broken == BROKEN => "my_kernel.cu".into(),
            file => format!("my_{file}"),
        };
        vec![
            format!("cp {file} {mine}"),
            format!("cargo ladder grade --watch {folder} {mine}"),
        ]
    }
}

/// The best points, if the last grading had fewer.
fn at_best(last: f64, best: f64) -> String {
    match best > last + 1e-6 {
        true => format!("; an earlier version had {}", points(best)),
        false => String::new(),
    }
}

/// The list, and what to do next.
pub fn text(all: &[Assignment]) -> String {
    let passed = all.iter().filter(|one| one.is_passed()).count();
    let open = all.iter().position(|one| !one.has_passed());
    let next = open.or_else(|| all.iter().position(|one| !one.is_passed()));
    let width = all.iter().map(|one| one.title.chars().count()).max();
    let width = width.unwrap_or_default();
    let mut out = format!("{passed} of {} passed\n\n", all.len());
    for (index, one) in all.iter().enumerate() {
        let mark = match (next == Some(index), one.is_passed()) {
            (true, _) => '>',
            (_, true) => 'x',
            _ => ' ',
        };
        out += &format!("{mark} {:<width$}  {}\n", one.title, one.state());
    }
    match next {
        None => out += "\nAll assignments are passed.\n",
        Some(index) => {
            let one = &all[index];
            let readme = one.folder.join("README.md");
            out += &format!("\nnext: {}\nread {}, then\n", one.title, readme.display());
            for command in one.commands() {
                out += &format!("  {command}\n");
            }
        }
    }
    harmless(&out)
}
