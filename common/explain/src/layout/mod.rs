//! `cargo ladder layout …`: the layout tables, as text, SVG or JSON. The crate `layout` makes the tables; this module
//! parses the command line and prints them.
mod bankmap;
mod descriptor;
mod fragment;
mod map;
mod swizzle;
mod tmem;

use std::io::Write;

use anyhow::Result;
use clap::{Parser, Subcommand, ValueEnum};
use harness::schema;
use layout::show::Sheet;

/// The table and its output format.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    table: Table,
    /// The output format
    #[arg(long, global = true, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// The format of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a terminal
    Text,
    /// A picture, for light and dark pages
    Svg,
    /// Facts and cells, for a program
    Json,
}

#[derive(Subcommand)]
enum Table {
    /// CuTe's Swizzle<B, M, S> on byte addresses: layout swizzle 3 4 3
    Swizzle(swizzle::Arguments),
    /// What B, M and S mean, for all small swizzles
    Swizzles,
    /// The square col ^ row, each size built from the one before: layout xor 8
    Xor {
        /// Rows: 1, 2, 4, 8, 16 or 32
        size: u32,
    },
    /// A mapping of your own, as an expression of row and col, or as a table
    Map(map::Arguments),
    /// The banks of a tile, and what reading or writing it costs
    Bankmap(bankmap::Arguments),
    /// Which thread holds which element: mma, wgmma, ldmatrix, stmatrix
    Fragment(fragment::Arguments),
    /// The shared memory descriptors of wgmma, and where they expect an operand
    Descriptor(descriptor::Arguments),
    /// Blackwell's Tensor Memory: accumulators and scale factors
    Tmem(tmem::Arguments),
    /// A layout in the axis notation: 'S[(8, 4, 2) : (4@laneid, 1@laneid, 1@m)]'
    Axis {
        /// S[extents : strides] + R[extents : strides] + offsets
        layout: String,
    },
}

/// Prints the requested table. For a mapping, returns whether it is bijective and stays in its rows.
///
/// # Errors
/// If there is no such table.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<bool> {
    let (sheet, sound) = sheet(&arguments.table)?;
    print(&sheet, arguments.format, out)?;
    Ok(sound)
}

/// The tables that these words after `cargo ladder layout` print, in every format.
///
/// # Errors
/// If the words are not a valid command line.
pub fn output_of(words: &[&str]) -> Result<[String; 3]> {
    let words = [&["layout"], words].concat();
    let (sheet, _) = sheet(&Words::try_parse_from(words)?.layout.table)?;
    let json = schema::LAYOUT.pretty(&sheet);
    Ok([sheet.to_text(), sheet.to_svg(), json])
}

/// Parses the words as a command line of its own.
#[derive(clap::Parser)]
struct Words {
    #[command(flatten)]
    layout: Arguments,
}

/// The table, and whether the mapping that it shows is bijective and stays in its rows.
fn sheet(table: &Table) -> Result<(Sheet, bool)> {
    Ok(match table {
        Table::Swizzle(arguments) => (swizzle::sheet(arguments)?, true),
        Table::Swizzles => (layout::sheets::swizzles(), true),
        Table::Xor { size } => (layout::sheets::xor(*size)?, true),
        Table::Map(arguments) => map::sheet(arguments)?,
        Table::Bankmap(arguments) => (bankmap::sheet(arguments)?, true),
        Table::Fragment(arguments) => (fragment::sheet(arguments)?, true),
        Table::Descriptor(arguments) => (descriptor::sheet(arguments)?, true),
        Table::Tmem(arguments) => (tmem::sheet(arguments)?, true),
        Table::Axis { layout } => layout::sheets::axis(&layout::axis::AxisLayout::parse(layout)?),
    })
}

/// Prints a sheet.
///
/// # Errors
/// If it cannot be written.
pub fn print(sheet: &Sheet, format: Format, out: &mut dyn Write) -> Result<()> {
    let text = match format {
        Format::Text => sheet.to_text(),
        Format::Svg => sheet.to_svg(),
        Format::Json => schema::LAYOUT.pretty(sheet),
    };
    Ok(harness::print(out, &text)?)
}
