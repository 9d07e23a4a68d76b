//! What the emulator found wrong, as compute-sanitizer prints it.
use crate::run::Outcome;
use crate::table::plural;

/// The findings and their number.
pub fn text(findings: &[String], c_is_right: bool) -> String {
    let mut text = String::new();
    for line in findings.iter().flat_map(|finding| finding.lines()) {
        text += &format!("========= {line}\n");
    }
    text += &format!(
        "========= ERROR SUMMARY: {}\n",
        plural(findings.len() as u64, "error")
    );
    if findings.is_empty() && !c_is_right {
        text += "========= and yet C is wrong; a run without `sanitize` shows where\n";
    }
    text
}

/// The findings, as text.
pub fn findings(outcome: &Outcome) -> Vec<String> {
    outcome
        .emulated
        .iter()
        .flat_map(|run| &run.findings)
        .map(ToString::to_string)
        .collect()
}
