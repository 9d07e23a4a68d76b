//! A whole class: a folder for each student, graded side by side, each in a process of its own.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `student` | what is it worth that this one handed in? |
//! | `handed_in` | which file of a folder counts? |
//! | `record` | what does a `grade.json` hold? |
//! | `changes` | who has another grade than before, and why? |
//! | `similar` | whose kernels are alike? |
mod changes;
pub(crate) mod handed_in;
mod record;
mod similar;
mod student;

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;

use super::rubric::Task;
use super::text::points;
use super::{Arguments, Grader, harmless};
use crate::table::{head, markdown_table};
use record::Record;
use student::Outcome;

/// Grades all folders; writes `grades.csv`, a `grade.json` beside each submission and, where kernels are alike,
/// `similar.csv`.
pub fn run(arguments: &Arguments, grader: &Grader, folder: &Path) -> Result<bool> {
    let students = students(folder)?;
    let wanted = wanted(grader);
    let mut outcomes = grade_all(arguments, wanted, &students);
    for (student, outcome) in students.iter().zip(&mut outcomes) {
        if let Err(why) = keep(student, outcome) {
            *outcome = Err(why);
        }
    }
    anstream::print!("{}", harmless(&table(&students, &outcomes)));
    let csv = folder.join("grades.csv");
    write_csv(&csv, &students, &outcomes)?;
    let failed = outcomes.iter().filter(|outcome| outcome.is_err()).count();
    anstream::println!(
        "\n{} graded, {failed} could not be; {}",
        students.len() - failed,
        csv.display()
    );
    similar::report(arguments, wanted, folder, &students)?;
    Ok(true)
}

/// Puts the grade beside the submission. What a student put in its place may lead elsewhere, and an old grade is none
/// of this one.
fn keep(student: &Path, outcome: &Outcome) -> Result<(), String> {
    if student.is_symlink() {
        return Ok(());
    }
    let path = student.join(record::FILE);
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
                points(graded.record.score),
                path.display()
            )
        })
}

/// Grades all folders again and says whose grade is another now; writes nothing.
pub fn again(arguments: &Arguments, grader: &Grader, folder: &Path) -> Result<bool> {
    let all = students(folder)?;
    let mut graded = all.clone();
    // What cannot be looked at is no reason to leave a student out.
    graded.retain(|student| student.join(record::FILE).try_exists().unwrap_or(true));
    ensure!(
        !graded.is_empty(),
        "no folder in {} has a {}: grade the class first, with `--class {}`",
        folder.display(),
        record::FILE,
        folder.display()
    );
    let outcomes = grade_all(arguments, wanted(grader), &graded);
    let (mut changed, mut broken) = (0, 0);
    for (student, outcome) in graded.iter().zip(&outcomes) {
        let after = outcome.as_ref().map(|graded| &graded.record);
        let words = match Record::read(&student.join(record::FILE)) {
            Ok(before) => {
                let words = changes::between(&before, after);
                changed += usize::from(words.is_some());
                words
            }
            Err(error) => {
                broken += 1;
                Some(format!("not compared: {error:#}"))
            }
        };
        if let Some(words) = words {
            anstream::println!("{}", harmless(&format!("{}: {words}", name(student))));
        }
    }
    anstream::println!(
        "{changed} of {} have another grade; {broken} could not be compared, {} have no grade yet; \
        nothing was written (`--class {}` does)",
        graded.len() - broken,
        all.len() - graded.len(),
        folder.display()
    );
    Ok(true)
}

/// What the file is called that counts.
fn wanted(grader: &Grader) -> &'static str {
    match grader.rubric.task {
        Task::Predict => "answers.toml",
        _ => "kernel.cu",
    }
}

/// The students' folders, by name.
fn students(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)
        .with_context(|| format!("cannot read the folder {}", folder.display()))?;
    let mut students = Vec::new();
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read {}", folder.display()))?;
        let path = entry.path();
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        // A link to a folder, or to nothing, gets a row that says why it is not followed.
        if !hidden && (path.is_dir() || path.is_symlink() && !path.is_file()) {
            students.push(path);
        }
    }
    ensure!(
        !students.is_empty(),
        "{} has no folders; make one for each student, named as `--student` would name them",
        folder.display()
    );
    students.sort();
    Ok(students)
}

/// A student's name is that of the folder.
fn name(student: &Path) -> String {
    student
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// In the order of the students, whoever was ready first.
fn grade_all(arguments: &Arguments, wanted: &str, students: &[PathBuf]) -> Vec<Outcome> {
    let bar = ProgressBar::new(students.len() as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} graded, {eta} left") {
        bar.set_style(style);
    }
    let outcomes = students
        .par_iter()
        .map(|student| {
            let outcome = student::grade(arguments, wanted, student, &name(student));
            bar.inc(1);
            outcome
        })
        .collect();
    bar.finish_and_clear();
    outcomes
}

fn write_csv(path: &Path, students: &[PathBuf], outcomes: &[Outcome]) -> Result<()> {
    let mut csv =
        csv::Writer::from_path(path).with_context(|| format!("cannot write {}", path.display()))?;
    csv.write_record([
        "student",
        "points",
        "of",
        "passed",
        "why_not_graded",
        "submission_sha256",
    ])?;
    for (student, outcome) in students.iter().zip(outcomes) {
        let row = match outcome {
            Ok(graded) => {
                let record = &graded.record;
                [
                    points(record.score),
                    points(record.of()),
                    graded.passed.to_string(),
                    String::new(),
                    record.extra_data.submission_sha256.clone(),
                ]
            }
            Err(why) => [
                "0".into(),
                String::new(),
                "false".into(),
                why.clone(),
                String::new(),
            ],
        };
        csv.write_field(name(student))?;
        csv.write_record(row)?;
    }
    csv.flush()
        .with_context(|| format!("cannot write {}", path.display()))
}

fn table(students: &[PathBuf], outcomes: &[Outcome]) -> String {
    let mut rows = vec![head(&["student", "lost", "points", "of"])];
    for (student, outcome) in students.iter().zip(outcomes) {
        let [lost, got, of] = match outcome {
            Ok(graded) => [
                graded.record.lost(),
                points(graded.record.score),
                points(graded.record.of()),
            ],
            Err(why) => [
                why.lines().next().unwrap_or_default().into(),
                "0".into(),
                "-".into(),
            ],
        };
        rows.push(vec![name(student), lost, got, of]);
    }
    markdown_table(&rows)
}
