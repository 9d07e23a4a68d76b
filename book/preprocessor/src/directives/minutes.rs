//! `{{#minutes}}`: the reading time of a page.
use std::sync::LazyLock;

use regex::Regex;

use crate::fence::{Fences, Folds};

// In tenths of a second, before they are multiplied by a newcomer's factor.
const A_WORD: usize = 3;
const A_LINE: usize = 20;
const A_PICTURE: usize = 200;
const A_PREDICTION: usize = 300;
const AN_EXERCISE: usize = 600;

/// A reader who knew Rust but no CUDA needed 630 minutes for 24 chapters. The rates above give 516: 423 for words,
/// listings, tables, pictures and predictions, and 93 for exercises.
const NEWCOMER: (usize, usize) = (630, 516);

/// The minutes for a page as a reader sees it: Markdown with HTML.
pub fn of(text: &str) -> usize {
    static TAG: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("<[^>]*>").expect("a constant pattern"));
    static EXERCISE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\d+\. ").expect("a constant pattern"));
    let mut fences = Fences::default();
    let mut tenths = 0;
    let mut in_picture = false;
    let mut folds = Folds::default();
    let mut in_exercises = false;
    for line in text.lines() {
        if fences.inside(line) {
            // A folded listing is for reference.
            tenths += if folds.open { 0 } else { A_LINE };
            continue;
        }
        folds.follow(line);
        if line.starts_with('#') {
            let title = line.trim_start_matches('#').trim_start();
            in_exercises = title.starts_with("What to try") || title.starts_with("Try it");
        }
        // The answers below them are folded.
        if in_exercises && !folds.open && EXERCISE.is_match(line) {
            tenths += AN_EXERCISE;
        }
        if line.contains("<svg") {
            tenths += A_PICTURE;
            in_picture = true;
        }
        if line.contains("class=\"predict\"") {
            tenths += A_PREDICTION;
        }
        if !in_picture {
            let row = line.trim_start().starts_with('|') || line.trim_start().starts_with("<tr");
            let plain = TAG.replace_all(line, " ");
            let words = plain.split_whitespace();
            let words = words
                .filter(|word| word.contains(char::is_alphanumeric))
                .count();
            tenths += if row { A_LINE } else { words * A_WORD };
        }
        in_picture &= !line.contains("</svg>");
    }
    let (needed, estimated) = NEWCOMER;
    (tenths * needed).div_ceil(600 * estimated).max(1)
}

/// The text on the page.
pub fn sentence(minutes: usize) -> String {
    let s = if minutes == 1 { "" } else { "s" };
    format!("*{minutes} minute{s}*\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_listings_tables_and_pictures_take_time() {
        assert_eq!(of(""), 1);
        assert_eq!(of(&"word ".repeat(2000)), 13);
        assert_eq!(of(&"- <b>word</b>, \n".repeat(2000)), 13);
        assert_eq!(of(&format!("```text\n{}```\n", "a b c\n".repeat(18))), 1);
        assert_eq!(of(&format!("```text\n{}```\n", "a b c\n".repeat(38))), 2);
        assert_eq!(of(&"| a | b | c |\n".repeat(40)), 2);
        assert_eq!(of(&"<svg>\nwords in it\n</svg>\n".repeat(4)), 2);
        let listing = format!(
            "<details>\n\n```text\n{}```\n</details>\n",
            "a b c\n".repeat(500)
        );
        assert_eq!(of(&listing), 1);
        assert_eq!(sentence(1), "*1 minute*\n");
    }

    #[test]
    fn exercises_take_time_and_their_answers_do_not() {
        let list = "1. a\n2. b\n3. c\n4. d\n5. e\n";
        assert_eq!(of(list), 1);
        let exercises = format!("## What to try {{#try}}\n\n{list}");
        assert_eq!(of(&exercises), 7);
        let answers = format!("\n<details>\n\n{list}\n</details>\n");
        assert_eq!(of(&(exercises.clone() + &answers)), 7);
        assert_eq!(of(&format!("{exercises}## Else\n\n{list}")), 7);
        assert_eq!(of(&format!("## Try it\n\n{list}")), 7);
    }
}
