//! What the emulator and NVIDIA's compute-sanitizer on an H200 find in the broken kernels, counted from the recorded
//! table.
use anyhow::{Context, Result};
use serde::Deserialize;

use harness::table::{head, markdown_table};

const TABLE: &str = include_str!("../h200/sanitizers.csv");

/// The planted faults of `tests/faults/`, each launched alone, and their twins.
const FAULTS: &str = include_str!("../../results/h200/faults.csv");

/// What is needed of a row; `PARTS=faults results/record.sh` writes it.
#[derive(Deserialize)]
struct FaultRow {
    fault: String,
    /// By at least one tool: yes or no.
    found: String,
}

/// What is needed of a row; `tests/src/sanitizers/table.rs` writes it.
#[derive(Deserialize)]
struct KernelRow {
    kernel: String,
    sanitize: String,
    alone: String,
    memcheck: String,
    racecheck: String,
    initcheck: String,
    synccheck: String,
}

/// Which of a row's cells.
type Cell = fn(&KernelRow) -> &String;

/// Who watched, and where; compute-sanitizer's tools come last.
const WATCHERS: [(&str, &str, Cell); 6] = [
    ("sanitize", "emulator", |row| &row.sanitize),
    ("nobody", "H200", |row| &row.alone),
    ("memcheck", "H200", |row| &row.memcheck),
    ("racecheck", "H200", |row| &row.racecheck),
    ("initcheck", "H200", |row| &row.initcheck),
    ("synccheck", "H200", |row| &row.synccheck),
];

/// What calibration/h200/sanitizers.csv calls kernels that hold no mistake: a rung's own, and rung 16's where each block takes
/// several tiles.
pub const SOUND: [&str; 2] = ["sound", "several_tiles_a_block"];

/// How a watcher's cell counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detection {
    /// It says what is wrong.
    Finds,
    /// The launch is refused, or the GPU stops it.
    Stopped,
    /// C is compared, and wrong.
    Wrong,
    /// Stopped by a time limit, with nothing found up to then.
    NoEnd,
    Nothing,
}

impl Detection {
    const ALL: [(Self, &str); 5] = [
        (Self::Finds, "finds"),
        (Self::Stopped, "stopped"),
        (Self::Wrong, "C is wrong"),
        (Self::NoEnd, "no end"),
        (Self::Nothing, "nothing"),
    ];

    fn of(cell: &str) -> Self {
        match cell {
            "nothing" => Self::Nothing,
            "C is wrong" => Self::Wrong,
            "no end" => Self::NoEnd,
            _ if cell.starts_with("stopped: ") => Self::Stopped,
            _ => Self::Finds,
        }
    }
}

impl KernelRow {
    /// What the emulator refuses to launch it has found.
    fn is_found_here(&self) -> bool {
        matches!(
            Detection::of(&self.sanitize),
            Detection::Finds | Detection::Stopped
        )
    }

    fn is_found_there(&self) -> bool {
        let mut tools = WATCHERS[2..].iter();
        tools.any(|(.., cell)| Detection::of(cell(self)) == Detection::Finds)
    }
}

/// How many of the broken kernels each tool finds; `missed` names those in which only one of both finds something.
///
/// # Errors
/// If the recorded table cannot be read.
pub fn report(missed: bool) -> Result<String> {
    let rows = csv::Reader::from_reader(TABLE.as_bytes()).into_deserialize();
    let rows: Result<Vec<KernelRow>, _> = rows.collect();
    let rows = rows.context("the recording of compute-sanitizer is no table of sanitizers")?;
    let is_broken = |row: &&KernelRow| !SOUND.contains(&row.kernel.as_str());
    let broken: Vec<&KernelRow> = rows.iter().filter(is_broken).collect();
    let mut text = summary(&broken);
    for (what, here, there) in [
        ("both find something", true, true),
        ("only the emulator's sanitize", true, false),
        ("only compute-sanitizer", false, true),
        ("neither: C is wrong, and that is all", false, false),
    ] {
        let is = |row: &&&KernelRow| (row.is_found_here(), row.is_found_there()) == (here, there);
        let these: Vec<&&KernelRow> = broken.iter().filter(is).collect();
        text += &format!("{:4}  {what}\n", these.len());
        for row in these.iter().filter(|_| missed && here != there) {
            text += &format!("        {}\n", row.kernel);
        }
    }
    Ok(text + &planted()?)
}

/// Of the planted faults, and of their twins in which nothing is wrong, those in which a tool of compute-sanitizer finds
/// something.
fn planted() -> Result<String> {
    let rows = csv::Reader::from_reader(FAULTS.as_bytes()).into_deserialize();
    let rows: Result<Vec<FaultRow>, _> = rows.collect();
    let rows = rows.context("the recording of the planted faults is no table of them")?;
    let (twins, faults): (Vec<_>, Vec<_>) =
        (rows.iter()).partition(|row| row.fault.ends_with("_ok.cu"));
    let found = |rows: &[&FaultRow]| rows.iter().filter(|row| row.found == "yes").count();
    Ok(format!(
        "\nof {} planted faults (tests/faults) compute-sanitizer finds {}, of {} twins {}; sanitize finds all, and no twin\n",
        faults.len(),
        found(&faults),
        twins.len(),
        found(&twins)
    ))
}

/// A row a watcher, a column a verdict.
fn summary(broken: &[&KernelRow]) -> String {
    let mut lines = vec![head(["watched by", "on"])];
    lines[0].extend(Detection::ALL.map(|(_, name)| name.to_owned()));
    for (name, place, cell) in WATCHERS {
        let count = |verdict| {
            let cells = broken.iter().map(|row| Detection::of(cell(row)));
            cells.filter(|found| *found == verdict).count().to_string()
        };
        let mut line = head([name, place]);
        line.extend(Detection::ALL.map(|(verdict, _)| count(verdict)));
        lines.push(line);
    }
    markdown_table(&lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_was_stopped_after_a_finding_has_found_it() {
        assert_eq!(Detection::of("no end: Race at a.cu:1"), Detection::Finds);
        assert_eq!(Detection::of("33: Invalid read"), Detection::Finds);
        for (verdict, cell) in [
            (Detection::NoEnd, "no end"),
            (Detection::Stopped, "stopped: refused"),
            (Detection::Wrong, "C is wrong"),
            (Detection::Nothing, "nothing"),
        ] {
            assert_eq!(Detection::of(cell), verdict);
        }
    }
}
