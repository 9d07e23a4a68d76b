//! The report on a mapping.
use crate::banks::Banks;
use crate::mapping::{Mapping, degree};
use crate::show::{Basis, Cell, Grid, Sheet, count, list};

/// Most rows and columns of a picture.
const MAX_SHOWN: u32 = 32;

/// Whether a mapping loses data, what reads by row, by column and by `ldmatrix` cost, and, where a column
/// read conflicts, which lanes conflict and why. The second value is true if every unit stays in its row and
/// the mapping is bijective. Each lane reads `bytes` bytes, which the mapping must allow, or else as many as
/// it allows.
pub fn mapping(name: &str, mapping: &Mapping, bytes: Option<u32>) -> (Sheet, bool) {
    let shape = mapping.shape();
    let (rows, unit) = (count(shape.rows, "row"), shape.unit_bytes);
    let size = format!("{rows} of {} bytes, units of {unit}", shape.row_bytes);
    let stays = mapping.leaves_its_row();
    let is_measured = mapping.banks() == Banks::H100;
    let basis = match is_measured {
        true => Basis::Measured,
        false => Basis::Computed,
    };
    let mut sheet = Sheet::new(format!("Mapping {name}"), basis).fact("tile", size);
    if !is_measured {
        sheet = sheet.fact("banks", mapping.banks().to_string());
    }
    sheet = sheet
        .fact("stays in its row", stays.is_none())
        .fact("bijective", mapping.is_bijective());
    let mut notes = Vec::new();
    if let Some((row, column, unit)) = stays {
        notes.push(format!(
            "Row {row}, column {column} leaves its row: it would map to unit {unit} of 0 to {}.",
            shape.columns() - 1
        ));
    }
    if let Some(((row, column), (other_row, other))) = mapping.collision() {
        notes.push(format!(
            "Row {row}, column {column} and row {other_row}, column {other} map to the same place."
        ));
    }
    let sound = stays.is_none() && mapping.is_bijective();
    if sound {
        let widest = mapping.widest_access();
        let bytes = bytes.unwrap_or(widest).min(widest);
        let (worst, at) = mapping.column_degree(bytes);
        sheet = sheet.fact("widest vector access", format!("{widest} bytes"));
        if bytes < widest {
            sheet = sheet.fact("access", format!("{bytes} bytes a lane"));
        }
        let matrix = mapping
            .matrix_degree()
            .map(|degree| format!("{degree}-way"));
        sheet = sheet
            .fact("row read", format!("{}-way", mapping.row_degree(bytes)))
            .fact("column read", format!("{worst}-way"))
            .fact("ldmatrix", matrix.unwrap_or(why_no_matrix(mapping).into()));
        if worst > 1 {
            notes.extend(why(mapping, bytes, at));
        }
    }
    let mut sheet = sheet.grid(units(mapping));
    if sound {
        // An XOR is its own inverse: then one table serves both directions.
        let places = places(mapping);
        let units = sheet.grids.last();
        if units.is_some_and(|units| units.rows != places.rows) {
            sheet = sheet.grid(places);
        } else {
            notes.push(
                "Read by unit or by column, the table is the same: unit u of a row holds \
                        column c where unit c holds column u."
                    .to_string(),
            );
        }
    }
    let sheet = notes.into_iter().fold(sheet, Sheet::note);
    (sheet, sound)
}

fn why_no_matrix(mapping: &Mapping) -> &'static str {
    if mapping.shape().rows < 8 {
        "not possible: fewer than 8 rows"
    } else {
        "not possible: the 16 bytes of a matrix row are not contiguous, or are misaligned"
    }
}

/// Which lanes conflict when a column is read, and how the mapping distributes that column.
fn why(mapping: &Mapping, bytes: u32, byte: u32) -> Vec<String> {
    let shape = mapping.shape();
    let table = mapping.column_read(bytes, byte);
    let worst = table.phases().iter().max_by_key(|phase| phase.degree());
    let mut notes = Vec::new();
    if let Some((a, b, bank)) = worst.and_then(|phase| phase.first_conflict()) {
        let column = byte / shape.unit_bytes;
        let place = |row| {
            mapping.place(row, column).unwrap_or(0) * shape.unit_bytes + byte % shape.unit_bytes
        };
        notes.push(format!(
            "First colliding pair in column {column}: lanes {a} and {b} (rows {a} and {b}) read \
             bytes {} and {}, both in bank {bank}.",
            place(a),
            place(b)
        ));
        let spread = mapping.spread(column);
        if spread.len() as u32 <= 8 {
            let part =
                |(unit, rows): &(u32, Vec<u32>)| format!("unit {unit} for rows {}", list(rows));
            let parts: Vec<_> = spread.iter().map(part).collect();
            let units = count(spread.len() as u32, "unit");
            notes.push(format!(
                "Why: over {} column {column} takes only {units} of its {}: {}. Rows that share \
                 a unit share its banks.",
                count(shape.rows, "row"),
                shape.columns(),
                parts.join("; ")
            ));
        }
    }
    debug_assert!(degree(&table) > 1);
    notes
}

fn units(mapping: &Mapping) -> Grid {
    let shape = mapping.shape();
    let (rows, columns) = (shape.rows.min(MAX_SHOWN), shape.columns().min(MAX_SHOWN));
    let mut cells = vec![vec![Vec::<u32>::new(); shape.columns() as usize]; shape.rows as usize];
    for row in 0..shape.rows {
        for column in 0..shape.columns() {
            if let Some(place) = mapping.place(row, column) {
                let (row, unit) = (place / shape.columns(), place % shape.columns());
                cells[row as usize][unit as usize].push(column);
            }
        }
    }
    let cell = |row: u32, unit: u32| {
        let found = &cells[row as usize][unit as usize];
        let Some(first) = found.first() else {
            return Cell::plain("-");
        };
        let names: Vec<_> = found.iter().map(u32::to_string).collect();
        Cell::of(names.join("+"), *first)
    };

    let title = if rows < shape.rows || columns < shape.columns() {
        format!("logical column at each physical unit (the first {rows} rows, {columns} units)")
    } else {
        "logical column at each physical unit".to_string()
    };
    Grid::by_cell(title, 0..columns, "row", rows, cell)
}

/// The same map in the other direction: the unit of each row that stores a logical column.
fn places(mapping: &Mapping) -> Grid {
    let shape = mapping.shape();
    let (rows, columns) = (shape.rows.min(MAX_SHOWN), shape.columns().min(MAX_SHOWN));
    let cell = |row: u32, column: u32| {
        let place = mapping.place(row, column);
        place.map_or(Cell::plain("-"), |place| {
            let unit = place % shape.columns();
            Cell::of(unit, unit)
        })
    };
    let title = "unit that stores each logical column";
    Grid::by_cell(title, 0..columns, "row", rows, cell)
}
