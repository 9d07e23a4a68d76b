//! `cargo ladder readme`: the outputs in README.md are always those of its commands.
//!
//! A fenced block whose first line is a command is an output:
//!
//! ```text
//! $ cargo run -p rung03_padded
//! (its output, on the emulator, with the committed PTX)
//! ```
//!
//! A table between `<!-- table: results/…/bench.md#by-rung -->` and `<!-- end -->` is the one in that file's section
//! "By rung". A picture must exist.
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use transcript::{CommandLine, Programs};

use harness::rungs;

#[derive(clap::Args)]
pub struct Arguments {
    /// Only check whether it is current
    #[arg(long)]
    check: bool,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let root = rungs::root().context("README.md is missing; run this in the workspace")?;
    rungs::build(&rungs::all()?)?;
    let file = root.join("README.md");
    let text = fs::read_to_string(&file).context("cannot read README.md")?;
    let current = filled(&root, &text)?;
    if text == current {
        harness::println!("README.md is current");
        return Ok(true);
    }
    if arguments.check {
        for line in similar::TextDiff::from_lines(&text, &current)
            .unified_diff()
            .to_string()
            .lines()
        {
            harness::println!("{line}");
        }
        harness::println!("README.md is not current; `cargo ladder readme` updates it");
        return Ok(false);
    }
    fs::write(&file, current).context("cannot write README.md")?;
    harness::println!("README.md written");
    Ok(true)
}

/// The text with every output and table updated.
fn filled(root: &Path, text: &str) -> Result<String> {
    let mut out = String::new();
    let mut lines = text.lines().zip(1..).peekable();
    while let Some((line, number)) = lines.next() {
        out += line;
        out.push('\n');
        if let Some(file) = picture(line).filter(|file| !root.join(file).is_file()) {
            bail!("README.md:{number}: there is no {file}");
        }
        let (end, content) = if line == "```text" {
            match lines.peek().and_then(|(next, _)| next.strip_prefix("$ ")) {
                Some(command) => ("```", format!("$ {command}\n{}", output(root, command)?)),
                None => continue,
            }
        } else if let Some(file) = line
            .strip_prefix("<!-- table: ")
            .and_then(|l| l.strip_suffix(" -->"))
        {
            ("<!-- end -->", table(root, file)?)
        } else {
            continue;
        };
        if !lines.any(|(line, _)| line == end) {
            bail!("README.md:{number}: the block that starts here never ends with `{end}`");
        }
        out += &content;
        out += end;
        out.push('\n');
    }
    Ok(out)
}

/// The output of a command, on the emulator and without a compiler: the same on every machine.
fn output(root: &Path, command: &str) -> Result<String> {
    let line: CommandLine = command.parse().context("README.md")?;
    let output = Programs::of(root).run(&line)?;
    if output.code != Some(0) {
        bail!("`{command}` failed: {}", output.errors);
    }
    Ok(output.text)
}

/// The table in a section of a Markdown file, `FILE#section`; the section is named as in a link.
fn table(root: &Path, place: &str) -> Result<String> {
    let (file, section) = place
        .split_once('#')
        .with_context(|| format!("README.md: `{place}` names no section: FILE.md#section"))?;
    let text = fs::read_to_string(root.join(file))
        .with_context(|| format!("cannot read {file}, which README.md shows"))?;
    let lines = transcript::section(&text, section).unwrap_or_default();
    let rows: Vec<&str> = lines
        .into_iter()
        .filter(|line| line.starts_with('|'))
        .collect();
    if rows.is_empty() {
        bail!("{file} holds no table in a section {section}");
    }
    Ok(rows.join("\n") + "\n")
}

/// The file of a picture that is alone on its line.
fn picture(line: &str) -> Option<&str> {
    let (_, file) = line.strip_prefix("![")?.split_once("](")?;
    file.strip_suffix(')')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_text_stays_and_open_blocks_are_named() {
        let root = Path::new(".");
        let text = "# Title\n\n```text\nno command\n```\nend\n";
        assert_eq!(filled(root, text).expect("nothing to run"), text);
        let error = filled(root, "a\n<!-- table: nowhere.md#all -->\n").expect_err("no such file");
        assert!(error.to_string().contains("nowhere.md"));
        assert!(output(root, "rm -r x").is_err());
        let error = filled(root, "![A plot](nowhere.svg)\n").expect_err("no such picture");
        assert!(
            error
                .to_string()
                .contains("README.md:1: there is no nowhere.svg")
        );
    }

    #[test]
    fn a_table_is_found_by_its_section() {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let text =
            "# H100\n| no |\n## By rung\n\n| a |\n\n![x](y)\n## Every timing\n| b |\n| c |\n";
        fs::write(folder.path().join("t.md"), text).expect("writable");
        let found = |place| table(folder.path(), place).map_err(|error| error.to_string());
        assert_eq!(found("t.md#by-rung"), Ok("| a |\n".into()));
        assert_eq!(found("t.md#every-timing"), Ok("| b |\n| c |\n".into()));
        for (place, word) in [
            ("t.md", "FILE.md#section"),
            ("t.md#other", "section other"),
            ("u.md#a", "u.md"),
        ] {
            let error = found(place).expect_err("an error");
            assert!(error.contains(word), "{error}");
        }
    }
}
