//! Which lines of an output are shown.
use serde::{Deserialize, Serialize};

/// Lines are selected by text that they contain; all lines if nothing is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Lines {
    /// From the first line that contains this,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// to the next that contains this, or to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The first line that contains this, and no other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
}

/// Why there are no such lines.
#[derive(Debug, thiserror::Error)]
pub enum NoLines {
    /// Not in the output.
    #[error("no line of its output contains `{0}`")]
    Missing(String),
    /// Not after the first line that is shown.
    #[error("no line of its output below the first that is shown contains `{0}`")]
    MissingBelow(String),
    /// Options that exclude each other.
    #[error("either `line`, or `from` and `to`")]
    Both,
}

impl Lines {
    /// These lines; `…` stands for the others.
    ///
    /// # Errors
    /// If no line contains the text.
    pub fn of(&self, text: &str) -> Result<String, NoLines> {
        let lines: Vec<&str> = text.trim_end_matches('\n').lines().collect();
        let find = |start: usize, what: &str| {
            let below = lines
                .iter()
                .skip(start)
                .position(|line| line.contains(what));
            match below {
                Some(at) => Ok(start + at),
                None if start == 0 => Err(NoLines::Missing(what.into())),
                None => Err(NoLines::MissingBelow(what.into())),
            }
        };
        let (first, end) = match (&self.line, &self.from, &self.to) {
            (Some(line), None, None) => {
                let at = find(0, line)?;
                (at, at + 1)
            }
            (Some(_), _, _) => return Err(NoLines::Both),
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
        let kept = |options: &[(&str, &str)]| {
            let value = |name| {
                let found = options.iter().find(|(other, _)| *other == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            let lines = Lines {
                from: value("from"),
                to: value("to"),
                line: value("line"),
            };
            lines.of(text).map_err(|error| error.to_string())
        };
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
