//! `cargo ladder layout bankmap --ld 33`.
use anyhow::Result;

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
    /// Bytes that a lane accesses; default: one element
    #[arg(long)]
    bytes: Option<u32>,
    /// How the lanes of a warp are distributed over the tile
    #[arg(long, value_enum, default_value_t = Pattern::Column)]
    pattern: Pattern,
    /// The access is a store, not a load
    #[arg(long)]
    store: bool,
    /// Show which lanes are served together instead, for every width
    #[arg(long)]
    phases: bool,
}

pub fn sheet(arguments: &Arguments) -> Result<Sheet> {
    if arguments.phases {
        return Ok(layout::sheets::phases());
    }
    let tile = Tile {
        rows: arguments.rows,
        columns: arguments.columns,
        leading_dimension: arguments.ld.unwrap_or(arguments.columns),
        element_bytes: arguments.element,
    };
    let access = match arguments.store {
        true => Access::Store,
        false => Access::Load,
    };
    let bytes = arguments.bytes.unwrap_or(tile.element_bytes);
    let pattern = arguments.pattern;
    Ok(layout::sheets::bankmap(&tile, access, bytes, pattern)?)
}
