//! `cargo ladder layout bankmap --ld 33`.
use anyhow::Result;
use clap::ValueEnum;
use layout::banks::Access;
use layout::show::Sheet;
use layout::tile::{Pattern, Tile};

#[derive(clap::Args)]
#[command(
    after_help = "A 32x32 transpose of floats: --ld 32, 33, 34. The transposed tile of A:\n  \
    --rows 8 --columns 128 --ld 132 --bytes 16 --pattern column. Phases: --phases."
)]
pub struct Arguments {
    /// Rows of the tile
    #[arg(long, default_value_t = 32)]
    rows: u32,
    /// Columns in use
    #[arg(long, default_value_t = 32)]
    columns: u32,
    /// Leading dimension: elements from one row to the next; default: the columns
    #[arg(long)]
    ld: Option<u32>,
    /// Bytes of an element
    #[arg(long, default_value_t = 4)]
    element: u32,
    /// Bytes a lane asks for; default: one element
    #[arg(long)]
    bytes: Option<u32>,
    /// How the lanes of a warp lie over the tile
    #[arg(long, value_enum, default_value_t = Lanes::Column)]
    pattern: Lanes,
    /// It is a store, not a load
    #[arg(long)]
    store: bool,
    /// Show instead which lanes are served together, for every width
    #[arg(long)]
    phases: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Lanes {
    /// Lane i takes the next elements of row 0
    Row,
    /// Lane i takes column 0 of row i
    Column,
    /// Two lanes to a column, 4 rows each: how rungs 02 and 03 store their tile of A
    Transposed,
}

pub fn sheet(arguments: &Arguments) -> Result<Sheet> {
    if arguments.phases {
        return Ok(layout::sheets::phases());
    }
    let leading_dimension = arguments.ld.unwrap_or(arguments.columns);
    let Arguments {
        rows,
        columns,
        element,
        ..
    } = *arguments;
    let tile = Tile {
        rows,
        columns,
        leading_dimension,
        element_bytes: element,
    };
    let pattern = match arguments.pattern {
        Lanes::Row => Pattern::Row,
        Lanes::Column => Pattern::Column,
        Lanes::Transposed => Pattern::Transposed,
    };
    let access = if arguments.store {
        Access::Store
    } else {
        Access::Load
    };
    Ok(layout::sheets::bankmap(
        &tile,
        access,
        arguments.bytes.unwrap_or(element),
        pattern,
    )?)
}
