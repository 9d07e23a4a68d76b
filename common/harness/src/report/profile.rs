//! kernel.cu line by line, with what each line does to the memory system, and what limits the kernel.
use std::collections::BTreeMap;
use std::fmt::Write as _;

use owo_colors::OwoColorize;

use crate::lines::{Line, by_line};
use crate::run::Outcome;
use crate::table::{plural, thousands};
use crate::{Source, report, waits};

/// The columns to the left of the source.
const HEAD: [&str; 4] = [
    "executions",
    "wavefronts / ideal",
    "conflicts",
    "sectors / ideal",
];

/// The listing.
pub fn text(outcome: &Outcome) -> String {
    let mut text = report::head(outcome);
    let Some(run) = &outcome.emulated else {
        return text;
    };
    let instructions = outcome.kernel.function.instructions();
    let source = &outcome.kernel.source;
    text.push('\n');
    text += &source_lines(source, &by_line(source, instructions, &run.counters));
    let waits = waits::rows(source, instructions, &run.waits);
    report::section(&mut text, &waits::lines(&waits));
    match &outcome.bound {
        Some(Ok(bound)) => report::section(&mut text, &bound.lines()),
        Some(Err(why)) => report::section(&mut text, &[why.to_string()]),
        None => {}
    }
    text
}

/// The source with the counters of its lines.
pub fn source_lines(source: &Source, lines: &BTreeMap<u32, Line>) -> String {
    let mut text = String::new();
    let of = source.text.as_deref().unwrap_or(&source.ptx);
    listing(&mut text, of, lines);
    text
}

fn listing(text: &mut String, source: &str, lines: &BTreeMap<u32, Line>) {
    let cells: BTreeMap<u32, [String; 4]> = lines
        .iter()
        .map(|(number, line)| (*number, cells(line)))
        .collect();
    // Empty columns are omitted; a column is as wide as its widest cell.
    let columns: Vec<(usize, usize)> = (0..HEAD.len())
        .filter_map(|column| {
            let widest = cells
                .values()
                .map(|row| row[column].len())
                .max()
                .filter(|width| *width > 0)?;
            Some((column, widest.max(HEAD[column].len())))
        })
        .collect();
    let row = |row: [&str; 4]| -> String {
        columns
            .iter()
            .map(|(column, width)| format!("{:>width$}  ", row[*column]))
            .collect()
    };
    let _ = writeln!(text, "{}", row(HEAD).trim_end().dimmed());
    for (number, source) in (1..).zip(source.lines()) {
        let line = lines.get(&number);
        let counts = match (cells.get(&number), line) {
            (Some(cells), Some(line)) => {
                let counts = row(cells.each_ref().map(String::as_str));
                let conflicts = line.counters.shared.conflicts > 0;
                if conflicts {
                    counts.red().to_string()
                } else {
                    counts.green().to_string()
                }
            }
            _ => row([""; 4]),
        };
        let mark = if line.is_some_and(|line| line.neighbors.is_some()) {
            '*'
        } else {
            ' '
        };
        let _ = writeln!(
            text,
            "{counts}{}",
            format!("{number:>4}{mark} {source}").trim_end()
        );
    }
    for (number, neighbors) in lines
        .iter()
        .filter_map(|(number, line)| Some((number, line.neighbors?)))
    {
        let _ = writeln!(
            text,
            "* line {number}: {} of {} each are contiguous; ptxas may merge them, and a GPU then counts fewer executions",
            plural(neighbors.count.into(), "access"),
            plural(neighbors.bytes.into(), "byte"),
        );
    }
}

fn cells(line: &Line) -> [String; 4] {
    let counters = &line.counters;
    let pair =
        |measured: u64, ideal: u64| format!("{} / {}", thousands(measured), thousands(ideal));
    let (shared, global) = (counters.shared.wavefronts > 0, counters.global_requests > 0);
    let or_nothing = |there: bool, text: String| if there { text } else { String::new() };
    [
        thousands(counters.executions),
        or_nothing(
            shared,
            pair(counters.shared.wavefronts, counters.shared.ideal),
        ),
        or_nothing(shared, thousands(counters.shared.conflicts)),
        or_nothing(
            global,
            pair(counters.global_sectors, counters.global_sectors_ideal),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lines::Neighbors;
    use emulator::{Counters, Wavefronts};

    #[test]
    fn counters_are_beside_their_line() {
        let shared = Counters {
            executions: 1000,
            shared: Wavefronts {
                wavefronts: 2000,
                ideal: 1000,
                conflicts: 1000,
            },
            ..Counters::default()
        };
        let global = Counters {
            executions: 8,
            global_requests: 8,
            global_sectors: 64,
            global_sectors_ideal: 32,
            ..Counters::default()
        };
        let neighbors = Some(Neighbors { count: 4, bytes: 4 });
        let lines = BTreeMap::from([
            (
                2,
                Line {
                    counters: shared,
                    neighbors,
                },
            ),
            (
                3,
                Line {
                    counters: global,
                    neighbors: None,
                },
            ),
        ]);
        let mut text = String::new();
        listing(&mut text, "int a;\nAs[0] = a;\n  b = B[0];\n", &lines);
        let plain = anstream::adapter::strip_str(&text).to_string();
        assert_eq!(
            plain,
            "executions  wavefronts / ideal  conflicts  sectors / ideal\n\
             \x20                                                              1  int a;\n\
             \x20    1,000       2,000 / 1,000      1,000                      2* As[0] = a;\n\
             \x20        8                                         64 / 32     3    b = B[0];\n\
             * line 2: 4 accesses of 4 bytes each are contiguous; ptxas may merge them, and a GPU then counts fewer executions\n"
        );
    }
}
