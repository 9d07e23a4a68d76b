//! `cargo ladder diff`: the changes of a rung's kernel to the one that it builds on, or to any other.
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, Result};
use owo_colors::OwoColorize;
use similar::{ChangeTag, TextDiff};

use harness::rungs::{self, Rung};

#[derive(clap::Args)]
pub struct Arguments {
    /// A rung, by number or name: show its changes to the rung that it builds on; or the first of two rungs
    from: String,
    /// The second rung
    to: Option<String>,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let first = rungs::find(&arguments.from)?;
    let (from, to) = match &arguments.to {
        Some(to) => (first, rungs::find(to)?),
        None => (base(&first)?, first),
    };
    let (old, new) = (source(&from)?, source(&to)?);
    harness::print!("{}", text(&name(&from), &old, &name(&to), &new));
    if old == new {
        return Ok(true);
    }
    let (removed, added) = changed_code(&old, &new);
    harness::println!(
        "\nlines of code: {removed} removed, {added} added (not counting comments and indentation)"
    );
    Ok(true)
}

/// The rung that this one builds on: the one named by `package.metadata.base` in its Cargo.toml, else the previous
/// rung.
fn base(rung: &Rung) -> Result<Rung> {
    let folder = rung.folder.as_deref();
    let folder =
        folder.context("the sources of the rungs are not here; run this in the workspace")?;
    let path = folder.join("Cargo.toml");
    let manifest = fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?
        .parse::<toml::Table>()
        .with_context(|| format!("{} is not TOML", path.display()))?;
    let metadata = manifest
        .get("package")
        .and_then(|package| package.get("metadata"));
    let named = metadata.and_then(|metadata| metadata.get("base")?.as_str());
    if let Some(named) = named {
        return rungs::find(named);
    }
    let all = rungs::all()?;
    let before = all.iter().take_while(|one| one.name != rung.name).last();
    before
        .cloned()
        .with_context(|| format!("rung {} is the first; name two rungs", rung.name))
}

fn source(rung: &Rung) -> Result<String> {
    Ok(rung.kernel()?.kernel().source.to_owned())
}

fn name(rung: &Rung) -> String {
    format!("rungs/{}/kernel.cu", rung.name)
}

/// A unified diff, colored.
fn text(from: &str, old: &str, to: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new)
        .unified_diff()
        .context_radius(3)
        .header(from, to)
        .to_string();
    diff.lines().fold(String::new(), |mut text, line| {
        let _ = match line.as_bytes().first() {
            Some(b'-') => writeln!(text, "{}", line.red()),
            Some(b'+') => writeln!(text, "{}", line.green()),
            Some(b'@') => writeln!(text, "{}", line.cyan()),
            _ => writeln!(text, "{line}"),
        };
        text
    })
}

/// Number of lines of code removed and added, ignoring comments and indentation.
fn changed_code(old: &str, new: &str) -> (usize, usize) {
    let code = |text: &str| {
        let lines = text.lines().map(|line| {
            let code = line.split("//").next().unwrap_or_default();
            code.split_whitespace().collect::<Vec<_>>().join(" ")
        });
        lines.filter(|line| !line.is_empty()).collect::<Vec<_>>()
    };
    let (old, new) = (code(old), code(new));
    let [old, new] = [&old, &new].map(|lines| lines.iter().map(String::as_str).collect::<Vec<_>>());
    let diff = TextDiff::from_slices(&old, &new);
    let count = |tag| {
        diff.iter_all_changes()
            .filter(|change| change.tag() == tag)
            .count()
    };
    (count(ChangeTag::Delete), count(ChangeTag::Insert))
}

#[cfg(test)]
mod tests {
    use super::{changed_code, text};

    #[test]
    fn a_unified_diff() {
        let found = text("a", "1\n2\n", "b", "1\n3\n");
        let plain = anstream::adapter::strip_str(&found).to_string();
        assert_eq!(plain, "--- a\n+++ b\n@@ -1,2 +1,2 @@\n 1\n-2\n+3\n");
    }

    #[test]
    fn comments_and_indentation_are_not_changes() {
        let old = "a; // one\nb;\n\nc;\n";
        assert_eq!(changed_code(old, "// Head.\na;\n    b;\nd;\ne;\n"), (1, 2));
        assert_eq!(changed_code(old, old), (0, 0));
    }
}
