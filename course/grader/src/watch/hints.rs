//! `hints.toml`: three hints for an assignment, each closer to the answer than the one before.
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// The file's name in an assignment's folder.
pub const FILE: &str = "hints.toml";

/// The three hints for an assignment.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Hints {
    /// A question that points at the cause.
    pub question: String,
    /// The effect, by its name in the book.
    pub mechanism: String,
    /// Everything but the code.
    pub nearly: String,
}

impl Hints {
    /// Reads the hints in an assignment's folder.
    ///
    /// # Errors
    /// If there are none, or one of them is missing.
    pub fn read(assignment: &Path) -> Result<Self> {
        let path = assignment.join(FILE);
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    /// Parses their text.
    ///
    /// # Errors
    /// If a level is missing or empty, or there are others.
    pub fn parse(text: &str) -> Result<Self> {
        let hints: Self = toml::from_str(text)?;
        for (name, level) in ["question", "mechanism", "nearly"]
            .iter()
            .zip(hints.levels())
        {
            ensure!(!level.trim().is_empty(), "the hint `{name}` is empty");
        }
        Ok(hints)
    }

    /// In order.
    pub fn levels(&self) -> [&str; 3] {
        [&self.question, &self.mechanism, &self.nearly]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_three_and_each_says_something() {
        let text = "question = \"q\"\nmechanism = \"m\"\nnearly = \"n\"\n";
        let hints = Hints::parse(text).expect("three hints");
        assert_eq!(hints.levels(), ["q", "m", "n"]);
        for bad in [
            text.replace("\"m\"", "\" \""),
            text.replace("nearly", "almost"),
            text.replace("question = \"q\"\n", ""),
            format!("{text}answer = \"a\"\n"),
        ] {
            assert!(Hints::parse(&bad).is_err(), "{bad}");
        }
    }
}
