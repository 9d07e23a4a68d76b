//! The banks of a tile, and what an access to it meets.
use crate::banks::{Access, BANKS, BankTable, LANES, Word, bank, lanes_in_a_phase};
use crate::show::{Basis, Cell, Grid, Sheet, count, list};
use crate::tile::{Pattern, Tile, TileError};

/// Rows and columns of a picture, at most.
const MOST: u32 = 32;

/// The bank of each element of a tile, and wave by wave what the warp's access meets.
///
/// # Errors
/// If the tile makes no sense, or the access would be misaligned: the message names the leading dimension
/// to take instead.
pub fn bankmap(
    tile: &Tile,
    access: Access,
    bytes: u32,
    pattern: Pattern,
) -> Result<Sheet, TileError> {
    tile.check(bytes)?;
    let table = BankTable::new(access, bytes, |lane| pattern.offset(tile, bytes, lane));
    let size = format!(
        "{} x {} of {} bytes",
        tile.rows, tile.columns, tile.element_bytes
    );
    let cell = |row: u32, column: u32| {
        let bank = bank(tile.offset(row, column));
        Cell::of(bank, bank)
    };
    let (rows, columns) = (tile.rows.min(MOST), tile.columns.min(MOST));
    let grid = (0..rows).map(|row| {
        (0..columns)
            .map(move |column| cell(row, column))
            .collect::<Vec<_>>()
    });
    let title = if (rows, columns) == (tile.rows, tile.columns) {
        "bank of each element".to_string()
    } else {
        format!("bank of each element (the first {rows} rows, {columns} columns)")
    };
    let sheet = Sheet::new(
        format!(
            "Banks of a tile with leading dimension {}",
            tile.leading_dimension
        ),
        Basis::Measured,
    )
    .fact("tile", size)
    .fact(
        "shared memory",
        format!(
            "{} bytes, {} of them padding",
            tile.bytes(),
            tile.padding_bytes()
        ),
    )
    .fact(
        "access",
        format!("{access}, {bytes} bytes a lane, {pattern}"),
    )
    .grid(Grid::new(title, 0..columns).numbered("row", grid));
    Ok(draw(sheet, &table))
}

/// Which lanes are served together, for every width of an access.
pub fn phases() -> Sheet {
    let title = "phase in which each lane is served";
    let mut grid = Grid::new(title, 0..LANES);
    for bytes in [4, 8, 16] {
        let name = if bytes == 4 {
            "1, 2 or 4 bytes".to_string()
        } else {
            format!("{bytes} bytes")
        };
        let phase = |lane| lane / lanes_in_a_phase(bytes);
        grid = grid.row(
            name,
            (0..LANES).map(|lane| Cell::of(phase(lane), phase(lane))),
        );
    }
    grid = grid.row(
        "ldmatrix, stmatrix",
        (0..LANES).map(|lane| Cell::of(lane / 8, lane / 8)),
    );
    Sheet::new(
        "Phases of a warp's access to shared memory",
        Basis::Measured,
    )
    .grid(grid)
    .note("A phase asks for 128 bytes at most. Lanes of different phases never conflict.")
    .note(
        "Loads of 8 and 16 bytes only: two phases become one if over the whole warp lanes i \
             and i^1, or \
             lanes i and i^2, ask for the same address (a lane that takes no part agrees with \
             any).",
    )
    .source("818 one-instruction kernels under Nsight Compute on an H100")
}

/// Adds to a sheet what an access costs, and who is served in which bank, wave by wave.
pub fn draw(sheet: Sheet, table: &BankTable) -> Sheet {
    let sheet = sheet
        .fact("wavefronts", table.wavefronts())
        .fact("ideal", table.ideal())
        .fact("bank conflicts", table.conflicts());
    let mut grid = Grid::new(
        "lanes served by each bank, wavefront by wavefront",
        0..BANKS,
    );
    for (number, phase) in table.phases().iter().enumerate() {
        for (wave, words) in phase.wavefronts().iter().enumerate() {
            grid = grid.row(
                format!("phase {number} wave {wave}"),
                words.iter().map(|word| lanes(*word)),
            );
        }
    }
    let mut sheet = sheet.grid(grid);
    for (number, phase) in table.phases().iter().enumerate() {
        let Some((a, b, bank)) = phase.first_conflict() else {
            continue;
        };
        let degree = phase.degree();
        let (words, at) = (
            phase
                .columns
                .iter()
                .filter(|column| column.len() as u32 == degree),
            list([a, b]),
        );
        let banks = count(words.count() as u32, "bank");
        sheet = sheet.note(format!(
            "Phase {number}: {degree}-way conflict in {banks}; first, lanes {at} meet in bank \
             {bank}."
        ));
    }
    sheet
}

/// The lanes that a word goes to: `4`, or `4+2` for lane 4 and two others.
fn lanes(word: Option<&Word>) -> Cell {
    let Some((word, first)) = word.and_then(|word| Some((word, *word.lanes.first()?))) else {
        return Cell::plain(".");
    };
    match word.lanes.len() - 1 {
        0 => Cell::of(first, first),
        others => Cell::of(format!("{first}+{others}"), first),
    }
}
