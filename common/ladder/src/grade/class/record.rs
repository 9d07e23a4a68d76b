//! What a `grade.json` holds, which `--json` wrote: what a later grade is compared with.
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::grade::text::points;

/// Beside each submission.
pub const FILE: &str = "grade.json";

#[derive(Clone, Debug, Deserialize)]
pub struct Record {
    pub score: f64,
    pub tests: Vec<Test>,
    pub extra_data: Extra,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Test {
    pub name: String,
    pub score: f64,
    pub max_score: f64,
    pub output: String,
}

/// What a grade rests on.
#[derive(Clone, Debug, Deserialize)]
pub struct Extra {
    pub assignment: String,
    /// Empty without a secret: everybody has the same sizes then.
    pub student: String,
    pub grader: String,
    pub rubric_sha256: String,
    pub compiler: Option<String>,
    pub secret: Option<String>,
    pub submission_sha256: String,
}

impl Record {
    pub fn read(path: &Path) -> Result<Self> {
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text)
            .with_context(|| format!("{} is no grade; `--class` writes it anew", path.display()))
    }

    pub fn parse(text: &str) -> Result<Self> {
        Ok(serde_json::from_str(text)?)
    }

    /// All points that there are.
    pub fn of(&self) -> f64 {
        self.tests.iter().map(|test| test.max_score).sum()
    }

    /// For what points are missing, and how many.
    pub fn lost(&self) -> String {
        let missing = |test: &Test| test.max_score - test.score;
        let lost = self.tests.iter().filter(|test| missing(test) > 1e-6);
        let words: Vec<_> = lost
            .map(|test| format!("{} {}", test.name, points(missing(test))))
            .collect();
        words.join(", ")
    }
}
