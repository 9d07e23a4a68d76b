//! `cargo ladder layout …`: the layout tables, as text, SVG or JSON. Tables are made in `layout`; here
//! stand what may be asked for and how it is printed.
mod bankmap;
mod descriptor;
mod fragment;
mod map;
mod swizzle;
mod tmem;

use std::io::Write;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand, ValueEnum};
use layout::show::Sheet;

/// Which table, and how it is printed.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    table: Table,
    /// How it is printed
    #[arg(long, global = true, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// How a table is printed.
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

/// Prints the table that is asked for; whether a mapping that it shows is sound.
///
/// # Errors
/// If there is no such table.
pub fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<bool> {
    let (sheet, sound) = sheet(&arguments.table)?;
    print(&sheet, arguments.format, out)?;
    Ok(sound)
}

/// What these words after `cargo ladder layout` show, in every format.
///
/// # Errors
/// If it is not such a text.
pub fn everything(words: &[&str]) -> Result<[String; 3]> {
    let words = [&["layout"], words].concat();
    let (sheet, _) = sheet(&Words::try_parse_from(words)?.layout.table)?;
    let json = serde_json::to_string_pretty(&sheet)?;
    Ok([sheet.to_text(), sheet.to_svg(), json])
}

/// A command line of its own.
#[derive(clap::Parser)]
struct Words {
    #[command(flatten)]
    layout: Arguments,
}

/// The table, and whether a mapping that it shows is sound.
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
        Format::Json => {
            serde_json::to_string_pretty(sheet).context("the table does not fit JSON")? + "\n"
        }
    };
    Ok(harness::print(out, &text)?)
}
