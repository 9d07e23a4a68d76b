//! Grades a whole class in parallel: a folder per student, a process per submission.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `process` | what is this submission's grade? |
//! | `changes` | whose grade changed, and why? |
//! | `similar` | whose kernels are similar? |
mod changes;
mod process;
mod similar;

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use harness::table::{head, markdown_table};
use rayon::prelude::*;

use super::results::{self, Results};
use super::text::points;
use super::{Process, Request};
use crate::submission::{cell, name, one_line, read};
use process::{Graded, Outcome};
pub use similar::Pair;

/// The table of a class.
const GRADES: &str = "grades.csv";

/// A folder that contains students' folders.
#[derive(Clone)]
pub struct Class {
    folder: PathBuf,
    /// Sorted by name.
    students: Vec<PathBuf>,
    /// Name of the file that is graded.
    file: &'static str,
}

/// A class and the outcome of each submission.
pub struct GradedClass<'a> {
    class: &'a Class,
    /// In the order of the students.
    outcomes: Vec<Outcome>,
}

/// Changed grades.
#[derive(Default)]
pub struct Changes {
    /// Student and reason, for each grade that changed or cannot be compared.
    pub found: Vec<(String, String)>,
    pub changed: usize,
    /// How many cannot be compared.
    pub broken: usize,
}

impl Class {
    /// Lists the students of a folder.
    pub fn read(folder: &Path, file: &'static str) -> Result<Self> {
        let entries = fs::read_dir(folder)
            .with_context(|| format!("cannot read the folder {}", folder.display()))?;
        let mut students = Vec::new();
        for entry in entries {
            let entry = entry.with_context(|| format!("cannot read {}", folder.display()));
            let path = entry?.path();
            // A link to a folder, or a dangling one, gets a row that says why it is not followed.
            let is_folder = path.is_dir() || path.is_symlink() && !path.is_file();
            if is_folder && !name(&path).starts_with('.') {
                students.push(path);
            }
        }
        ensure!(
            !students.is_empty(),
            "{} has no folders; make one for each student, and call it as that student is called",
            folder.display()
        );
        students.sort();
        Ok(Self {
            folder: folder.to_owned(),
            students,
            file,
        })
    }

    /// Those who already have a grade.
    pub fn with_grades(&self) -> Result<Self> {
        let mut class = self.clone();
        let has_grade = |student: &PathBuf| student.join(results::FILE).try_exists();
        // A student whose file cannot be read is not left out.
        class
            .students
            .retain(|student| has_grade(student).unwrap_or(true));
        ensure!(
            !class.students.is_empty(),
            "no folder in {} has a {}: grade the class first",
            self.folder.display(),
            results::FILE,
        );
        Ok(class)
    }

    /// Fails before anything is graded if the grades could not be written: a class takes minutes.
    pub fn ensure_writable(&self) -> Result<()> {
        let path = self.folder.join(GRADES);
        let opened = File::options().append(true).create(true).open(&path);
        opened.map(drop).with_context(|| {
            let path = path.display();
            format!("nothing was graded, since {path} cannot be written: make the folder writable, or grade a copy of it")
        })
    }

    /// Number of students.
    pub fn len(&self) -> usize {
        self.students.len()
    }

    /// Grades all submissions; calls `done` after each. Each request is this one with the student's submission and
    /// name.
    pub fn grade(
        &self,
        process: &Process,
        request: &Request,
        done: impl Fn() + Sync,
    ) -> GradedClass<'_> {
        let students = self.students.par_iter();
        let outcomes = students.map(|student| {
            let outcome = process::find(student, self.file).and_then(|submission| {
                let request = Request {
                    submission,
                    student: name(student),
                    ..request.clone()
                };
                process::grade(process, &request)
            });
            done();
            outcome
        });
        GradedClass {
            class: self,
            outcomes: outcomes.collect(),
        }
    }

    /// Pairs of kernels that have more in common than the starter; also writes them to `similar.csv` and returns its
    /// path.
    pub fn similar(&self, starter: &str) -> Result<(Vec<Pair>, PathBuf)> {
        let path = self.folder.join("similar.csv");
        let kernels = self.students.iter().filter_map(|student| {
            let kernel = process::find(student, self.file).ok()?;
            Some((name(student), read(&kernel).ok()?))
        });
        let pairs = similar::pairs(starter, kernels);
        similar::write(&path, &pairs)
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok((pairs, path))
    }
}

impl GradedClass<'_> {
    fn each(&self) -> impl Iterator<Item = (&PathBuf, &Outcome)> {
        self.class.students.iter().zip(&self.outcomes)
    }

    /// How many could not be graded.
    pub fn failed(&self) -> usize {
        let outcomes = self.outcomes.iter();
        outcomes.filter(|outcome| outcome.is_err()).count()
    }

    /// Writes each grade beside its submission, and all to `grades.csv`, whose path it returns.
    pub fn keep(&mut self) -> Result<PathBuf> {
        for (student, outcome) in self.class.students.iter().zip(&mut self.outcomes) {
            if let Err(why) = keep(student, outcome) {
                *outcome = Err(why);
            }
        }
        let path = self.class.folder.join(GRADES);
        self.write_csv(&path)
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    fn write_csv(&self, path: &Path) -> csv::Result<()> {
        let mut csv = csv::Writer::from_path(path)?;
        csv.write_record([
            "student",
            "points",
            "of",
            "passed",
            "why_not_graded",
            "submission_sha256",
        ])?;
        for (student, outcome) in self.each() {
            let row = match outcome {
                Ok(graded) => [
                    points(graded.results.score),
                    points(graded.results.all_points()),
                    graded.passed.to_string(),
                    String::new(),
                    graded.results.extra_data.submission_sha256.clone(),
                ],
                Err(why) => ["0", "", "false", why, ""].map(str::to_owned),
            };
            csv.write_field(cell(&name(student)))?;
            csv.write_record(row.map(|one| cell(&one)))?;
        }
        Ok(csv.flush()?)
    }

    /// A row per student.
    pub fn table(&self) -> String {
        let mut rows = vec![head(["student", "lost", "points", "of"])];
        for (student, outcome) in self.each() {
            let [lost, got, of] = match outcome {
                Ok(Graded { results, .. }) => {
                    let [got, of] = [results.score, results.all_points()].map(points);
                    [results.lost(), got, of]
                }
                Err(why) => [why.lines().next().unwrap_or_default(), "0", "-"].map(str::to_owned),
            };
            rows.push(vec![one_line(&name(student)), lost, got, of]);
        }
        markdown_table(&rows)
    }

    /// Compares these grades with those that the students have.
    pub fn changes(&self) -> Changes {
        let mut all = Changes::default();
        for (student, outcome) in self.each() {
            let after = outcome.as_ref().map(|graded| &graded.results);
            let words = match Results::read(&student.join(results::FILE)) {
                Ok(before) => {
                    let words = changes::between(&before, after);
                    all.changed += usize::from(words.is_some());
                    words
                }
                Err(error) => {
                    all.broken += 1;
                    Some(format!("not compared: {error:#}"))
                }
            };
            all.found
                .extend(words.map(|words| (one_line(&name(student)), words)));
        }
        all
    }
}

/// Writes the grade beside the submission. Whatever the student put in its place is removed first: it may be a link
/// elsewhere, or an old grade.
fn keep(student: &Path, outcome: &Outcome) -> Result<(), String> {
    if student.is_symlink() {
        return Ok(());
    }
    let path = student.join(results::FILE);
    let removed = match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    let Ok(graded) = outcome else { return Ok(()) };
    removed
        .and_then(|()| File::create_new(&path)?.write_all(graded.json.as_bytes()))
        .map_err(|error| {
            format!(
                "it has {} points, but its grade cannot be written to {}: {error}",
                points(graded.results.score),
                path.display()
            )
        })
}
