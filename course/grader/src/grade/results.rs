//! A grade in Gradescope's `results.json` format (see its autograder specification, "Output Format"). When a class is
//! graded, one is written beside each submission, for comparison with later grades.
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::text::{one, points, provenance, verdict};
use super::{Grade, RubricItem};
use harness::terminal::harmless;

/// The file's name beside a submission.
pub const FILE: &str = "grade.json";

/// Fields are sorted by name, so that files stay comparable.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Results {
    pub extra_data: Evidence,
    #[serde(default)]
    output: String,
    #[serde(default)]
    output_format: String,
    pub score: f64,
    #[serde(default)]
    stdout_visibility: String,
    pub tests: Vec<TestResult>,
    #[serde(default)]
    visibility: String,
}

/// Points for one criterion.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct TestResult {
    pub max_score: f64,
    pub name: String,
    pub output: String,
    pub score: f64,
    #[serde(default)]
    status: String,
    #[serde(default)]
    visibility: String,
}

/// The inputs of a grade.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Evidence {
    /// Name of the assignment.
    pub assignment: String,
    /// None if nothing was compiled.
    pub compiler: Option<String>,
    /// Version of the grader; another one might grade differently.
    pub grader: String,
    /// Hash of rubric.toml.
    pub rubric_sha256: String,
    /// Identifies the secret that hidden sizes are derived from, if there is one.
    pub secret: Option<String>,
    /// The student; empty without a secret, because all students have the same sizes then.
    pub student: String,
    /// Hash of the submission, including predictions.
    pub submission_sha256: String,
}

impl Results {
    pub fn of(grade: &Grade, book: &str) -> Self {
        let mut output: Vec<String> = grade.complaints.iter().map(|of| one(of, book)).collect();
        let verdict = verdict(grade);
        if !verdict.is_empty() {
            output.insert(0, verdict.trim().to_owned() + "\n");
        }
        output.extend(grade.printed.clone());
        output.extend(grade.after.clone());
        output.push(provenance(grade));
        Self {
            extra_data: grade.evidence.clone(),
            output: harmless(&output.join("\n")),
            output_format: "text".into(),
            score: hundredths(grade.points()),
            stdout_visibility: "hidden".into(),
            tests: grade.items.iter().map(TestResult::of).collect(),
            visibility: "visible".into(),
        }
    }

    pub fn read(path: &Path) -> Result<Self> {
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_str(&text)
            .with_context(|| format!("{} is not a grade: grade the class again", path.display()))
    }

    /// The total of available points.
    pub fn all_points(&self) -> f64 {
        self.tests.iter().map(|test| test.max_score).sum()
    }

    /// The criteria with missing points, and how many are missing.
    pub fn lost(&self) -> String {
        let missing = |test: &TestResult| test.max_score - test.score;
        let lost = self.tests.iter().filter(|test| missing(test) > 1e-6);
        let words = lost.map(|test| format!("{} {}", test.name, points(missing(test))));
        words.collect::<Vec<_>>().join(", ")
    }
}

impl TestResult {
    fn of(item: &RubricItem) -> Self {
        let full = item.points > item.of - 1e-6;
        let visibility = match item.visible {
            true => "visible",
            false => "after_published",
        };
        Self {
            max_score: hundredths(item.of),
            name: item.name.clone(),
            output: harmless(&item.why.join("\n")),
            score: hundredths(item.points),
            status: if full { "passed" } else { "failed" }.into(),
            visibility: visibility.into(),
        }
    }
}

fn hundredths(points: f64) -> f64 {
    (100.0 * points).round() / 100.0
}
