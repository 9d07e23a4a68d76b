//! Numbers: how they are read in an output, and how they are shown.
use anyhow::{Context, Result, bail};
use regex::Regex;

/// What of an output is the answer.
pub enum Take {
    /// In JSON.
    Pointer(String),
    /// Its only group.
    Regex(Regex),
}

impl Take {
    /// Exactly one of the two.
    pub fn new(pointer: Option<String>, regex: Option<String>) -> Result<Self> {
        match (pointer, regex) {
            (Some(pointer), None) => Ok(Self::Pointer(pointer)),
            (None, Some(pattern)) => {
                let regex = Regex::new(&pattern).with_context(|| format!("`{pattern}`"))?;
                if regex.captures_len() != 2 {
                    bail!("`{pattern}` needs one group, around the number");
                }
                Ok(Self::Regex(regex))
            }
            _ => bail!("`answer` takes a `run` and either a `pointer` or a `regex`"),
        }
    }

    /// The number in an output.
    pub fn from(&self, output: &str) -> Result<f64> {
        let text = match self {
            Self::Pointer(pointer) => {
                let json: serde_json::Value =
                    serde_json::from_str(output).context("its output is not JSON")?;
                match json.pointer(pointer) {
                    Some(serde_json::Value::Number(number)) => number.to_string(),
                    Some(serde_json::Value::String(text)) => text.clone(),
                    Some(_) => bail!("`{pointer}` is no number"),
                    None => bail!("its output has no `{pointer}`"),
                }
            }
            Self::Regex(regex) => regex
                .captures(output)
                .and_then(|found| found.get(1))
                .with_context(|| format!("`{regex}` is not found in its output"))?
                .as_str()
                .to_owned(),
        };
        let number: Option<f64> = text.replace(',', "").trim().parse().ok();
        let finite = number.filter(|number| number.is_finite());
        finite.with_context(|| format!("`{text}` is no number"))
    }
}

/// A number with commas between groups of three digits.
pub fn grouped(number: f64) -> String {
    let text = number.to_string();
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let (sign, digits) = match whole.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", whole),
    };
    let groups = digits.as_bytes().rchunks(3).rev();
    let groups: Vec<_> = groups.map(String::from_utf8_lossy).collect();
    format!("{sign}{}{rest}", groups.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_in_groups_of_three() {
        for (number, text) in [
            (0.0, "0"),
            (999.0, "999"),
            (1024.0, "1,024"),
            (-1234567.5, "-1,234,567.5"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn a_number_is_found_or_it_is_said_why_not() {
        let take = |pointer: Option<&str>, regex: Option<&str>| {
            Take::new(pointer.map(str::to_owned), regex.map(str::to_owned))
        };
        let json = r#"{"a": {"b": 7, "c": "1,024", "d": []}}"#;
        let in_json = |pointer| take(Some(pointer), None).and_then(|take| take.from(json));
        assert_eq!(in_json("/a/b").ok(), Some(7.0));
        assert_eq!(in_json("/a/c").ok(), Some(1024.0));
        assert!(in_json("/a/d").is_err() && in_json("/a/e").is_err());
        let in_text = |regex| take(None, Some(regex)).and_then(|take| take.from("loads  9,216 x"));
        assert_eq!(in_text(r"loads +([\d,]+)").ok(), Some(9216.0));
        for wrong in ["loads", "(loads)", "(", r"stores (\d+)"] {
            assert!(in_text(wrong).is_err(), "{wrong}");
        }
        assert!(take(None, None).is_err() && take(Some("/a"), Some("(a)")).is_err());
    }
}
