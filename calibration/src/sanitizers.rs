//! The findings of the emulator and of NVIDIA's compute-sanitizer on an H200 in the broken kernels, counted from the
//! recorded table.
use anyhow::{Context, Result};
use serde::Deserialize;

use harness::table::{head, markdown_table};

const TABLE: &str = include_str!("../h200/sanitizers.csv");

/// The planted faults of `tests/faults/`, each launched alone, and their correct twins.
const FAULTS: &str = include_str!("../../results/h200/faults.csv");

/// The columns that are used; `PARTS=faults results/record.sh` writes the table.
#[derive(Deserialize)]
struct FaultRow {
    fault: String,
    /// Found by at least one tool: yes or no.
    found: String,
}

/// The columns that are used; `tests/src/sanitizers/table.rs` writes the table.
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

/// Selects a cell of a row.
type Cell = fn(&KernelRow) -> &String;

/// The tools and where they ran; compute-sanitizer's come last.
const TOOLS: [(&str, &str, Cell); 6] = [
    ("sanitize", "emulator", |row| &row.sanitize),
    ("no tool", "H200", |row| &row.alone),
    ("memcheck", "H200", |row| &row.memcheck),
    ("racecheck", "H200", |row| &row.racecheck),
    ("initcheck", "H200", |row| &row.initcheck),
    ("synccheck", "H200", |row| &row.synccheck),
];

/// The names in calibration/h200/sanitizers.csv of kernels without a fault: a rung's own, and rung 16's with several
/// tiles for each block.
pub const SOUND: [&str; 2] = ["sound", "several_tiles_a_block"];

/// The category of a tool's cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detection {
    /// It names the fault.
    Finds,
    /// The launch is refused, or the GPU stops it.
    Stopped,
    /// C is compared, and wrong.
    Wrong,
    /// Stopped by a time limit without a finding.
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
    /// A launch that the emulator refuses counts as found.
    fn is_found_here(&self) -> bool {
        matches!(
            Detection::of(&self.sanitize),
            Detection::Finds | Detection::Stopped
        )
    }

    fn is_found_there(&self) -> bool {
        let mut tools = TOOLS[2..].iter();
        tools.any(|(.., cell)| Detection::of(cell(self)) == Detection::Finds)
    }
}

/// How many of the broken kernels each tool finds; `missed` lists those in which only one of the two finds something.
///
/// # Errors
/// If the recorded table cannot be read.
pub fn report(missed: bool) -> Result<String> {
    let rows = csv::Reader::from_reader(TABLE.as_bytes()).into_deserialize();
    let rows: Result<Vec<KernelRow>, _> = rows.collect();
    let rows = rows.context("the recording of compute-sanitizer is not a table of sanitizers")?;
    let is_broken = |row: &&KernelRow| !SOUND.contains(&row.kernel.as_str());
    let broken: Vec<&KernelRow> = rows.iter().filter(is_broken).collect();
    let mut text = summary(&broken);
    for (what, here, there) in [
        ("found by both", true, true),
        ("only by the emulator's sanitize", true, false),
        ("only by compute-sanitizer", false, true),
        ("by neither: only C is wrong", false, false),
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

/// How many of the planted faults, and of their correct twins, compute-sanitizer's tools report.
fn planted() -> Result<String> {
    let rows = csv::Reader::from_reader(FAULTS.as_bytes()).into_deserialize();
    let rows: Result<Vec<FaultRow>, _> = rows.collect();
    let rows = rows.context("the recording of the planted faults is not a table of faults")?;
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

/// A row for each tool, a column for each category.
fn summary(broken: &[&KernelRow]) -> String {
    let mut lines = vec![head(["tool", "on"])];
    lines[0].extend(Detection::ALL.map(|(_, name)| name.to_owned()));
    for (name, place, cell) in TOOLS {
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
