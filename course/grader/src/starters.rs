//! What students start with: a kernel's solution without the parts to be found; an exam's open questions.
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::exam::starter;
use crate::export::assignments;
use crate::grade::BROKEN;

/// The starters of this workspace that differ from what their solution yields, with the right text.
///
/// # Errors
/// If there is no assignment, or one cannot be read.
pub fn outdated(root: &Path) -> Result<Vec<(PathBuf, String)>> {
    let mut all = Vec::new();
    for assignment in assignments::folders(root)? {
        let solution = assignment.join("solution/kernel.cu");
        match fs::read_to_string(&solution) {
            Ok(text) => {
                let made = of_solution(&text).with_context(|| solution.display().to_string())?;
                // For a kernel with a bug, students change a copy, which an exported course has as kernel.cu.
                let starter = match has_bug(&assignment)? {
                    true => BROKEN,
                    false => "kernel.cu",
                };
                all.push((assignment.join(starter), made));
            }
            Err(_) => all.extend(starter::files(&assignment)?),
        }
    }
    all.retain(|(path, text)| {
        !fs::read_to_string(path).is_ok_and(|there| there.replace("\r\n", "\n") == *text)
    });
    Ok(all)
}

/// Whether the assignment's kernel has a bug to find.
fn has_bug(assignment: &Path) -> Result<bool> {
    let path = assignment.join("rubric.toml");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let rubric: toml::Table = text.parse().with_context(|| path.display().to_string())?;
    Ok(rubric.contains_key("bug"))
}

/// Derives a starter: text between `//: solution` and `//: starter` is removed, and from there to `//: end` the lines
/// after `//|` replace it.
///
/// # Errors
/// If a marker is missing or out of order, or there is none.
pub fn of_solution(text: &str) -> Result<String> {
    #[derive(PartialEq)]
    enum Part {
        Shared,
        Solution,
        Starter,
    }
    let mut part = Part::Shared;
    let mut out = String::new();
    let mut found = false;
    for (line, number) in text.lines().zip(1..) {
        let bare = line.trim_start();
        let indent = &line[..line.len() - bare.len()];
        match (bare.trim_end(), &part) {
            ("//: solution", Part::Shared) => (part, found) = (Part::Solution, true),
            ("//: starter", Part::Solution) => part = Part::Starter,
            ("//: end", Part::Starter) => part = Part::Shared,
            (marker, _) if marker.starts_with("//:") => {
                bail!(
                    "line {number}: {marker} is out of order: the order is solution, starter, end"
                )
            }
            (_, Part::Solution) => {}
            (_, Part::Starter) => {
                let Some(line) = bare.strip_prefix("//|") else {
                    bail!("line {number}: lines for the starter begin with //|")
                };
                out += &format!("{indent}{}\n", line.strip_prefix(' ').unwrap_or(line));
            }
            (_, Part::Shared) => out += &format!("{line}\n"),
        }
    }
    if !found || part != Part::Shared {
        bail!("it needs `//: solution`, `//: starter` and `//: end`, in this order");
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solutions_are_cut_out() {
        let text =
            "a\n    //: solution\n    secret\n    //: starter\n    //| try\n    //: end\nb\n";
        assert_eq!(of_solution(text).expect("markers"), "a\n    try\nb\n");
        for bad in [
            "a\n",
            "//: solution\nx\n",
            "//: starter\n",
            "//: solution\n//: starter\nx\n//: end\n",
            "//: solution\n//: end\n",
            "//: hint\n",
        ] {
            assert!(of_solution(bad).is_err(), "{bad:?}");
        }
    }
}
