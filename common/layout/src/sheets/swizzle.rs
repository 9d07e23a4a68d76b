//! The tables of a swizzle.
use crate::banks::{Access, BankTable, lanes_per_phase};
use crate::mapping::{Mapping, degree};
use crate::show::{Basis, Cell, Grid, Sheet};
use crate::swizzle::Swizzle;

/// Most rows and columns of a picture.
const MAX_SHOWN: u64 = 32;

/// What a swizzle of byte addresses does: which bits it reads and changes, where its units go, in which banks
/// they are, and what a column read costs with and without it.
pub fn swizzle(swizzle: &Swizzle) -> Sheet {
    let (unit, units) = (swizzle.unit_bytes(), swizzle.units_per_row());
    // Its own rows until it repeats, and at least as many as a phase reads down a column.
    let (bits, shift) = (swizzle.bits(), swizzle.shift());
    let period = if shift < 0 { 1 } else { 1u64 << bits };
    let phase = lanes_per_phase(unit.clamp(4, 16) as u32);
    let rows = period.clamp(u64::from(phase).max(8), MAX_SHOWN) as u32;
    let mut sheet = Sheet::new(format!("{swizzle} on byte addresses"), Basis::Measured)
        .fact("unit", format!("{unit} bytes"))
        .fact("row", format!("{units} units, {} bytes", unit * units))
        .fact("tile", tile(swizzle))
        .fact("bits read", field(swizzle.y_mask()))
        .fact("bits changed", field(swizzle.z_mask()))
        .fact("repeats after", format!("{} bytes", swizzle.period_bytes()));
    let mask = (1u64 << bits) - 1;
    let formula = match (bits, shift) {
        (0, _) => "nothing moves".to_string(),
        (_, 1..) => format!("col ^ (row & {mask})"),
        _ => format!("row ^ (col & {mask}): units leave their rows"),
    };
    sheet = sheet.fact("in units", formula);
    let plain = Swizzle::new(0, swizzle.base(), swizzle.shift()).ok();
    let look = |swizzle: &Swizzle| Mapping::of_swizzle(swizzle, rows).ok();
    if let (Some(with), Some(without)) = (look(swizzle), plain.as_ref().and_then(look)) {
        let bytes = with.shape().widest_access().min(with.shape().unit_bytes);
        let worst = |mapping: &Mapping| mapping.column_degree(bytes).0;
        sheet = sheet
            .fact("access", format!("{bytes} bytes a lane"))
            .fact("column read", both(worst(&with), worst(&without)))
            .fact("row read", format!("{}-way", with.row_degree(bytes)));
        if let (Some(a), Some(b)) = (with.matrix_degree(), without.matrix_degree()) {
            sheet = sheet.fact("ldmatrix", both(a, b));
        }
    }
    sheet = sheet.grid(address(swizzle)).grid(units_grid(swizzle, rows));
    if shift > 0 {
        sheet = sheet.grid(banks(swizzle, rows));
    }
    if let Some(matrices) = atom(swizzle) {
        let grid = core_matrices(swizzle, matrices);
        sheet = sheet
            .fact("core matrix", core_read(swizzle, matrices))
            .grid(grid);
    }
    if units > MAX_SHOWN {
        sheet = sheet.note(format!(
            "Only {MAX_SHOWN} of the {units} units of a row are shown."
        ));
    }
    sheet.source("CuTe, include/cute/swizzle.hpp")
}

/// `2 rows of 2 units, 4 tiles in a row`.
fn tile(swizzle: &Swizzle) -> String {
    let side = 1u64 << swizzle.bits();
    let (rows, units) = match swizzle.bits() {
        0 => ("1 row".to_string(), "1 unit".to_string()),
        _ => (format!("{side} rows"), format!("{side} units")),
    };
    match swizzle.tiles_per_row() {
        1 => format!("{rows} of {units}, 1 tile in a row"),
        tiles => format!("{rows} of {units}, {tiles} tiles in a row"),
    }
}

/// `bits 9..7`, of a mask.
fn field(mask: u32) -> String {
    if mask == 0 {
        return "none".into();
    }
    let (low, high) = (mask.trailing_zeros(), 31 - mask.leading_zeros());
    if low == high {
        format!("bit {low}")
    } else {
        format!("bits {high}..{low}")
    }
}

/// The bits of an address, highest first: r row, c column, b byte of the unit; Y read, Z changed.
fn address(swizzle: &Swizzle) -> Grid {
    let (base, shift) = (swizzle.base(), swizzle.shift().unsigned_abs());
    let top = (base + shift + swizzle.bits().max(3)).min(32);
    let bits: Vec<u32> = (0..top).rev().collect();
    let part = |&bit: &u32| match bit {
        _ if bit < base => Cell::of("b", 0),
        _ if bit < base + shift => Cell::of("c", 1),
        _ => Cell::of("r", 2),
    };
    let role = |&bit: &u32| match 1u32 << bit {
        mask if swizzle.y_mask() & mask != 0 => Cell::of("Y", 3),
        mask if swizzle.z_mask() & mask != 0 => Cell::of("Z", 4),
        _ => Cell::plain("."),
    };
    let title = "address bits: r row, c column of units, b byte of a unit; Y is XORed into Z";
    Grid::new(title, &bits)
        .row("part", bits.iter().map(part))
        .row("role", bits.iter().map(role))
}

/// The logical column in each physical unit, with its row if that is another one.
fn units_grid(swizzle: &Swizzle, rows: u32) -> Grid {
    let units = swizzle.units_per_row();
    let cell = |row: u32, unit: u32| {
        let address = (u64::from(row) * units + u64::from(unit)) * swizzle.unit_bytes();
        // A swizzle is its own inverse: the unit stored here is the one that this unit would move to.
        let logical = u64::from(swizzle.apply(address as u32)) / swizzle.unit_bytes();
        let (from, column) = (logical / units, logical % units);
        let text = match from == u64::from(row) {
            true => column.to_string(),
            false => format!("{from}.{column}"),
        };
        Cell::of(text, column as u32)
    };
    let shown = units.min(MAX_SHOWN);
    let title = if swizzle.shift() < 0 {
        "logical column at each physical unit (row.column where it comes from another row)"
    } else {
        "logical column at each physical unit"
    };
    Grid::by_cell(title, 0..shown, "row", rows, cell)
}

/// The banks of each logical column, row by row.
fn banks(swizzle: &Swizzle, rows: u32) -> Grid {
    let (units, unit) = (swizzle.units_per_row(), swizzle.unit_bytes());
    let cell = |row: u32, column: u32| {
        let logical = (u64::from(row) * units + u64::from(column)) * unit;
        let address = u64::from(swizzle.apply(logical as u32));
        let (first, count) = (address / 4 % 32, (unit / 4).clamp(1, 32));
        let text = match count {
            1 => first.to_string(),
            _ => format!("{first}-{}", first + count - 1),
        };
        Cell::of(text, (first / count) as u32)
    };
    let shown = units.min(MAX_SHOWN);
    let title =
        "banks of each logical column: a column is free of conflicts where its banks differ";
    Grid::by_cell(title, 0..shown, "row", rows, cell)
}

/// Number of 8x8 matrices side by side in the swizzle's atom, if the atom has rows of 16-byte units: 8 rows
/// of 2^(B+M) bytes.
fn atom(swizzle: &Swizzle) -> Option<u32> {
    let width = 1u32.checked_shl(swizzle.bits() + swizzle.base())?;
    let is_atom = swizzle.shift() > 0 && swizzle.base() >= 4 && (16..=128).contains(&width);
    is_atom.then_some(width / 16)
}

/// Where row n of 8x8 matrix m (16 bytes) is stored; the atom's 8 rows follow each other in memory.
fn core_matrices(swizzle: &Swizzle, matrices: u32) -> Grid {
    let cell = |line: u32, place: u32| {
        let logical = swizzle.apply(line * 128 + place * 16) / 16;
        let (row, matrix) = (logical / matrices, logical % matrices);
        Cell::of(format!("{row} of {matrix}"), matrix)
    };
    let title = format!(
        "core matrices: row n of matrix m at each 16 bytes; the atom is 8 rows of {} bytes",
        matrices * 16
    );
    let places = (0..8).map(|i| i * 16);
    Grid::by_cell(title, places, "128 B line", matrices, cell)
}

/// The cost of reading a core matrix of the atom, with and without the swizzle.
fn core_read(swizzle: &Swizzle, matrices: u32) -> String {
    let read = |matrix: u32, place: &dyn Fn(u32) -> u32| {
        let address = |lane| place((lane * matrices + matrix) * 16);
        let of_eight = |lane| (lane < 8).then(|| address(lane));
        degree(&BankTable::new(Access::Matrix, 16, of_eight))
    };
    let worst = |place: &dyn Fn(u32) -> u32| (0..matrices).map(|matrix| read(matrix, place)).max();
    let with = worst(&|address| swizzle.apply(address)).unwrap_or(0);
    let without = worst(&|address| address).unwrap_or(0);
    both(with, without)
}

/// Degrees of conflict of a read with and without the swizzle.
fn both(with: u32, without: u32) -> String {
    format!("{with}-way, without the swizzle {without}-way")
}
