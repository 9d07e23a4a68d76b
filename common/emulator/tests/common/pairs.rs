//! Mistakes and their correct twins; the expected finding is written on its line.
use super::{Outcome, Setup, body_with};

/// A wrong kernel body, and a correct one.
pub struct Pair {
    pub name: &'static str,
    /// A line of declarations before the kernel.
    pub declarations: &'static str,
    /// `//~ words` at the end of a line: a finding with these words is expected there; several are separated by `;`.
    pub wrong: &'static str,
    pub right: &'static str,
}

/// The expected findings of a body: (line of kernel.cu, words).
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

/// Checks that the findings are exactly those written on their lines.
fn as_expected(body: &str, outcome: &Outcome) -> Result<(), String> {
    let mut expected = expected(body);
    for finding in &outcome.findings {
        // Either side of a race may have the comment.
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

/// Runs both kernels of each pair, in several orders of warps.
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
