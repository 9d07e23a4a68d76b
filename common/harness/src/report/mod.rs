//! The reports that the reader sees.
//!
//! | file | what it shows |
//! | --- | --- |
//! | `mod` | the report of a run |
//! | `profile`, `lines` | kernel.cu line by line, with its counters |
//! | `metrics` | the counters under Nsight Compute's names |
//! | `waits` | which warps waited for which mbarrier |
//! | `sanitize` | what the sanitizer found |
//! | `json`, `accesses` | the same as JSON |
//! | `schema` | the number of each JSON document |
//! | `time` | the time that the clock model predicts |
//! | `table`, `progress` | tables and bars for a terminal |
pub mod accesses;
pub mod json;
pub mod lines;
pub mod metrics;
pub mod profile;
pub mod progress;
pub mod sanitize;
pub mod schema;
pub mod table;
mod time;
pub mod waits;

use std::fmt::Write as _;

use emulator::{Card, Severity};
use owo_colors::OwoColorize;

use crate::run::Outcome;
use crate::table::{factor, plural, table, thousands};
use crate::{Error, Result, Target, Verification, alone, bench, occupancy};
use lines::Row;
pub use time::predicted;

/// Writes a report. A reader that closes the pipe (`| head`) is not an error.
pub fn print(out: &mut dyn std::io::Write, text: &str) -> Result<()> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Error::Output(error)),
        _ => Ok(()),
    }
}

/// The report of a run.
pub fn text(outcome: &Outcome) -> String {
    let mut text = head(outcome);
    if let Some(predicted) = &outcome.predicted {
        let line = match predicted {
            Ok(prediction) => time::one_line(prediction),
            Err(why) => format!("not predicted: {why}"),
        };
        let _ = writeln!(text, "  {}{line}", format!("{:<10}", "time").dimmed());
    }
    if let Target::Gpu(info) = outcome.target
        && info.emulated
    {
        let why = "not measured: this GPU is emulated; without --device gpu it is predicted";
        let _ = writeln!(text, "  {}{why}", format!("{:<10}", "time").dimmed());
    }
    if let Some(time) = &outcome.time {
        section(&mut text, &bench::table(time));
        if let Some(alone) = &time.alone {
            section(&mut text, &alone::table(alone));
        }
        for line in outcome.provenance.lines() {
            let _ = writeln!(text, "  {}", line.dimmed());
        }
    }
    if let Some(run) = &outcome.emulated {
        text += &memory(outcome.kernel.function.instructions(), &run.counters);
    }
    text
}

/// The output of the kernel's printf, as CUDA prints it, on lines of its own.
pub fn printed(outcome: &Outcome) -> String {
    let printed = outcome.emulated.iter().flat_map(|run| &run.printed);
    let mut text: String = printed.map(|one| one.text.as_str()).collect();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// The launch's accesses to shared and global memory, and the number of instructions.
pub fn memory(instructions: &[emulator::Instruction], counters: &[emulator::Counters]) -> String {
    let mut text = String::new();
    let totals = lines::totals(instructions, counters);
    section(&mut text, &shared(&totals));
    section(&mut text, &global(&totals));
    let sum = lines::sum(counters);
    let _ = writeln!(
        text,
        "\n  emulated {} ({} in threads)",
        plural(sum.executions, "warp instruction"),
        thousands(sum.threads)
    );
    text
}

/// What ran where, and whether C is correct.
pub fn head(outcome: &Outcome) -> String {
    let Outcome {
        kernel,
        size,
        target,
        ..
    } = outcome;
    let mut text = format!(
        "{}  C = A B, {size}, seed {}\n",
        outcome.rung.name.bold(),
        outcome.settings.seed
    );
    let mut line = |label: &str, value: String| {
        let _ = writeln!(text, "  {}{value}", format!("{label:<10}").dimmed());
    };
    line(
        "on",
        match target {
            Target::Emulator(Card::H100) => "the emulator".into(),
            Target::Emulator(card) => format!(
                "the emulator, as an {} whose tensor cores are {}",
                card.name().to_uppercase(),
                card.evidence()
            ),
            Target::Gpu(info) => info.name.clone(),
        },
    );
    line(
        "kernel",
        format!(
            "{} for {}, {}",
            kernel.source.file, kernel.source.arch, kernel.source.origin
        ),
    );
    let switched = outcome
        .rung
        .switches
        .iter()
        .zip(&outcome.settings.switches)
        .filter(|(_, on)| **on != 0);
    for (switch, _) in switched {
        line("", format!("with --{}", switch.name));
    }
    let tile = kernel.spec.tile;
    let blocks = outcome.config.grid.map(u64::from).iter().product();
    let launch = format!(
        "{} of {}, a tile of {}x{}x{} each",
        plural(blocks, "block"),
        plural(kernel.spec.threads.into(), "thread"),
        tile.bm,
        tile.bn,
        tile.bk
    );
    let padded = if outcome.padded == *size {
        String::new()
    } else {
        format!(", padded to {}", outcome.padded)
    };
    let overlap = if kernel.overlaps {
        "; it may begin before the previous launch ends"
    } else {
        ""
    };
    line("launch", launch + &padded + overlap);
    if let Some(time) = &outcome.time {
        line("", occupancy::sentence(&time.resources));
    }
    for warning in kernel.function.warnings() {
        line("warning", warning.yellow().to_string());
    }
    let found = sanitize::remarks(outcome).iter();
    for warning in found.filter(|one| one.severity == Severity::Warning) {
        for (index, part) in warning.to_string().lines().enumerate() {
            let label = if index == 0 { "warning" } else { "" };
            line(label, part.yellow().to_string());
        }
    }
    let (label, verdict) = verdict(&outcome.verification, *size);
    line(label, verdict);
    let runs = outcome.settings.runs;
    let steady = if runs > 1 {
        format!(", the same in {runs} runs")
    } else {
        String::new()
    };
    line("sha256", outcome.c_sha256.clone() + &steady);
    for wrong in wrong_elements(&outcome.verification) {
        let _ = writeln!(text, "    {wrong}");
    }
    text
}

/// `verified` or `WRONG`, and by how much.
fn verdict(found: &Verification, size: crate::Size) -> (&'static str, String) {
    let all = size.elements()[2];
    let checked = if found.checked == all {
        format!("all {}", plural(all, "element"))
    } else {
        format!("{} of {}", thousands(found.checked), plural(all, "element"))
    };
    let cublas = match found.checked_against_cublas {
        0 => String::new(),
        count => format!(
            ", {} against cuBLAS",
            if count == all {
                "all".into()
            } else {
                thousands(count)
            }
        ),
    };
    if found.ok() {
        let used = if found.bound > 0.0 {
            100.0 * found.max_error / found.bound
        } else {
            0.0
        };
        (
            "verified",
            format!("{checked} against f64{cublas}; the worst used {used:.0}% of its bound")
                .green()
                .to_string(),
        )
    } else {
        let wrong = format!(
            "{} wrong: {checked} compared with f64{cublas}",
            thousands(found.wrong)
        );
        ("WRONG", wrong.red().bold().to_string())
    }
}

/// The first wrong elements as a table, or nothing.
fn wrong_elements(found: &Verification) -> Vec<String> {
    let row = |w: &crate::Wrong| {
        vec![
            format!("C[{}][{}]", w.row, w.col),
            format!("{:.4e}", w.got),
            format!("{:.4e}", w.want),
            format!("{:.2e}", w.bound),
        ]
    };
    table(
        &["first wrong", "is", "should be", "tolerance"],
        &found.first_wrong.iter().map(row).collect::<Vec<_>>(),
    )
}

type Totals = std::collections::BTreeMap<Row, emulator::Counters>;

fn shared(totals: &Totals) -> Vec<String> {
    let kinds = [
        (Row::SharedLoads, "shared loads"),
        (Row::SharedStores, "shared stores"),
        (Row::SharedCopies, "async copies in"),
        (Row::SharedOther, "shared, other"),
    ];
    let rows: Vec<_> = rows(totals, &kinds, |c| {
        let shared = c.shared;
        vec![
            thousands(shared.wavefronts),
            thousands(shared.ideal),
            factor(shared.wavefronts, shared.ideal),
            thousands(shared.conflicts),
        ]
    });
    table(&["", "wavefronts", "ideal", "", "bank conflicts"], &rows)
}

fn global(totals: &Totals) -> Vec<String> {
    let kinds = [
        (Row::GlobalLoads, "global loads"),
        (Row::GlobalStores, "global stores"),
        (Row::GlobalCopies, "async copies"),
        (Row::GlobalOther, "global, other"),
    ];
    let rows: Vec<_> = rows(totals, &kinds, |c| {
        vec![
            thousands(c.global_sectors),
            thousands(c.global_sectors_ideal),
            factor(c.global_sectors, c.global_sectors_ideal),
            thousands(c.global_requests),
            format!(
                "{:.2}",
                c.global_sectors as f64 / c.global_requests.max(1) as f64
            ),
        ]
    });
    table(
        &["", "sectors", "ideal", "", "requests", "sectors/request"],
        &rows,
    )
}

fn rows(
    totals: &Totals,
    kinds: &[(Row, &str)],
    cells: impl Fn(&emulator::Counters) -> Vec<String>,
) -> Vec<Vec<String>> {
    let known = kinds
        .iter()
        .filter_map(|(kind, name)| totals.get(kind).map(|counters| (name, counters)));
    known
        .map(|(name, counters)| [vec![(*name).to_owned()], cells(counters)].concat())
        .collect()
}

/// Several sizes, one line each, for the end of a bench.
pub fn summary(outcomes: &[Outcome]) -> String {
    let names: Vec<&str> = outcomes
        .iter()
        .filter_map(|outcome| outcome.time.as_ref())
        .max_by_key(|time| time.contestants.len())
        .map(|time| {
            time.contestants
                .iter()
                .map(|contest| contest.name.as_str())
                .collect()
        })
        .unwrap_or_default();
    let head: Vec<String> = ["M x N x K", "TFLOP/s"]
        .map(str::to_owned)
        .into_iter()
        .chain(names.iter().skip(1).map(|name| format!("of {name}")))
        .collect();
    let row = |outcome: &Outcome| {
        let mut row = vec![outcome.size.to_string()];
        match &outcome.time {
            Some(time) => {
                row.push(format!("{:.1}", time.tflops));
                row.extend(
                    time.contestants
                        .iter()
                        .skip(1)
                        .map(|c| format!("{:.1}%", 100.0 * c.kernel_speed)),
                );
            }
            None => row.push("WRONG".into()),
        }
        row
    };
    let mut text = String::new();
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    section(
        &mut text,
        &table(&head, &outcomes.iter().map(row).collect::<Vec<_>>()),
    );
    text
}

/// A table below a blank line, its head dimmed; nothing if the table is empty.
pub fn section(text: &mut String, table: &[String]) {
    for (index, line) in table.iter().enumerate() {
        let _ = match index {
            0 => writeln!(text, "\n  {}", line.dimmed()),
            _ => writeln!(text, "  {line}"),
        };
    }
}
