//! What stands between `{{#predict` and `}}`.
use serde::Deserialize;

use crate::directives::lines::Lines;

/// The TOML of a prediction.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    /// In Markdown.
    pub question: String,
    pub answer: Answer,
    #[serde(default)]
    pub unit: String,
    /// How far from the answer a right prediction may be.
    #[serde(default)]
    pub within: f64,
    #[serde(default)]
    pub wrong: Vec<Wrong>,
    /// In Markdown; stands with the answer.
    pub why: String,
    /// Shows the output with the answer, too.
    pub output: Option<Lines>,
}

/// Where the answer is found.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    pub run: String,
    /// In its JSON.
    pub pointer: Option<String>,
    /// With one group, around the number.
    pub regex: Option<String>,
    /// The exit code that it has to end with.
    #[serde(default)]
    pub exit: i32,
}

/// A number that somebody may come to, and what is to be said to them, in Markdown.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wrong {
    pub value: f64,
    pub reply: String,
}
