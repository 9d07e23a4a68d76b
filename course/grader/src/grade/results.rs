//! A grade as the `results.json` that Gradescope reads (its autograder specification, "Output Format"). A class keeps one
//! beside each submission, which a later grade is compared with.
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::text::{one, points, provenance, verdict};
use super::{Grade, RubricItem};

/// What it is called beside a submission.
pub const FILE: &str = "grade.json";

/// Fields are sorted by name, in which order they have always been written.
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

/// Points for one thing.
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

/// What a grade rests on.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Evidence {
    /// Its name.
    pub assignment: String,
    /// None where nothing was compiled.
    pub compiler: Option<String>,
    /// Its version: another one might grade otherwise.
    pub grader: String,
    /// Of rubric.toml.
    pub rubric_sha256: String,
    /// Which secret the hidden sizes come from, if from any.
    pub secret: Option<String>,
    /// Whose it is; empty without a secret, since everybody has the same sizes then.
    pub student: String,
    /// Of what was handed in, predictions too.
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
            output: output.join("\n"),
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

    /// All points that there are.
    pub fn all_points(&self) -> f64 {
        self.tests.iter().map(|test| test.max_score).sum()
    }

    /// For what points are missing, and how many.
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
            output: item.why.join("\n"),
            score: hundredths(item.points),
            status: if full { "passed" } else { "failed" }.into(),
            visibility: visibility.into(),
        }
    }
}

fn hundredths(points: f64) -> f64 {
    (100.0 * points).round() / 100.0
}
