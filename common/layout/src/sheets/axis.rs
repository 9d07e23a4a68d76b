//! A layout in the axis notation, evaluated.
use crate::axis::{AxisLayout, Position};
use crate::show::{Basis, Cell, Grid, Sheet, list};

/// Rows of a picture, at most.
const MOST: u32 = 32;

/// Where the elements of a layout lie, on every axis, and whether two share a place. The second value says
/// that none do.
pub fn axis(layout: &AxisLayout) -> (Sheet, bool) {
    let names: Vec<String> = layout
        .positions(0)
        .first()
        .map(|place| place.keys().cloned().collect())
        .unwrap_or_default();
    let inverse = layout.inverse();
    let mut shared: Vec<(&Position, &Vec<u32>)> = inverse
        .iter()
        .filter(|(_, indices)| indices.len() > 1)
        .collect();
    shared.sort();
    let extents = layout.shard().iter().map(|iter| iter.extent);
    let mut sheet = Sheet::new(layout.to_string(), Basis::Computed)
        .fact("extents", list(extents))
        .fact("elements", layout.size())
        .fact("copies of each", layout.copies())
        .fact("every place holds one element", shared.is_empty());
    for name in &names {
        let values = inverse.keys().filter_map(|place| place.get(name));
        let (low, high) = (
            values.clone().min().copied().unwrap_or(0),
            values.max().copied().unwrap_or(0),
        );
        sheet = sheet.fact(name, format!("{low} to {high}"));
    }
    let mut grid = Grid::new(
        format!("places of the first {} elements", layout.size().min(MOST)),
        names.iter(),
    );
    for index in 0..layout.size().min(MOST) {
        for (copy, place) in layout.positions(index).iter().enumerate().take(4) {
            let name = if layout.copies() > 1 {
                format!("element {index} copy {copy}")
            } else {
                format!("element {index}")
            };
            grid = grid.row(
                name,
                names
                    .iter()
                    .map(|axis| Cell::of(crate::axis::on(place, axis), index)),
            );
        }
    }
    if let Some((place, indices)) = shared.first() {
        let place = list(place.iter().map(|(axis, value)| format!("{value}@{axis}")));
        sheet = sheet.note(format!(
            "Elements {} share one place, {place}: the layout loses data.",
            list(indices.iter())
        ));
    }
    (
        sheet
            .grid(grid)
            .source("Apache TVM, \"Tensor Layout\" (TIRx)"),
        shared.is_empty(),
    )
}
