//! The waits of a pipeline, and how far ahead its copies were issued: a row for each mbarrier and line.
use std::collections::BTreeMap;

use emulator::Instruction;
use serde::Serialize;

use crate::Source;
use crate::lines::line_of;
use crate::table::{table, thousands};

/// The waits of one line for one mbarrier, as `profile --json` prints them. Steps are warp instructions that the
/// emulator executed in the cluster, in its own order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LineWaits {
    /// The mbarrier's shared-memory address in every block; null for `cp.async.wait_group`.
    pub mbarrier: Option<u32>,
    /// The line that waits.
    pub line: u32,
    /// Waits, one for each warp.
    pub times: u64,
    /// Waits that found the phase incomplete.
    pub waited: u64,
    /// How long these took, in steps: the sum, and the longest.
    pub steps: u64,
    pub longest: u64,
    /// Waits for a phase in which copies landed, and the sum of how many steps before the wait the last copy had been
    /// issued.
    pub copied: u64,
    pub ahead: u64,
}

/// The rows of a launch, by mbarrier, then by line.
pub fn rows(
    source: &Source,
    instructions: &[Instruction],
    waits: &[emulator::Wait],
) -> Vec<LineWaits> {
    let mut sums = BTreeMap::<_, emulator::Wait>::new();
    for wait in waits {
        let instruction = instructions.get(wait.instruction);
        if let Some(line) = instruction.and_then(|one| line_of(source, one)) {
            *sums.entry((wait.mbarrier, line)).or_default() += *wait;
        }
    }
    let rows = sums.into_iter();
    rows.map(|((mbarrier, line), sum)| LineWaits {
        mbarrier,
        line,
        times: sum.times,
        waited: sum.waited,
        steps: sum.steps,
        longest: sum.longest,
        copied: sum.copied,
        ahead: sum.ahead,
    })
    .collect()
}

/// The rows as a table, with a definition of a step; empty if nothing waited for an mbarrier or for copies.
pub fn lines(rows: &[LineWaits]) -> Vec<String> {
    let mean = |sum: u64, count: u64| match count {
        0 => "-".to_owned(),
        _ => thousands(sum.saturating_add(count / 2) / count),
    };
    let cells = |row: &LineWaits| {
        let (place, waited) = match row.mbarrier {
            Some(at) => (format!("mbarrier 0x{at:x}"), thousands(row.waited)),
            // A `cp.async` lands as its wait begins, so its waits take no steps.
            None => ("cp.async".to_owned(), "-".to_owned()),
        };
        vec![
            place,
            row.line.to_string(),
            thousands(row.times),
            waited,
            mean(row.steps, row.waited),
            match row.waited {
                0 => "-".to_owned(),
                _ => thousands(row.longest),
            },
            mean(row.ahead, row.copied),
        ]
    };
    let head = [
        "waits for",
        "line",
        "times",
        "had to wait",
        "mean steps",
        "longest",
        "copies ahead by",
    ];
    let mut lines = table(&head, &rows.iter().map(cells).collect::<Vec<_>>());
    if !lines.is_empty() {
        lines.push(
            "a step is a warp instruction of the cluster, in the emulator's order: no GPU's time"
                .into(),
        );
        lines.push(
            "copies land as late as the program allows; what hides their latency is how far ahead they were issued (mean steps)"
                .into(),
        );
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_is_a_row() {
        let row = |mbarrier, line| LineWaits {
            mbarrier,
            line,
            times: 4000,
            waited: 2,
            steps: 3001,
            longest: 2000,
            copied: 0,
            ahead: 0,
        };
        let copies = LineWaits {
            waited: 0,
            steps: 0,
            longest: 0,
            copied: 4000,
            ahead: 8000,
            ..row(None, 7)
        };
        assert_eq!(
            lines(&[copies, row(Some(0x38400), 12)])[..3],
            [
                "waits for          line   times   had to wait   mean steps   longest   copies ahead by",
                "cp.async              7   4,000             -            -         -                 2",
                "mbarrier 0x38400     12   4,000             2        1,501     2,000                 -",
            ]
        );
        assert_eq!(lines(&[]), Vec::<String>::new());
    }
}
