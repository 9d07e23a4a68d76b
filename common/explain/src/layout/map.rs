//! `cargo ladder layout map 'col ^ (row & 7)'`, or a table instead of the expression.
use anyhow::{Context, Result, bail, ensure};
use layout::banks::Banks;
use layout::expression::Expression;
use layout::mapping::{Mapping, Shape};
use layout::show::Sheet;

#[derive(clap::Args)]
#[command(
    after_help = "Operators as in C: | ^ & << >> + - * / % and parentheses; 12, 0x1f, 0b1100; row, col.\n\
    A table lists, row by row, the logical column stored in each unit: --table '1 0; 0 1'.\n\
    Exit code 1: the mapping loses data."
)]
pub struct Arguments {
    /// The unit of row `row` that stores column `col`, such as 'col ^ (row & 7)'
    #[arg(conflicts_with = "table", allow_hyphen_values = true)]
    expression: Option<String>,
    /// A table instead: rows separated by semicolons, 128 bytes each
    #[arg(long, value_name = "ROWS", conflicts_with_all = ["row_bytes", "unit", "rows"])]
    table: Option<String>,
    /// Bytes from one row to the next
    #[arg(long, default_value_t = 128)]
    row_bytes: u32,
    /// Bytes of a unit, which row and col count
    #[arg(long, default_value_t = 16)]
    unit: u32,
    /// Rows of the tile; default: as many as one phase reads down a column
    #[arg(long)]
    rows: Option<u32>,
    /// Bytes that a lane reads; default: the widest access that the mapping allows
    #[arg(long, value_name = "BYTES", value_parser = ["1", "2", "4", "8", "16"])]
    bytes: Option<String>,
    /// Banks of the memory; an H100 has 32
    #[arg(long, value_name = "COUNT", default_value_t = 32)]
    banks: u32,
    /// Bytes that a bank serves in one wavefront; an H100's serve 4
    #[arg(long, value_name = "BYTES", default_value_t = 4)]
    bank_width: u32,
}

pub fn sheet(arguments: &Arguments) -> Result<(Sheet, bool)> {
    let banks = Banks::new(arguments.banks, arguments.bank_width)?;
    if let Some(table) = &arguments.table {
        let mapping = Mapping::of_table(&rows(table)?)?.with_banks(banks);
        return verdict("by table", &mapping, arguments);
    }
    let Some(text) = &arguments.expression else {
        bail!("an expression such as 'col ^ (row & 7)' is needed, or a --table")
    };
    let expression = Expression::parse(text)?;
    let usual = banks.lanes_per_phase(arguments.unit.clamp(4, 16));
    let shape = Shape {
        rows: arguments.rows.unwrap_or(usual),
        row_bytes: arguments.row_bytes,
        unit_bytes: arguments.unit,
    };
    let mapping = Mapping::of_expression(&expression, shape)?.with_banks(banks);
    verdict(&expression.to_string(), &mapping, arguments)
}

fn verdict(name: &str, mapping: &Mapping, arguments: &Arguments) -> Result<(Sheet, bool)> {
    let bytes: Option<u32> = arguments.bytes.as_deref().map(str::parse).transpose()?;
    if let Some(bytes) = bytes {
        let widest = mapping.widest_access();
        ensure!(
            bytes <= widest || !mapping.is_bijective(),
            "--bytes {bytes}: the mapping keeps only {widest} bytes together and aligned; take {widest} or fewer"
        );
    }
    Ok(layout::sheets::mapping(name, mapping, bytes))
}

fn rows(table: &str) -> Result<Vec<Vec<u32>>> {
    let number = |text: &str| {
        let no_column = || format!("{text} is not a column; a table looks like '1 0; 0 1'");
        text.parse::<u32>().with_context(no_column)
    };
    let row = |row: &str| {
        let words = row.split([' ', ',']).filter(|text| !text.is_empty());
        words.map(number).collect()
    };
    table.split(';').map(row).collect()
}
