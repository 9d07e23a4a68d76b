//! `cargo ladder banks FILE.csv`: wavefronts and conflicts of a user's own addresses, by the emulator's
//! measured rule; `--draw` shows one access in the banks.
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
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

/// One row that could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern {
    access: Access,
    bytes: u32,
    offsets: [Option<u32>; LANES],
}

const LANES: usize = 32;
/// What this command adds.
const ADDED: [&str; 3] = ["wavefronts", "bank_conflicts", "ideal"];
/// Shared memory is smaller; a bound for what is typed.
const LARGEST: u32 = 1 << 24;

pub fn run(arguments: &Arguments) -> Result<bool> {
    let file = arguments.file.display();
    let text =
        std::fs::read_to_string(&arguments.file).with_context(|| format!("cannot read {file}"))?;
    let table = Table::of(&text).with_context(|| format!("{file} is no table of accesses"))?;
    if let Some(row) = arguments.draw {
        let rows = table.rows.len();
        let Some((line, found)) = row.checked_sub(1).and_then(|row| table.rows.get(row)) else {
            bail!("{file} has no row {row}: there are rows 1 to {rows}, the header not counted");
        };
        let pattern = table
            .pattern(found)
            .map_err(|why| why.context(format!("{file}:{line}")))?;
        print(
            &drawing(&format!("{file}, row {row}"), &pattern),
            arguments.format,
        )?;
        return Ok(true);
    }
    let mut sound = true;
    anstream::println!("{},{}", table.kept(&table.names).join(","), ADDED.join(","));
    for (line, row) in &table.rows {
        match table.pattern(row) {
            Ok(pattern) => {
                let [wavefronts, conflicts, ideal] = cost(&pattern);
                anstream::println!(
                    "{},{wavefronts},{conflicts},{ideal}",
                    table.kept(row).join(",")
                );
            }
            Err(why) => {
                sound = false;
                anstream::eprintln!("{} {file}:{line}: {why:#}", "bad row:".red().bold());
            }
        }
    }
    Ok(sound)
}

/// Wavefronts, conflicts and ideal.
fn cost(pattern: &Pattern) -> [u64; 3] {
    let active = (0..LANES).fold(0, |mask, lane| {
        mask | u32::from(pattern.offsets[lane].is_some()) << lane
    });
    let addresses = pattern.offsets.map(Option::unwrap_or_default);
    // A matrix is a phase of 8 lanes and 16 bytes, never merged with another: what a 16-byte store is.
    let access = if pattern.access == Access::Load {
        SharedAccess::Load
    } else {
        SharedAccess::Store
    };
    let cost = shared_wavefronts(access, pattern.bytes, &addresses, active);
    [cost.wavefronts, cost.conflicts, cost.ideal]
}

fn drawing(name: &str, pattern: &Pattern) -> Sheet {
    let table = BankTable::new(pattern.access, pattern.bytes, |lane| {
        pattern.offsets[lane as usize]
    });
    let sheet = Sheet::new(format!("Banks of {name}"), Basis::Measured).fact(
        "access",
        format!("{}, {} bytes a lane", pattern.access, pattern.bytes),
    );
    layout::sheets::draw(sheet, &table)
}

/// The rows of a file, each with its line.
struct Table<'a> {
    names: Vec<&'a str>,
    rows: Vec<(usize, Vec<&'a str>)>,
}

impl<'a> Table<'a> {
    fn of(text: &'a str) -> Result<Self> {
        let lines = text
            .lines()
            .zip(1..)
            .map(|(line, number)| (number, line.trim()));
        let mut lines = lines.filter(|(_, line)| !line.is_empty());
        let (_, header) = lines.next().context("it is empty")?;
        let split = |line: &'a str| line.split(',').map(str::trim).collect::<Vec<_>>();
        let names = split(header.trim_start_matches('\u{feff}'));
        for name in ["op", "bytes_per_lane", "byte_offset_per_lane"] {
            if !names.contains(&name) {
                bail!(
                    "its first line names no column {name}; \
                     op,bytes_per_lane,byte_offset_per_lane are needed"
                );
            }
        }
        Ok(Self {
            names,
            rows: lines.map(|(number, line)| (number, split(line))).collect(),
        })
    }

    /// The fields that are not replaced by ours.
    fn kept<'b>(&self, row: &[&'b str]) -> Vec<&'b str> {
        let fields = self.names.iter().zip(row);
        fields
            .filter(|(name, _)| !ADDED.contains(name))
            .map(|(_, field)| *field)
            .collect()
    }

    fn field(&self, row: &[&'a str], name: &str) -> &'a str {
        let at = self.names.iter().position(|found| *found == name);
        at.and_then(|at| row.get(at)).copied().unwrap_or_default()
    }

    fn pattern(&self, row: &[&'a str]) -> Result<Pattern> {
        if row.len() != self.names.len() {
            bail!(
                "{} fields where the first line names {}",
                row.len(),
                self.names.len()
            );
        }
        let op = self.field(row, "op");
        let (access, lanes) = access(op).with_context(|| {
            format!("{op:?} is no access: there are ld, st, ldmatrix and stmatrix .x1, .x2, .x4, also .trans")
        })?;
        let bytes = self.field(row, "bytes_per_lane");
        let bytes = match bytes.parse() {
            Ok(bytes @ (1 | 2 | 4 | 8 | 16)) if access != Access::Matrix || bytes == 16 => bytes,
            _ if access == Access::Matrix => {
                bail!("{bytes:?} bytes a lane: a row of a matrix has 16")
            }
            _ => bail!("{bytes:?} bytes a lane: there are 1, 2, 4, 8 and 16"),
        };
        let fields: Vec<&str> = self
            .field(row, "byte_offset_per_lane")
            .split_whitespace()
            .collect();
        if fields.len() != lanes {
            bail!(
                "{} byte offsets: {op} has {lanes}; write - for a lane that takes no part",
                fields.len()
            );
        }
        let mut offsets = [None; LANES];
        for (lane, field) in fields
            .into_iter()
            .enumerate()
            .filter(|(_, field)| *field != "-")
        {
            let offset: u32 = field
                .parse()
                .ok()
                .filter(|offset| *offset < LARGEST)
                .with_context(|| {
                    format!("lane {lane}: {field:?} is no byte offset below {LARGEST}")
                })?;
            if !offset.is_multiple_of(bytes) {
                bail!(
                    "lane {lane}: byte offset {offset} is misaligned: an access of {bytes} bytes \
                     starts at a multiple of {bytes}"
                );
            }
            offsets[lane] = Some(offset);
        }
        Ok(Pattern {
            access,
            bytes,
            offsets,
        })
    }
}

/// What an op does, and how many lanes give addresses.
fn access(op: &str) -> Option<(Access, usize)> {
    match op {
        "ld" => return Some((Access::Load, LANES)),
        "st" => return Some((Access::Store, LANES)),
        _ => {}
    }
    let count = op
        .strip_prefix("ldmatrix.x")
        .or_else(|| op.strip_prefix("stmatrix.x"))?;
    let lanes = match count.strip_suffix(".trans").unwrap_or(count) {
        "1" => 8,
        "2" => 16,
        "4" => 32,
        _ => return None,
    };
    Some((Access::Matrix, lanes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &str) -> String {
        format!("op,bytes_per_lane,byte_offset_per_lane\n{rows}")
    }

    fn error(row: &str) -> String {
        let text = table(row);
        let table = Table::of(&text).expect("a header");
        format!("{:#}", table.pattern(&table.rows[0].1).expect_err(row))
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
        assert!(Table::of("a,b\n").is_err() && Table::of("").is_err());
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
            let table = Table::of(&text).expect("a header");
            let pattern = table.pattern(&table.rows[0].1).expect(op);
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
