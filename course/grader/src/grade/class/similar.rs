//! Finds similar kernels. The report is for a teacher to review and never part of a grade: short tasks have few
//! solutions, and students who talk to each other find the same one.
//!
//! Compares kernels by their k-grams of tokens (as in Schleimer, Wilkerson and Aiken, "Winnowing", SIGMOD 2003, but
//! using all of them, since kernels are short). All names count as the same, and all numbers, so renaming changes
//! nothing; k-grams of the starter are ignored.
use std::collections::HashSet;
use std::fs;
use std::path::Path;

use crate::grade::text::points;
use crate::submission::cell;

/// Tokens of a k-gram.
const RUN: usize = 6;

/// Kernels with fewer k-grams than this, without the starter's, are not compared.
const FEWEST: usize = 24;

/// A pair is reported if this fraction of the shorter kernel's k-grams also occurs in the other.
const ALIKE: f64 = 0.8;

/// Similarity of two kernels, from 0 to 1, and their students.
pub type Pair = (f64, String, String);

/// The pairs to be reported, most similar first.
pub fn pairs(starter: &str, kernels: impl Iterator<Item = (String, String)>) -> Vec<Pair> {
    let starter = runs(starter);
    let own = kernels.map(|(student, text)| {
        let own: HashSet<_> = runs(&text).difference(&starter).cloned().collect();
        (student, own)
    });
    let own: Vec<_> = own.filter(|(_, own)| own.len() >= FEWEST).collect();
    let mut pairs = Vec::new();
    for (index, (one, of_one)) in own.iter().enumerate() {
        for (other, of_other) in &own[index + 1..] {
            let alike = likeness(of_one, of_other);
            if alike >= ALIKE {
                pairs.push((alike, one.clone(), other.clone()));
            }
        }
    }
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
    pairs
}

/// Writes a table of the pairs; without pairs, removes an old table, which would be misleading.
pub fn write(path: &Path, pairs: &[Pair]) -> csv::Result<()> {
    if pairs.is_empty() {
        let _ = fs::remove_file(path);
        return Ok(());
    }
    let mut csv = csv::Writer::from_path(path)?;
    csv.write_record(["one", "other", "likeness"])?;
    for (alike, one, other) in pairs {
        csv.write_record([cell(one), cell(other), points(*alike)])?;
    }
    Ok(csv.flush()?)
}

fn likeness(one: &HashSet<Vec<Token>>, other: &HashSet<Vec<Token>>) -> f64 {
    let both = one.intersection(other).count();
    both as f64 / one.len().min(other.len()).max(1) as f64
}

/// A token of CUDA source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Token {
    Name,
    Number,
    Sign(char),
}

/// The k-grams of a source; comments and white space are skipped.
fn runs(text: &str) -> HashSet<Vec<Token>> {
    let tokens = tokens(text);
    tokens.windows(RUN).map(<[Token]>::to_vec).collect()
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let end = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if word(first) {
            tokens.push(match first.is_ascii_digit() {
                true => Token::Number,
                false => Token::Name,
            });
            rest.find(|c| !word(c)).unwrap_or(rest.len())
        } else {
            if !first.is_whitespace() {
                tokens.push(Token::Sign(first));
            }
            first.len_utf8()
        };
        rest = &rest[end..];
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str =
        "const int row = lane / 4; // mine\nfor (int i = 0; i < 8; ++i) sum += tile[row * 32 + i];";

    #[test]
    fn renaming_and_comments_change_nothing() {
        let renamed = ONE
            .replace("row", "r")
            .replace("sum", "total")
            .replace("// mine", "/* yours */");
        assert_eq!(likeness(&runs(ONE), &runs(&renamed)), 1.0);
    }

    #[test]
    fn another_loop_is_another_kernel() {
        let other = "int i = 0; while (true) { if (i == 8) break; total = total + tile[i ^ row][lane % 4]; i++; }";
        assert!(likeness(&runs(ONE), &runs(other)) < 0.3);
    }

    #[test]
    fn any_text_has_tokens() {
        for text in ["", "/*", "//", "é\"'\\", "a/b", "/* */x"] {
            let _ = runs(text);
        }
        assert_eq!(
            tokens("a+1"),
            [Token::Name, Token::Sign('+'), Token::Number]
        );
        assert_eq!(tokens("/*a*/b"), [Token::Name]);
    }
}
