//! Mistakes beside their correct twins, each with the finding that is expected written on its line.
use super::{Outcome, Setup, body_with};

/// A kernel's body that is wrong, and one that is not.
pub struct Pair {
    pub name: &'static str,
    /// A line of declarations before the kernel.
    pub declarations: &'static str,
    /// `//~ words` ends a line at which a finding with these words is expected; several are parted by `;`.
    pub wrong: &'static str,
    pub right: &'static str,
}

/// The lines of a body with what is expected of them: (line of kernel.cu, words).
fn expected(body: &str) -> Vec<(u32, String)> {
    let mut all = Vec::new();
    // See `module`: line 17 is the body's first.
    for (line, text) in (17..).zip(body.trim_matches('\n').lines()) {
        if let Some((_, words)) = text.split_once("//~") {
            all.extend(words.split(';').map(|one| (line, one.trim().to_owned())));
        }
    }
    all
}

/// Whether the findings are those that are written beside their lines: each is there, and no other.
fn as_expected(body: &str, outcome: &Outcome) -> Result<(), String> {
    let mut expected = expected(body);
    for finding in &outcome.findings {
        // Of the two sides of a race either may have it.
        let text = finding.to_string();
        let names = |line: u32| text.contains(&format!("kernel.cu:{line} "));
        let known = expected
            .iter()
            .position(|(line, words)| names(*line) && text.contains(words));
        match known {
            Some(i) => drop(expected.remove(i)),
            None => return Err(format!("unexpected: {text}")),
        }
    }
    match expected.first() {
        Some((line, words)) => Err(format!("no finding says {words:?} at line {line}")),
        None => Ok(()),
    }
}

/// Runs both of each pair, in several orders of warps.
pub fn check(setup: &Setup, pairs: &[Pair]) {
    let mut failed = Vec::new();
    for pair in pairs {
        assert!(
            !expected(pair.wrong).is_empty(),
            "{} expects nothing",
            pair.name
        );
        for (body, which) in [(pair.wrong, "wrong"), (pair.right, "right")] {
            for schedule in 0..4 {
                let setup = Setup {
                    schedule,
                    ..setup.clone()
                };
                let outcome = body_with(&setup, pair.declarations, body);
                if let Err(why) = as_expected(body, &outcome) {
                    failed.push(format!(
                        "{} ({which}, schedule {schedule}): {why}\n{body}",
                        pair.name
                    ));
                    break;
                }
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
