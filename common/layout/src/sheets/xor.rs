//! The square `col ^ row`, built up from one cell, and the family of swizzles.
use crate::mapping::Mapping;
use crate::show::{Basis, Cell, Grid, Sheet};
use crate::swizzle::Swizzle;

/// Most rows of a square.
const MAX_SHOWN: u32 = 32;

/// Why a square is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("doubling never gives a square of {size} rows: take 1, 2, 4, 8, 16 or {MAX_SHOWN}")]
pub struct SquareError {
    /// The requested number of rows.
    pub size: u32,
}

/// A square of twice the size, made of four copies: above, the square and the square with its size added;
/// below, the same two exchanged. No XOR is computed here: that the result is `col ^ row` is the finding.
fn doubled(square: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let size = square.len() as u32;
    let moved = |row: &Vec<u32>| row.iter().map(|cell| cell + size).collect::<Vec<_>>();
    let above = square.iter().map(|row| [row.clone(), moved(row)].concat());
    let below = square.iter().map(|row| [moved(row), row.clone()].concat());
    above.chain(below).collect()
}

/// The squares of 1, 2, 4 … rows, each made of the one before, and the exchanges in each row of the last.
///
/// # Errors
/// If the size is not a power of two, or too large to be shown.
pub fn xor(size: u32) -> Result<Sheet, SquareError> {
    if !size.is_power_of_two() || size > MAX_SHOWN {
        return Err(SquareError { size });
    }
    let mut squares = vec![vec![vec![0]]];
    while let Some(last) = squares.last().filter(|last| (last.len() as u32) < size) {
        squares.push(doubled(last));
    }
    let largest = squares.last().map_or(&[][..], Vec::as_slice);
    let is_xor = (0..size).zip(largest).all(|(row, cells)| {
        (0..size)
            .zip(cells)
            .all(|(unit, &column)| column == row ^ unit)
    });
    let mut sheet =
        Sheet::new(format!("XOR from 1 to {size}"), Basis::Computed).fact("is col ^ row", is_xor);
    for square in &squares {
        let rows = square.len() as u32;
        // One color for each of the four squares that it is made of.
        let half = (rows / 2).max(1);
        let cell = |row, unit| {
            let column: u32 = square[row as usize][unit as usize];
            Cell::of(column, column / half)
        };
        let title = match rows {
            1 => "1 row: nothing to swap".to_string(),
            _ => format!(
                "{rows} rows: four squares of {}, the lower two swapped",
                rows / 2
            ),
        };
        sheet = sheet.grid(Grid::by_cell(title, 0..rows, "row", rows, cell));
    }
    let distances: Vec<u32> = std::iter::successors(Some(size / 2), |distance| Some(distance / 2))
        .take_while(|distance| *distance > 0)
        .collect();
    if !distances.is_empty() {
        let swap = |row, block| match distances[block as usize] {
            distance if row & distance == 0 => Cell::plain("-"),
            distance => Cell::of("swap", distance),
        };
        let title = "size in columns of the neighboring blocks exchanged in each row";
        sheet = sheet.grid(Grid::by_cell(title, &distances, "row", size, swap));
    }
    Ok(sheet)
}

/// What M, B and S mean, for rows of 128 bytes: units, tiles, and tiles side by side.
pub fn swizzles() -> Sheet {
    const ROW: u32 = 7; // 2^7 bytes: one wavefront over all banks
    let mut units = Grid::new(
        "M: 2^M bytes stay together; S = 7 - M makes a row of 128 bytes",
        ["bytes", "banks", "S", "units a row"],
    );
    for m in 2..=5 {
        let cells = [1 << m, (1 << m) / 4, ROW - m, 1 << (ROW - m)];
        units = units.row(format!("M = {m}"), cells.map(Cell::plain));
    }
    let mut tiles = Grid::new(
        "B: the tile has 2^B rows and 2^B columns of units; 8 rows of 128 bytes, 16-byte units",
        ["rows", "units", "XOR values", "column read"],
    );
    let mut side_by_side = Grid::new(
        "tiles side by side in a row: 2^(S - B)",
        (1..=5).map(|s| format!("S = {s}")),
    );
    for b in 0..=3 {
        let side = 1u32 << b;
        let mapping = Swizzle::new(b, 4, 3).map(|swizzle| Mapping::of_swizzle(&swizzle, 8));
        let degree = match mapping {
            Ok(Ok(mapping)) => mapping.column_degree(16).0,
            _ => 0,
        };
        let cells = [side, side * side, side].map(Cell::plain);
        let read = Cell::plain(format!("{degree}-way"));
        tiles = tiles.row(format!("B = {b}"), cells.into_iter().chain([read]));
        let cells = (1..=5).map(|s| match Swizzle::new(b, 2, s) {
            Ok(swizzle) => Cell::plain(swizzle.tiles_per_row()),
            Err(_) => Cell::plain("-"),
        });
        side_by_side = side_by_side.row(format!("B = {b}"), cells);
    }
    Sheet::new("Swizzle<B,M,S>: what the numbers mean", Basis::Measured)
        .grid(units)
        .grid(tiles)
        .grid(side_by_side)
        .note("-: refused, since the bits that are read would overlap those that are changed (S < B).")
        .source("CuTe, include/cute/swizzle.hpp")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::Value;

    #[test]
    fn doubling_gives_the_xor() {
        for size in [1, 2, 4, 8, 16, 32] {
            let sheet = xor(size).expect("a power of two");
            assert_eq!(
                sheet.value("is col ^ row"),
                Some(&Value::Flag(true)),
                "{size}"
            );
            assert_eq!(
                sheet.grids.len() as u32,
                size.ilog2() + 1 + u32::from(size > 1)
            );
        }
        for size in [0, 3, 6, 64, u32::MAX] {
            assert_eq!(xor(size), Err(SquareError { size }));
        }
    }
}
