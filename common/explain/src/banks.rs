//! `cargo ladder banks FILE.csv`: wavefronts and bank conflicts of the user's own addresses, by the emulator's
//! measured rule; `--draw` draws one access.
use std::borrow::Cow;
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail};
use csv::StringRecord;
use emulator::{SharedAccess, shared_wavefronts};
use harness::{RowError, Table, TableRow, WarpAccess};
use layout::banks::{Access, BankTable};
use layout::show::{Basis, Sheet};
use owo_colors::OwoColorize;

use crate::Streams;
use crate::layout::{Format, print};

/// The accesses to cost.
#[derive(clap::Args)]
#[command(
    after_help = "The file's columns are op, bytes_per_lane and byte_offset_per_lane; other columns are copied:\n  \
    op,bytes_per_lane,byte_offset_per_lane\n  \
    ld,16,0 128 256 … (32 offsets, - for an inactive lane)\n  \
    ldmatrix.x1,16,0 128 256 384 512 640 768 896\n\
    op: ld, st, ldmatrix or stmatrix .x1, .x2, .x4, also .trans; matrices take 8 offsets each.\n\
    Exit code 1: some rows are malformed; they are reported, and the others are computed."
)]
pub struct Arguments {
    /// A CSV file
    file: PathBuf,
    /// Draw the access of this row, counted from 1 without the header
    #[arg(long, value_name = "ROW")]
    draw: Option<usize>,
    /// The format of the drawing
    #[arg(long, value_enum, default_value_t = Format::Text, requires = "draw")]
    format: Format,
}

/// The columns that this command adds.
const ADDED: [&str; 3] = ["wavefronts", "bank_conflicts", "ideal"];

/// Computes the cost of every row, or draws one. Returns whether all rows were valid.
///
/// # Errors
/// If there is no such table or row.
pub fn run(arguments: &Arguments, streams: &mut Streams<'_>) -> Result<bool> {
    let file = arguments.file.display();
    let text =
        harness::files::read(&arguments.file).with_context(|| format!("cannot read {file}"))?;
    let table = Table::read(&text, ',', &WarpAccess::COLUMNS)
        .with_context(|| format!("{file} is not a table of accesses"))?;
    if let Some(number) = arguments.draw {
        let rows = table.rows.len();
        if rows == 0 {
            bail!("{file} has a header and no rows");
        }
        let Some(row) = number.checked_sub(1).and_then(|at| table.rows.get(at)) else {
            bail!("{file} has no row {number}: there are rows 1 to {rows}, the header not counted");
        };
        let access = access(&table, row).map_err(|why| anyhow!("{file}:{}: {why}", row.line))?;
        let drawing = drawing(&format!("{file}, row {number}"), &access);
        print(&drawing, arguments.format, streams.out)?;
        return Ok(true);
    }
    let mut sound = true;
    let head = line(&table, &table.columns, ADDED);
    harness::print(streams.out, &head)?;
    for row in &table.rows {
        match access(&table, row) {
            Ok(access) => {
                harness::print(streams.out, &line(&table, &row.fields, cost(&access)))?;
            }
            Err(why) => {
                sound = false;
                let line = row.line;
                let message = format!("{} {file}:{line}: {why}\n", "bad row:".red().bold());
                harness::print(streams.err, &message)?;
            }
        }
    }
    Ok(sound)
}

/// The command's output for a file's text, and the drawing of each of its rows.
///
/// # Errors
/// If the text is not such a table.
pub fn output_of(text: &str) -> Result<String> {
    let table = Table::read(text.as_bytes(), ',', &WarpAccess::COLUMNS)?;
    let mut out = line(&table, &table.columns, ADDED);
    for row in &table.rows {
        if let Ok(access) = access(&table, row) {
            out += &line(&table, &row.fields, cost(&access));
            out += &drawing(&format!("line {}", row.line), &access).to_text();
        }
    }
    Ok(out)
}

fn access(table: &Table, row: &TableRow) -> Result<WarpAccess, RowError> {
    WarpAccess::parse(&table.pick(row, &WarpAccess::COLUMNS)?)
}

/// The fields of other columns, and the computed ones.
fn line(table: &Table, fields: &StringRecord, ours: [impl ToString; 3]) -> String {
    let theirs = table.columns.iter().zip(fields);
    let theirs = theirs.filter(|(name, _)| !ADDED.contains(name));
    let ours = ours.map(|field| field.to_string());
    let fields = theirs.map(|(_, field)| field);
    let fields = fields.chain(ours.iter().map(String::as_str)).map(quoted);
    fields.collect::<Vec<_>>().join(",") + "\n"
}

/// A field of a CSV line. The crate csv's writer would bring the standard library's parser of numbers, 2% of the book's
/// WebAssembly module.
fn quoted(field: &str) -> Cow<'_, str> {
    match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")).into(),
        false => field.into(),
    }
}

/// Wavefronts, conflicts and ideal.
fn cost(access: &WarpAccess) -> [u64; 3] {
    let (addresses, active) = access.lanes();
    let cost = shared_wavefronts(access.kind, access.bytes, &addresses, active);
    [cost.wavefronts, cost.conflicts, cost.ideal]
}

fn drawing(name: &str, access: &WarpAccess) -> Sheet {
    let (kind, bytes) = (kind(access), access.bytes);
    let table = BankTable::new(kind, bytes, |lane| access.offsets[lane as usize]);
    let sheet = Sheet::new(format!("Banks of {name}"), Basis::Measured)
        .fact("access", format!("{kind}, {bytes} bytes a lane"));
    layout::sheets::draw(sheet, &table)
}

/// The access in `layout`'s type.
fn kind(access: &WarpAccess) -> Access {
    match access.kind {
        SharedAccess::Load => Access::Load,
        SharedAccess::Store => Access::Store,
        SharedAccess::Matrix => Access::Matrix,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &str) -> String {
        format!("op,bytes_per_lane,byte_offset_per_lane\n{rows}")
    }

    fn of(text: &str) -> Result<Table> {
        Ok(Table::read(text.as_bytes(), ',', &WarpAccess::COLUMNS)?)
    }

    fn error(row: &str) -> String {
        let table = of(&table(row)).expect("a header");
        access(&table, &table.rows[0]).expect_err(row).to_string()
    }

    #[test]
    fn other_columns_are_kept() {
        let offsets = vec!["0"; 32].join(" ");
        let text = format!(
            "name,ideal,op,bytes_per_lane,byte_offset_per_lane\n\"a, b\",7,ld,4,{offsets}\nbad,7,ld,5,0\n"
        );
        let said = output_of(&text).expect("a table");
        let expected = format!(
            "name,op,bytes_per_lane,byte_offset_per_lane,wavefronts,bank_conflicts,ideal\n\"a, b\",ld,4,{offsets},1,0,1\n"
        );
        assert!(said.starts_with(&expected), "{said}");
    }

    #[test]
    fn bad_rows_name_the_remedy() {
        let lanes = |offset: &str| vec![offset; 32].join(" ");
        assert!(error("ldx,4,0").contains("use ld, st, ldmatrix"));
        assert!(error(&format!("ld,4,{}", lanes("-"))).contains("no lane takes part"));
        assert!(error(&format!("ld,12,{}", lanes("0"))).contains("1, 2, 4, 8 and 16"));
        assert!(error("ldmatrix.x1,4,0").contains("has 16"));
        assert!(error("ld,4,0 4 8").contains("3 byte offsets: ld has 32; write -"));
        assert!(error(&format!("ld,16,{}", lanes("8"))).contains("multiple of 16"));
        assert!(error(&format!("ld,4,{}", lanes("x"))).contains("\"x\" is not a byte offset"));
        assert!(
            error(&format!("ld,4,{}", lanes("4294967292"))).contains("not a byte offset below")
        );
        assert!(error("ld,4").contains("2 fields, but the first line has 3"));
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
            let access = access(&table, &table.rows[0]).expect(op);
            assert_eq!(cost(&access), expected, "{op}");
            let sheet = drawing("x", &access);
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
