//! `{{#minutes}}`: how long a page takes.
use std::sync::LazyLock;

use anyhow::Result;
use regex::Regex;

use super::{Directive, Shown};
use crate::fence::Fences;
use crate::world::World;

/// The directive, which has no words.
pub struct Minutes;

impl Directive for Minutes {
    fn show(&self, _: &World, _: &str) -> Result<Shown> {
        Ok(Shown::Minutes)
    }
}

// Seconds. Prose about something new goes at 200 words a minute; a line of code or of an output, or a row of a table,
// is taken in whole or skipped.
const A_WORD: f64 = 60.0 / 200.0;
const A_LINE: f64 = 2.0;
const A_PICTURE: f64 = 20.0;
const A_PREDICTION: f64 = 30.0;

/// How many minutes a page takes, as a reader sees it: Markdown with HTML in it.
pub fn of(text: &str) -> u32 {
    static TAG: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new("<[^>]*>").ok());
    let mut fences = Fences::default();
    let mut seconds = 0.0;
    let mut in_picture = false;
    for line in text.lines() {
        if fences.inside(line) {
            seconds += A_LINE;
            continue;
        }
        if line.contains("<svg") {
            seconds += A_PICTURE;
            in_picture = true;
        }
        if line.contains("class=\"predict\"") {
            seconds += A_PREDICTION;
        }
        if !in_picture {
            let row = line.trim_start().starts_with('|') || line.trim_start().starts_with("<tr");
            let plain = TAG.as_ref().map(|tag| tag.replace_all(line, " "));
            let words = plain.as_deref().unwrap_or(line).split_whitespace();
            let words = words
                .filter(|word| word.contains(char::is_alphanumeric))
                .count();
            seconds += if row { A_LINE } else { words as f64 * A_WORD };
        }
        in_picture &= !line.contains("</svg>");
    }
    (seconds / 60.0).ceil().max(1.0) as u32
}

/// What the page says.
pub fn sentence(minutes: u32) -> String {
    let s = if minutes == 1 { "" } else { "s" };
    format!("*{minutes} minute{s}*\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_listings_tables_and_pictures_take_time() {
        assert_eq!(of(""), 1);
        assert_eq!(of(&"word ".repeat(2000)), 10);
        assert_eq!(of(&"- <b>word</b>, \n".repeat(2000)), 10);
        assert_eq!(of(&format!("```text\n{}```\n", "a b c\n".repeat(28))), 1);
        assert_eq!(of(&format!("```text\n{}```\n", "a b c\n".repeat(58))), 2);
        assert_eq!(of(&"| a | b | c |\n".repeat(60)), 2);
        assert_eq!(of(&"<svg>\nwords in it\n</svg>\n".repeat(6)), 2);
        assert_eq!(sentence(1), "*1 minute*\n");
    }
}
