//! How a number is written in a sentence.
use anyhow::{Context, Result, ensure};

use super::take::number;
use crate::directives::choice::readable;
use crate::directives::options;

/// The requested format; by default the number as it was recorded, with commas.
#[derive(Default)]
pub struct Format {
    /// Significant digits; the others become zeros.
    digits: Option<i32>,
    decimals: Option<usize>,
    /// Whether a fraction is shown as a percentage.
    percent: bool,
}

impl Format {
    /// Parses these options.
    pub const OPTIONS: [&str; 3] = ["digits", "decimals", "as"];

    /// Parses a directive's options.
    ///
    /// # Errors
    /// If one of them is invalid.
    pub fn read(options: &[(&str, &str)]) -> Result<Self> {
        let count = |name, least: i32| {
            let text = options::value(options, name);
            let count = text.map(|text| {
                let count = text.parse::<i32>().ok();
                let count = count.filter(|count| (least..=9).contains(count));
                count.with_context(|| format!("`| {name} {text}`: a number from {least} to 9"))
            });
            count.transpose()
        };
        let percent = options::value(options, "as");
        ensure!(
            percent.is_none_or(|word| word == "percent"),
            "a fraction can only be shown `| as percent`"
        );
        Ok(Self {
            digits: count("digits", 1)?,
            decimals: count("decimals", 0)?.map(|count| count as usize),
            percent: percent.is_some(),
        })
    }

    /// The formatted number.
    ///
    /// # Errors
    /// If the text is not a number.
    pub fn of(&self, text: &str) -> Result<String> {
        ensure!(
            text.contains(|c: char| c.is_ascii_digit()),
            "`{text}` is not a number"
        );
        if self.digits.is_none() && self.decimals.is_none() && !self.percent {
            return Ok(readable(text));
        }
        let value =
            number(text).with_context(|| format!("`{text}` is not a number to be rounded"))?;
        let value = if self.percent { value * 100.0 } else { value };
        let value = match self.digits {
            Some(digits) => significant(value, digits),
            None => value,
        };
        let decimals = self
            .decimals
            .or((self.percent && self.digits.is_none()).then_some(1));
        let text = match decimals {
            Some(decimals) => with_commas(&format!("{value:.decimals$}")),
            None => grouped(value),
        };
        Ok(if self.percent { text + "%" } else { text })
    }
}

/// A number with this many significant digits, and commas.
pub fn rounded_to(digits: i32, value: f64) -> String {
    grouped(significant(value, digits))
}

/// Rounds to this many significant digits.
fn significant(value: f64, digits: i32) -> f64 {
    if value == 0.0 {
        return value;
    }
    let last = value.abs().log10().floor() as i32 + 1 - digits;
    // A power of ten that is a whole number keeps decimal fractions exact.
    let scale = 10f64.powi(last.abs());
    match last > 0 {
        true => (value / scale).round() * scale,
        false => (value * scale).round() / scale,
    }
}

/// A number with commas between groups of three digits.
pub fn grouped(number: f64) -> String {
    with_commas(&number.to_string())
}

fn with_commas(text: &str) -> String {
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
    fn digits_are_grouped_by_three() {
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
    fn numbers_are_rounded_as_a_page_asks() {
        let shown = |options: &[(&str, &str)], text: &str| {
            Format::read(options)
                .and_then(|format| format.of(text))
                .ok()
        };
        for (options, text, wanted) in [
            (&[][..], "131123", "131,123"),
            (&[], "48%", "48%"),
            (&[], "60 to 70%", "60 to 70%"),
            (&[], "0.4685430240419011", "0.4685"),
            (&[("digits", "1")], "3,068", "3,000"),
            (&[("digits", "2")], "131123", "130,000"),
            (&[("digits", "2")], "0.01234", "0.012"),
            (&[("digits", "4")], "2647.708", "2,648"),
            (&[("digits", "1")], "0", "0"),
            (&[("decimals", "0")], "1023.5", "1,024"),
            (&[("decimals", "1")], "97", "97.0"),
            (&[("as", "percent")], "0.96", "96.0%"),
            (&[("as", "percent"), ("digits", "2")], "0.964", "96%"),
        ] {
            assert_eq!(
                shown(options, text).as_deref(),
                Some(wanted),
                "{options:?} {text}"
            );
        }
        for (options, text) in [
            (&[][..], "late"),
            (&[("digits", "2")], "60 to 70%"),
            (&[("digits", "0")], "7"),
            (&[("decimals", "-1")], "7"),
            (&[("as", "thousands")], "7"),
        ] {
            assert_eq!(shown(options, text), None, "{options:?} {text}");
        }
    }
}
