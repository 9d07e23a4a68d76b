//! `cargo ladder sanitizers`: who finds what in the broken kernels, the emulator or NVIDIA's compute-sanitizer on an
//! H100, counted from the recorded table. `--missed` names what one of them finds and the other does not.
use anyhow::{Context, Result};
use serde::Deserialize;

use crate::table::{head, markdown_table};

#[derive(clap::Args)]
pub struct Arguments {
    /// Name the kernels in which only one of both finds something
    #[arg(long)]
    missed: bool,
}

const TABLE: &str = include_str!("../../../tests/h100/sanitizers.csv");

/// What is needed of a row; `tests/src/sanitizers/table.rs` writes it.
#[derive(Deserialize)]
struct Row {
    kernel: String,
    sanitize: String,
    alone: String,
    memcheck: String,
    racecheck: String,
    initcheck: String,
    synccheck: String,
}

/// Which of a row's cells.
type Cell = fn(&Row) -> &String;

/// What tests/h100/sanitizers.csv calls kernels that hold no mistake: a rung's own, and rung 06's where each block takes
/// several tiles.
pub const SOUND: [&str; 2] = ["sound", "several_tiles_a_block"];

/// How a watcher's cell counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
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

impl Verdict {
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

impl Row {
    fn tools(&self) -> [&String; 4] {
        [
            &self.memcheck,
            &self.racecheck,
            &self.initcheck,
            &self.synccheck,
        ]
    }

    /// What the emulator refuses to launch it has found.
    fn is_found_here(&self) -> bool {
        matches!(
            Verdict::of(&self.sanitize),
            Verdict::Finds | Verdict::Stopped
        )
    }

    fn is_found_there(&self) -> bool {
        let mut tools = self.tools().into_iter();
        tools.any(|cell| Verdict::of(cell) == Verdict::Finds)
    }
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let rows: Vec<Row> = csv::Reader::from_reader(TABLE.as_bytes())
        .deserialize()
        .collect::<Result<_, _>>()
        .context("tests/h100/sanitizers.csv is no table of sanitizers")?;
    let broken: Vec<&Row> = rows
        .iter()
        .filter(|row| !SOUND.contains(&row.kernel.as_str()))
        .collect();
    anstream::print!("{}", summary(&broken));
    for (text, here, there) in [
        ("both find something", true, true),
        ("only the emulator's sanitize", true, false),
        ("only compute-sanitizer", false, true),
        ("neither: C is wrong, and that is all", false, false),
    ] {
        let is = |row: &&&Row| (row.is_found_here(), row.is_found_there()) == (here, there);
        let these: Vec<&&Row> = broken.iter().filter(is).collect();
        anstream::println!("{:4}  {text}", these.len());
        if arguments.missed && here != there {
            for row in these {
                anstream::println!("        {}", row.kernel);
            }
        }
    }
    Ok(true)
}

/// A row a watcher, a column a verdict.
fn summary(broken: &[&Row]) -> String {
    let mut lines = vec![head(&["watched by", "on"])];
    lines[0].extend(Verdict::ALL.map(|(_, name)| name.to_owned()));
    let watchers: [(&str, &str, Cell); 6] = [
        ("sanitize", "emulator", |row| &row.sanitize),
        ("nobody", "H100", |row| &row.alone),
        ("memcheck", "H100", |row| &row.memcheck),
        ("racecheck", "H100", |row| &row.racecheck),
        ("initcheck", "H100", |row| &row.initcheck),
        ("synccheck", "H100", |row| &row.synccheck),
    ];
    for (name, place, cell) in watchers {
        let count = |verdict| {
            let cells = broken.iter().map(|row| Verdict::of(cell(row)));
            cells.filter(|found| *found == verdict).count().to_string()
        };
        let mut line = head(&[name, place]);
        line.extend(Verdict::ALL.map(|(verdict, _)| count(verdict)));
        lines.push(line);
    }
    markdown_table(&lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_was_stopped_after_a_finding_has_found_it() {
        assert_eq!(Verdict::of("no end: Race at a.cu:1"), Verdict::Finds);
        assert_eq!(Verdict::of("33: Invalid read"), Verdict::Finds);
        for (verdict, cell) in [
            (Verdict::NoEnd, "no end"),
            (Verdict::Stopped, "stopped: refused"),
            (Verdict::Wrong, "C is wrong"),
            (Verdict::Nothing, "nothing"),
        ] {
            assert_eq!(Verdict::of(cell), verdict);
        }
    }
}
