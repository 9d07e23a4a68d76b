//! The emulator's findings, in the format of compute-sanitizer.
//!
//! Findings have a severity (`emulator::Severity`), and each severity is reported in the same way for every launch:
//!
//! | | error | warning | note |
//! | --- | --- | --- | --- |
//! | what it is | a mistake | a mistake after which a plain launch continues | what may be intended, what the kernel's author cannot fix, and what this launch never executed |
//! | `sanitize`, text | the finding | the finding, after `Warning:` | the finding, after `Note:`; everything never executed in one list |
//! | a plain run, text | ends it | in the head, as `warning` | not looked for |
//! | `--json` | in `findings` | in `remarks`, with its severity | in `remarks`, with its severity |
//! | exit code | 1 | unchanged | unchanged |
use emulator::{Finding, FindingKind, Severity};
use serde::Serialize;

use crate::run::Outcome;
use crate::table::plural;

/// The findings, the warnings and notes, and how many there are.
pub fn text(findings: &[String], remarks: &[Finding], c_is_right: bool) -> String {
    let mut text = String::new();
    let mut say = |line: &str| text += &format!("========= {line}\n");
    findings
        .iter()
        .flat_map(|finding| finding.lines())
        .for_each(&mut say);
    let (unseen, others): (Vec<&Finding>, Vec<&Finding>) = remarks
        .iter()
        .partition(|one| never_executed(one).is_some());
    for remark in others {
        let grade = match remark.severity {
            Severity::Note => "Note",
            Severity::Warning => "Warning",
            Severity::Error => "Error",
        };
        let remark = format!("{grade}: {remark}");
        remark.lines().for_each(&mut say);
    }
    if !unseen.is_empty() {
        say("Note: Never executed in this launch, so that nothing is known about it:");
        let lines = unseen.into_iter().filter_map(never_executed);
        lines.for_each(|line| say(&format!("    {line}")));
    }
    let count = |severity, what| {
        let all = remarks.iter().filter(|one| one.severity == severity);
        match all.count() {
            0 => String::new(),
            count => format!(", {}", plural(count as u64, what)),
        }
    };
    text += &format!(
        "========= ERROR SUMMARY: {}{}{}\n",
        plural(findings.len() as u64, "error"),
        count(Severity::Warning, "warning"),
        count(Severity::Note, "note")
    );
    if findings.is_empty() && !c_is_right {
        text += "========= and yet C is wrong; a run without `sanitize` shows where\n";
    }
    text
}

/// The line for code that was never executed.
fn never_executed(finding: &Finding) -> Option<String> {
    let FindingKind::NeverExecuted { what, executed_by } = &finding.kind else {
        return None;
    };
    let line = format!("{what} at {}", finding.location.at());
    Some(match executed_by {
        Some(by) => format!("{line}; {by} executes it"),
        None => line,
    })
}

/// A warning or a note, for programs.
#[derive(Serialize)]
pub struct Remark {
    severity: String,
    text: String,
    file: Option<String>,
    line: Option<u32>,
    ptx_line: u32,
}

impl From<&Finding> for Remark {
    fn from(finding: &Finding) -> Self {
        let source = finding.location.source.as_ref();
        Self {
            severity: finding.severity.to_string(),
            text: finding.to_string(),
            file: source.map(|source| source.file.to_string()),
            line: source.map(|source| source.line),
            ptx_line: finding.location.ptx_line,
        }
    }
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

/// The warnings and notes.
pub fn remarks<'a>(outcome: &'a Outcome) -> &'a [Finding] {
    outcome.emulated.as_ref().map_or(&[], |run| &run.remarks)
}
