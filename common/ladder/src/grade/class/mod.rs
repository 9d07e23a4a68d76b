//! A whole class: a folder for each student, graded side by side, each in a process of its own.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `student` | what did this one hand in, and what is it worth? |
//! | `record` | what does a `grade.json` hold? |
//! | `changes` | who has another grade than before, and why? |
//! | `similar` | whose kernels are alike? |
mod changes;
mod record;
mod similar;
mod student;

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use rayon::prelude::*;

use super::Arguments;
use super::text::points;
use crate::table::{head, markdown_table};
use record::Record;
use student::Outcome;

/// Grades all folders; writes `grades.csv`, a `grade.json` beside each submission and, where kernels are alike,
/// `similar.csv`.
pub fn run(arguments: &Arguments, folder: &Path) -> Result<bool> {
    let students = students(folder)?;
    let outcomes = grade_all(arguments, &students);
    let mut failed = 0;
    for (student, outcome) in students.iter().zip(&outcomes) {
        let path = student.join(record::FILE);
        // An old grade is none of this one; and what a student put in its place may lead elsewhere.
        let _ = fs::remove_file(&path);
        match outcome {
            Ok(graded) => File::create_new(&path)
                .and_then(|mut file| file.write_all(graded.json.as_bytes()))
                .with_context(|| format!("cannot write {}", path.display()))?,
            Err(_) => failed += 1,
        }
    }
    let csv = folder.join("grades.csv");
    write_csv(&csv, &students, &outcomes)?;
    anstream::print!("{}", table(&students, &outcomes));
    anstream::println!(
        "\n{} graded, {failed} could not be; {}",
        students.len() - failed,
        csv.display()
    );
    similar::report(arguments, folder, &students)?;
    Ok(true)
}

/// Grades all folders again and says whose grade is another now; writes nothing.
pub fn again(arguments: &Arguments, folder: &Path) -> Result<bool> {
    let mut students = students(folder)?;
    students.retain(|student| student.join(record::FILE).is_file());
    ensure!(
        !students.is_empty(),
        "no folder in {} has a {}: grade the class first, with `--class {}`",
        folder.display(),
        record::FILE,
        folder.display()
    );
    let outcomes = grade_all(arguments, &students);
    let mut changed = 0;
    for (student, outcome) in students.iter().zip(&outcomes) {
        let before = Record::read(&student.join(record::FILE))?;
        let after = outcome.as_ref().map(|graded| &graded.record);
        if let Some(words) = changes::between(&before, after) {
            changed += 1;
            anstream::println!("{}: {words}", name(student));
        }
    }
    anstream::println!(
        "{changed} of {} have another grade; nothing was written (`--class {}` does)",
        students.len(),
        folder.display()
    );
    Ok(true)
}

/// The students' folders, by name.
fn students(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)
        .with_context(|| format!("cannot read the folder {}", folder.display()))?;
    let mut students = Vec::new();
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read {}", folder.display()))?;
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if !hidden && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            students.push(entry.path());
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
fn grade_all(arguments: &Arguments, students: &[PathBuf]) -> Vec<Outcome> {
    let bar = ProgressBar::new(students.len() as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} graded, {eta} left") {
        bar.set_style(style);
    }
    let outcomes = students
        .par_iter()
        .map(|student| {
            let outcome = student::grade(arguments, student, &name(student));
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
