//! `cargo ladder layout …`: the layout tables, as text, SVG or JSON. Tables are made in `layout`; here
//! stand what may be asked for and how it is printed.
mod bankmap;
mod map;
mod swizzle;

use anyhow::{Context, Result};
use clap::{Subcommand, ValueEnum};
use layout::show::Sheet;

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
    /// A mapping of your own, as an expression of row and col, or as a table
    Map(map::Arguments),
    /// The banks of a tile, and what reading or writing it costs
    Bankmap(bankmap::Arguments),
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let (sheet, sound) = match &arguments.table {
        Table::Swizzle(arguments) => (swizzle::sheet(arguments)?, true),
        Table::Map(arguments) => map::sheet(arguments)?,
        Table::Bankmap(arguments) => (bankmap::sheet(arguments)?, true),
    };
    print(&sheet, arguments.format)?;
    Ok(sound)
}

/// Prints a sheet to standard output.
pub fn print(sheet: &Sheet, format: Format) -> Result<()> {
    match format {
        Format::Text => anstream::print!("{}", sheet.to_text()),
        Format::Svg => anstream::print!("{}", sheet.to_svg()),
        Format::Json => {
            let json =
                serde_json::to_string_pretty(sheet).context("the table does not fit JSON")?;
            anstream::println!("{json}");
        }
    }
    Ok(())
}
