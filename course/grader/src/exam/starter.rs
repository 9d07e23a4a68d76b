//! The files that students of an exam assignment start with, and its key.
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::sheet;
use crate::grade::rubric::Rubric;

/// Lines of README.md that enclose the questions.
const BEGIN: &str = "<!-- questions -->\n";
const END: &str = "<!-- end -->\n";

/// The generated files of an assignment with an `[exam]` in its rubric, with their text; none for other assignments.
///
/// # Errors
/// If the rubric or README.md cannot be read, or README.md has no place for the questions.
pub fn files(assignment: &Path) -> Result<Vec<(PathBuf, String)>> {
    let rubric = Rubric::read(assignment)?;
    if rubric.exam.is_none() {
        return Ok(Vec::new());
    }
    let questions = rubric.questions(None, "")?;
    let readme = assignment.join("README.md");
    let text = fs::read_to_string(&readme).with_context(|| readme.display().to_string())?;
    let text = text.replace("\r\n", "\n");
    let filled = filled(&text, &sheet::list(&questions)).with_context(|| {
        format!(
            "{} needs `{}` and `{}` around its questions",
            readme.display(),
            BEGIN.trim(),
            END.trim()
        )
    })?;
    Ok(vec![
        (readme, filled),
        (assignment.join("answers.toml"), sheet::form(&questions)),
        (
            assignment.join("solution/answers.toml"),
            sheet::key(&questions),
        ),
    ])
}

fn filled(readme: &str, list: &str) -> Option<String> {
    let (before, rest) = readme.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{list}\n{END}{after}"))
}
