//! Which lines of an output are shown.
use anyhow::{Result, bail};
use serde::Deserialize;

use super::options;

/// By text that they contain; all lines if none is named.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lines {
    /// From the first line that contains this,
    from: Option<String>,
    /// to the next that contains this, or to the end.
    to: Option<String>,
    /// The first line that contains this, and no other.
    line: Option<String>,
}

impl Lines {
    /// The options of these names.
    pub const OPTIONS: [&str; 3] = ["from", "to", "line"];

    /// Out of a directive's options.
    pub fn read(options: &[(&str, &str)]) -> Self {
        let value = |name| options::value(options, name).map(str::to_owned);
        Self {
            from: value("from"),
            to: value("to"),
            line: value("line"),
        }
    }

    /// These lines; `…` stands for the others.
    pub fn of(&self, text: &str) -> Result<String> {
        let lines: Vec<&str> = text.trim_end_matches('\n').lines().collect();
        let find = |start: usize, what: &str| {
            let below = lines
                .iter()
                .skip(start)
                .position(|line| line.contains(what));
            match below {
                Some(at) => Ok(start + at),
                None if start == 0 => bail!("no line of its output contains `{what}`"),
                None => {
                    bail!("no line of its output below the first that is shown contains `{what}`")
                }
            }
        };
        let (first, end) = match (&self.line, &self.from, &self.to) {
            (Some(line), None, None) => {
                let at = find(0, line)?;
                (at, at + 1)
            }
            (Some(_), _, _) => bail!("either `line`, or `from` and `to`"),
            (None, None, None) => (0, lines.len()),
            (None, None, Some(to)) => (0, find(0, to)? + 1),
            (None, Some(from), None) => (find(0, from)?, lines.len()),
            (None, Some(from), Some(to)) => {
                let first = find(0, from)?;
                (first, find(first + 1, to)? + 1)
            }
        };
        let mut kept = Vec::new();
        kept.extend((first > 0).then_some("…"));
        kept.extend(&lines[first..end]);
        kept.extend((end < lines.len()).then_some("…"));
        Ok(kept.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_from_one_to_another() {
        let text = "a\nb 1\nc\nb 2\nd\n";
        let kept =
            |options: &[(&str, &str)]| Lines::read(options).of(text).map_err(|e| e.to_string());
        assert_eq!(kept(&[]), Ok("a\nb 1\nc\nb 2\nd".into()));
        assert_eq!(kept(&[("from", "b")]), Ok("…\nb 1\nc\nb 2\nd".into()));
        assert_eq!(
            kept(&[("from", "b"), ("to", "b")]),
            Ok("…\nb 1\nc\nb 2\n…".into())
        );
        assert_eq!(kept(&[("to", "a")]), Ok("a\n…".into()));
        assert_eq!(kept(&[("line", "2")]), Ok("…\nb 2\n…".into()));
        assert!(kept(&[("from", "x")]).is_err_and(|why| why.contains("`x`")));
        assert!(kept(&[("from", "b 2"), ("to", "c")]).is_err());
        assert!(kept(&[("line", "a"), ("to", "c")]).is_err());
    }
}
