//! Finds a number: in JSON by a pointer, in a table by row and column, in other texts by a regular expression.
use anyhow::{Context, Result, bail, ensure};
use regex::{Regex, RegexBuilder};

use crate::directives::choice::{Cells, rows_that_begin_with};

/// How to find the number in a text. It must occur exactly once.
pub enum Take {
    /// By a JSON pointer.
    Pointer(String),
    /// The only group of a regular expression.
    Regex(Regex),
    /// In a table: the first cells of the row, and the name of the column.
    Cell { row: String, column: String },
}

impl Take {
    /// Parses a page's options; exactly one of the three is required.
    pub fn new(
        pointer: Option<&str>,
        regex: Option<&str>,
        cell: (Option<&str>, Option<&str>),
    ) -> Result<Self> {
        match (pointer, regex, cell) {
            (Some(pointer), None, (None, None)) => Ok(Self::Pointer(pointer.to_owned())),
            (None, Some(pattern), (None, None)) => {
                let regex = RegexBuilder::new(pattern).multi_line(true).build();
                let regex = regex.with_context(|| format!("`{pattern}`"))?;
                if regex.captures_len() != 2 {
                    bail!("`{pattern}` needs one group, around the number");
                }
                Ok(Self::Regex(regex))
            }
            (None, None, (Some(row), Some(column))) => Ok(Self::Cell {
                row: row.to_owned(),
                column: column.to_owned(),
            }),
            _ => bail!("where is it? `pointer`, `regex`, or `row` and `column`"),
        }
    }

    /// The text that was found, unchanged.
    ///
    /// # Errors
    /// If it is missing or not unique.
    pub fn text(&self, source: &str) -> Result<String> {
        match self {
            Self::Pointer(pointer) => {
                let json: serde_json::Value =
                    serde_json::from_str(source).context("this is not JSON")?;
                match json.pointer(pointer) {
                    Some(serde_json::Value::Number(number)) => Ok(number.to_string()),
                    Some(serde_json::Value::String(text)) => Ok(text.clone()),
                    Some(_) => bail!("`{pointer}` is not a number"),
                    None => bail!("it has no `{pointer}`"),
                }
            }
            Self::Regex(regex) => {
                let mut found = regex.captures_iter(source);
                let first = found.next().and_then(|groups| groups.get(1));
                let first = first.with_context(|| format!("nothing matches `{regex}`"))?;
                let more = found.count();
                ensure!(more == 0, "`{regex}` matches {} times", more + 1);
                Ok(first.as_str().to_owned())
            }
            Self::Cell { row, column } => {
                let cells = Cells::of(source)?;
                let at = cells.column(column)?;
                let rows: Vec<_> = rows_that_begin_with(&cells.rows, row).collect();
                match rows[..] {
                    [one] => Ok(one[at].trim().to_owned()),
                    [] => bail!("no row of it begins with `{row}`"),
                    _ => bail!("{} rows of it begin with `{row}`", rows.len()),
                }
            }
        }
    }

    /// The number that was found.
    ///
    /// # Errors
    /// As [`Self::text`], and if it is not a number.
    pub fn number(&self, source: &str) -> Result<f64> {
        let text = self.text(source)?;
        number(&text).with_context(|| format!("`{text}` is not a number"))
    }
}

/// Parses a number, with or without commas between its digits.
pub fn number(text: &str) -> Option<f64> {
    let number: Option<f64> = text.replace(',', "").trim().parse().ok();
    number.filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_found_or_the_error_says_why_not() {
        let json = r#"{"a": {"b": 7, "c": "1,024", "d": []}}"#;
        let in_json =
            |pointer| Take::new(Some(pointer), None, (None, None)).and_then(|t| t.number(json));
        assert_eq!(in_json("/a/b").ok(), Some(7.0));
        assert_eq!(in_json("/a/c").ok(), Some(1024.0));
        assert!(in_json("/a/d").is_err() && in_json("/a/e").is_err());
        let text = "stores 4\nloads  9,216 x\nloads x\n";
        let in_text =
            |regex| Take::new(None, Some(regex), (None, None)).and_then(|t| t.number(text));
        assert_eq!(in_text(r"^loads +([\d,]+)").ok(), Some(9216.0));
        for (wrong, why) in [
            ("loads", "one group"),
            ("(loads) x", "not a number"),
            ("(", "unclosed"),
            (r"misses (\d+)", "nothing matches"),
            (r"[a-z]+ +([\d,]+)", "matches 2 times"),
        ] {
            let error = in_text(wrong).expect_err("no number");
            assert!(format!("{error:#}").contains(why), "{wrong}: {error:#}");
        }
        assert!(Take::new(None, None, (None, None)).is_err());
        assert!(Take::new(Some("/a"), Some("(a)"), (None, None)).is_err());
        assert!(Take::new(None, None, (Some("a"), None)).is_err());
    }

    #[test]
    fn a_cell_is_in_the_only_row_that_begins_with_the_name() {
        let csv = "rung,tile,clocks\n04,,7\n08,128x96,8\n08,128x128,9\n";
        let markdown =
            "| rung | tile    | clocks |\n| --- | --- | ---: |\n| 08 | 128x128 | 1,024 |\n";
        let cell = |text, row, column| {
            let take = Take::new(None, None, (Some(row), Some(column))).expect("row and column");
            take.text(text).map_err(|error| format!("{error:#}"))
        };
        assert_eq!(cell(csv, "08 128x128", "clocks"), Ok("9".into()));
        assert_eq!(cell(csv, "04", "clocks"), Ok("7".into()));
        assert_eq!(cell(markdown, "08", "clocks"), Ok("1,024".into()));
        for (row, column, why) in [
            ("08", "clocks", "2 rows of it begin with `08`"),
            ("0", "clocks", "no row of it begins with `0`"),
            ("04", "watts", "no column `watts`"),
        ] {
            assert!(
                cell(csv, row, column).is_err_and(|e| e.contains(why)),
                "{row} {column}"
            );
        }
    }
}
