//! `cargo ladder diff A B`: what changed between two rungs' kernels.
use std::fmt::Write as _;

use anyhow::Result;
use owo_colors::OwoColorize;
use similar::TextDiff;

use harness::rungs::{self, Rung};

#[derive(clap::Args)]
pub struct Arguments {
    /// A rung: its number or name
    from: String,
    /// Another
    to: String,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let (from, to) = (rungs::find(&arguments.from)?, rungs::find(&arguments.to)?);
    let (old, new) = (source(&from)?, source(&to)?);
    anstream::print!("{}", text(&name(&from), &old, &name(&to), &new));
    Ok(true)
}

fn source(rung: &Rung) -> Result<String> {
    Ok(rung.kernel()?.kernel().source.to_owned())
}

fn name(rung: &Rung) -> String {
    format!("rungs/{}/kernel.cu", rung.name)
}

/// A unified diff, coloured.
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

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn a_unified_diff() {
        let found = text("a", "1\n2\n", "b", "1\n3\n");
        let plain = anstream::adapter::strip_str(&found).to_string();
        assert_eq!(plain, "--- a\n+++ b\n@@ -1,2 +1,2 @@\n 1\n-2\n+3\n");
    }
}
