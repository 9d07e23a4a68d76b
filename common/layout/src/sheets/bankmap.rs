//! The banks of a tile, and the conflicts of an access to it.
use crate::banks::{Access, BANKS, BankTable, LANES, Word, bank, lanes_per_phase};
use crate::show::{Basis, Cell, Grid, Sheet, count};
use crate::tile::{Pattern, Tile, TileError};

/// Most rows and columns of a picture.
const MAX_SHOWN: u32 = 32;

/// The bank of each element of a tile, and each wavefront of the warp's access.
///
/// # Errors
/// If the tile is invalid, or the access would be misaligned: the message then names the leading dimension
/// that avoids it.
pub fn bankmap(
    tile: &Tile,
    access: Access,
    bytes: u32,
    pattern: Pattern,
) -> Result<Sheet, TileError> {
    tile.check(bytes)?;
    let table = BankTable::new(access, bytes, |lane| pattern.offset(tile, bytes, lane));

    let cell = |row: u32, column: u32| {
        let bank = bank(tile.offset(row, column));
        Cell::of(bank, bank)
    };
    let (rows, columns) = (tile.rows.min(MAX_SHOWN), tile.columns.min(MAX_SHOWN));

    let title = if (rows, columns) == (tile.rows, tile.columns) {
        "bank of each element".to_string()
    } else {
        format!("bank of each element (the first {rows} rows, {columns} columns)")
    };
    let Tile {
        element_bytes,
        leading_dimension,
        ..
    } = tile;
    let size = format!("{} x {} of {element_bytes} bytes", tile.rows, tile.columns);
    let (all, padding) = (tile.bytes(), tile.padding_bytes());
    let name = format!("Banks of a tile with leading dimension {leading_dimension}");
    let access = format!("{access}, {bytes} bytes a lane, {pattern}");
    let sheet = Sheet::new(name, Basis::Measured)
        .fact("tile", size)
        .fact(
            "shared memory",
            format!("{all} bytes, {padding} of them padding"),
        )
        .fact("access", access)
        .grid(Grid::by_cell(title, 0..columns, "row", rows, cell));
    Ok(draw(sheet, &table))
}

/// Which lanes are served together, for every width of an access.
pub fn phases() -> Sheet {
    let title = "phase in which each lane is served";
    let mut grid = Grid::new(title, 0..LANES);
    let in_phases =
        |together| (0..LANES).map(move |lane| Cell::of(lane / together, lane / together));
    for (name, together) in [
        ("1, 2 or 4 bytes", lanes_per_phase(4)),
        ("8 bytes", lanes_per_phase(8)),
        ("16 bytes", lanes_per_phase(16)),
        ("ldmatrix, stmatrix", 8),
    ] {
        grid = grid.row(name, in_phases(together));
    }
    Sheet::new(
        "Phases of a warp's access to shared memory",
        Basis::Measured,
    )
    .grid(grid)
    .note("A phase accesses at most 128 bytes. Lanes of different phases never conflict.")
    .note(
        "Loads of 8 and 16 bytes only: two phases become one if over the whole warp lanes i \
             and i^1, or \
             lanes i and i^2, access the same address (an inactive lane matches any).",
    )
    .source("818 one-instruction kernels under Nsight Compute on an H100")
}

/// Adds to a sheet what an access costs, and which lanes each bank serves in each wavefront. Wavefronts are numbered from the
/// first of the access.
pub fn draw(sheet: Sheet, table: &BankTable) -> Sheet {
    let sheet = sheet
        .fact("wavefronts", table.wavefronts())
        .fact("ideal", table.ideal())
        .fact("bank conflicts", table.conflicts());
    let title = "lanes served by each bank, wavefront by wavefront";
    let mut grid = Grid::new(title, 0..BANKS);
    let phases = table.phases();
    let mut wavefront = 0;
    for (number, phase) in phases.iter().enumerate() {
        for words in phase.wavefronts() {
            let name = match phases.len() {
                1 => format!("wavefront {wavefront}"),
                _ => format!("phase {number}, wavefront {wavefront}"),
            };
            grid = grid.row(name, words.into_iter().map(lanes));
            wavefront += 1;
        }
    }
    let mut sheet = sheet.grid(grid);
    for (number, phase) in phases.iter().enumerate() {
        let Some((a, b, bank)) = phase.first_conflict() else {
            continue;
        };
        let degree = phase.degree();
        let columns = phase.columns.iter();
        let full = columns.filter(|column| column.len() as u32 == degree);
        let banks = count(full.count() as u32, "bank");
        sheet = sheet.note(format!(
            "Phase {number}: {degree}-way conflict in {banks}; first, lanes {a}, {b} meet in bank \
             {bank}."
        ));
    }
    sheet
}

/// The lanes that read a word: `4`, or `4+2` for lane 4 and two others.
fn lanes(word: Option<&Word>) -> Cell {
    let Some((word, first)) = word.and_then(|word| Some((word, word.first_lane()?))) else {
        return Cell::plain(".");
    };
    match word.lanes.len() - 1 {
        0 => Cell::of(first, first),
        others => Cell::of(format!("{first}+{others}"), first),
    }
}
