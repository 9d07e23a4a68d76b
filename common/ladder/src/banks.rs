//! `cargo ladder banks FILE.csv`: wavefronts and conflicts of a user's own addresses, by the emulator's
//! measured rule; `--draw` shows one access in the banks.
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail};
use emulator::calibrate::{BadRow, Pattern, Row, Table};
use emulator::{SharedAccess, shared_wavefronts};
use layout::banks::{Access, BankTable};
use layout::show::{Basis, Sheet};
use owo_colors::OwoColorize;

use crate::layout::{Format, print};

#[derive(clap::Args)]
#[command(
    after_help = "The file's columns are op, bytes_per_lane and byte_offset_per_lane, others are kept:\n  \
    op,bytes_per_lane,byte_offset_per_lane\n  \
    ld,16,0 128 256 … (32 offsets, - for a lane that takes no part)\n  \
    ldmatrix.x1,16,0 128 256 384 512 640 768 896\n\
    op: ld, st, ldmatrix or stmatrix .x1, .x2, .x4, also .trans; matrices take 8 offsets each.\n\
    Exit code 1: some rows were bad; they are named, the others are done."
)]
pub struct Arguments {
    /// A CSV file
    file: PathBuf,
    /// Draw the access of this row, counted from 1 without the header
    #[arg(long, value_name = "ROW")]
    draw: Option<usize>,
    /// How the drawing is printed
    #[arg(long, value_enum, default_value_t = Format::Text, requires = "draw")]
    format: Format,
}

/// What this command adds.
const ADDED: [&str; 3] = ["wavefronts", "bank_conflicts", "ideal"];

pub fn run(arguments: &Arguments) -> Result<bool> {
    let file = arguments.file.display();
    let text =
        std::fs::read_to_string(&arguments.file).with_context(|| format!("cannot read {file}"))?;
    let table = Table::of(&text, ',', &Pattern::COLUMNS)
        .with_context(|| format!("{file} is no table of accesses"))?;
    if let Some(number) = arguments.draw {
        let rows = table.rows.len();
        let Some(row) = number.checked_sub(1).and_then(|at| table.rows.get(at)) else {
            bail!("{file} has no row {number}: there are rows 1 to {rows}, the header not counted");
        };
        let pattern = pattern(&table, row).map_err(|why| anyhow!("{file}:{}: {why}", row.line))?;
        print(
            &drawing(&format!("{file}, row {number}"), &pattern),
            arguments.format,
        )?;
        return Ok(true);
    }
    let mut sound = true;
    let names = kept(&table, &table.names).join(",");
    anstream::println!("{names},{}", ADDED.join(","));
    for row in &table.rows {
        match pattern(&table, row) {
            Ok(pattern) => {
                let [wavefronts, conflicts, ideal] = cost(&pattern);
                anstream::println!(
                    "{},{wavefronts},{conflicts},{ideal}",
                    kept(&table, &row.fields).join(",")
                );
            }
            Err(why) => {
                sound = false;
                let line = row.line;
                anstream::eprintln!("{} {file}:{line}: {why}", "bad row:".red().bold());
            }
        }
    }
    Ok(sound)
}

/// What the command prints of a file's text, and the drawing of each of its rows.
pub fn everything(text: &str) -> Result<String> {
    let table = Table::of(text, ',', &Pattern::COLUMNS)?;
    let mut out = kept(&table, &table.names).join(",");
    for row in &table.rows {
        let Ok(pattern) = pattern(&table, row) else {
            continue;
        };
        let line = row.line;
        out += &format!(
            "\n{:?} {}\n",
            cost(&pattern),
            kept(&table, &row.fields).join(",")
        );
        out += &drawing(&format!("line {line}"), &pattern).to_text();
    }
    Ok(out)
}

fn pattern<'a>(table: &Table<'a>, row: &Row<'a>) -> Result<Pattern<'a>, BadRow> {
    Pattern::parse(table.pick(row, Pattern::COLUMNS)?)
}

/// The fields that are not replaced by ours.
fn kept<'a>(table: &Table<'a>, fields: &[&'a str]) -> Vec<&'a str> {
    let fields = table.names.iter().zip(fields);
    fields
        .filter(|(name, _)| !ADDED.contains(name))
        .map(|(_, field)| *field)
        .collect()
}

/// Wavefronts, conflicts and ideal.
fn cost(pattern: &Pattern<'_>) -> [u64; 3] {
    let (addresses, active) = pattern.lanes();
    let cost = shared_wavefronts(pattern.access, pattern.bytes, &addresses, active);
    [cost.wavefronts, cost.conflicts, cost.ideal]
}

fn drawing(name: &str, pattern: &Pattern<'_>) -> Sheet {
    let access = match pattern.access {
        SharedAccess::Load => Access::Load,
        SharedAccess::Store => Access::Store,
        SharedAccess::Matrix => Access::Matrix,
    };
    let table = BankTable::new(access, pattern.bytes, |lane| pattern.offsets[lane as usize]);
    let sheet = Sheet::new(format!("Banks of {name}"), Basis::Measured).fact(
        "access",
        format!("{access}, {} bytes a lane", pattern.bytes),
    );
    layout::sheets::draw(sheet, &table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &str) -> String {
        format!("op,bytes_per_lane,byte_offset_per_lane\n{rows}")
    }

    fn of(text: &str) -> Result<Table<'_>> {
        Ok(Table::of(text, ',', &Pattern::COLUMNS)?)
    }

    fn error(row: &str) -> String {
        let text = table(row);
        let table = of(&text).expect("a header");
        pattern(&table, &table.rows[0]).expect_err(row).to_string()
    }

    #[test]
    fn bad_rows_name_the_remedy() {
        let lanes = |offset: &str| vec![offset; 32].join(" ");
        assert!(error("ldx,4,0").contains("there are ld, st"));
        assert!(error(&format!("ld,12,{}", lanes("0"))).contains("1, 2, 4, 8 and 16"));
        assert!(error("ldmatrix.x1,4,0").contains("has 16"));
        assert!(error("ld,4,0 4 8").contains("3 byte offsets: ld has 32; write -"));
        assert!(error(&format!("ld,16,{}", lanes("8"))).contains("multiple of 16"));
        assert!(error(&format!("ld,4,{}", lanes("x"))).contains("\"x\" is no byte offset"));
        assert!(error(&format!("ld,4,{}", lanes("4294967292"))).contains("no byte offset below"));
        assert!(error("ld,4").contains("2 fields where the first line names 3"));
        assert!(of("a,b\n").is_err() && of("").is_err());
    }

    #[test]
    fn rule_and_drawing_agree() {
        let column: Vec<String> = (0..32).map(|lane| (lane * 128).to_string()).collect();
        for (op, lanes, expected) in [
            ("ld", 32, [32, 28, 4]),
            ("ldmatrix.x2.trans", 16, [16, 14, 2]),
            ("stmatrix.x1", 8, [8, 7, 1]),
        ] {
            let text = table(&format!("{op},16,{}", column[..lanes].join(" ")));
            let table = of(&text).expect("a header");
            let pattern = pattern(&table, &table.rows[0]).expect(op);
            assert_eq!(cost(&pattern), expected, "{op}");
            let sheet = drawing("x", &pattern);
            for (name, value) in ADDED.iter().zip(expected) {
                assert_eq!(
                    sheet
                        .value(&name.replace('_', " "))
                        .map(ToString::to_string),
                    Some(value.to_string()),
                    "{op} {name}"
                );
            }
        }
    }
}
