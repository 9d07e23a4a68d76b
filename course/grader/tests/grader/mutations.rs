//! `solution/mutations.toml`, `cheats.toml` and `right.toml` of an assignment: what must lose points, and what must not.
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::support::read;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutations {
    #[serde(default)]
    pub mutation: Vec<Mutation>,
    /// Other solutions, stored in `other.cu` beside it.
    #[serde(default)]
    pub right: Vec<Right>,
}

/// A submission that must lose points.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutation {
    pub name: String,
    /// Class of a cheat.
    pub class: Option<String>,
    /// It takes more than seven seconds, so only the whole suite grades it.
    #[serde(default)]
    pub slow: bool,
    /// Texts of the solution, and their replacements.
    #[serde(default)]
    pub edits: Vec<[String; 2]>,
    /// The kernel beside the solution to start from, if not the solution itself; without edits it is used unchanged.
    pub file: Option<PathBuf>,
    pub points: Points,
    /// Text of one of the complaints, and the mistake that it links to.
    pub says: String,
    pub mistake: String,
}

/// A submission that gets all points.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Right {
    pub name: String,
    #[serde(default)]
    pub edits: Vec<[String; 2]>,
    /// The kernel beside the solution to start from, if not the solution itself; without edits it is used unchanged.
    pub file: Option<PathBuf>,
}

impl Right {
    pub fn text(&self, assignment: &Path) -> String {
        text(&self.name, self.file.as_deref(), &self.edits, assignment)
    }
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Points {
    pub public: f64,
    pub hidden: f64,
    pub mechanism: f64,
    pub sanitizer: f64,
}

impl Mutations {
    pub fn of(assignment: &Path) -> Self {
        let read = |name: &str| -> Self {
            let path = assignment.join("solution").join(name);
            let text = read(&path).replace("\r\n", "\n");
            toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        let mut all = read("mutations.toml");
        for name in ["cheats.toml", "right.toml"] {
            let more = read(name);
            all.mutation.extend(more.mutation);
            all.right.extend(more.right);
        }
        all
    }
}

impl Mutation {
    pub fn text(&self, assignment: &Path) -> String {
        text(&self.name, self.file.as_deref(), &self.edits, assignment)
    }
}

fn text(name: &str, file: Option<&Path>, edits: &[[String; 2]], assignment: &Path) -> String {
    let solution = assignment.join("solution");
    match file {
        Some(file) if edits.is_empty() => read(&solution.join(file)),
        file => {
            let file = file.unwrap_or(Path::new("kernel.cu"));
            edited(name, &read(&solution.join(file)), edits)
        }
    }
}

/// The solution with these edits; each must find its text.
pub fn edited(name: &str, solution: &str, edits: &[[String; 2]]) -> String {
    assert!(!edits.is_empty(), "{name} has neither edits nor a file");
    let mut text = solution.to_owned();
    for [from, to] in edits {
        assert!(
            text.contains(from.as_str()),
            "{name}: {from:?} is not in the solution"
        );
        text = text.replace(from.as_str(), to);
    }
    text
}
