//! A layout in the axis notation, evaluated.
use std::collections::BTreeMap;

use crate::axis::{AxisLayout, on};
use crate::show::{Basis, Cell, Grid, Sheet, list};

/// Most rows of a picture.
const MAX_SHOWN: u32 = 32;

/// The position of each element of a layout on every axis, and whether two elements share one. The second
/// value is true if none do.
pub fn axis(layout: &AxisLayout) -> (Sheet, bool) {
    let first = layout.positions(0);
    let names: Vec<&String> = first.iter().take(1).flat_map(BTreeMap::keys).collect();
    let inverse = layout.inverse();
    let places = inverse.iter();
    let shared = places.filter(|(_, indices)| indices.len() > 1).min();
    let extents = layout.shard().iter().map(|iter| iter.extent);
    let mut sheet = Sheet::new(layout.to_string(), Basis::Computed)
        .fact("extents", list(extents))
        .fact("elements", layout.size())
        .fact("copies of each", layout.copies())
        .fact("every place holds one element", shared.is_none());
    for name in &names {
        let values = inverse.keys().map(|place| on(place, name));
        let (low, high) = (values.clone().min().unwrap_or(0), values.max().unwrap_or(0));
        sheet = sheet.fact(name, format!("{low} to {high}"));
    }
    let mut grid = Grid::new(
        format!(
            "places of the first {} elements",
            layout.size().min(MAX_SHOWN)
        ),
        &names,
    );
    for index in 0..layout.size().min(MAX_SHOWN) {
        for (copy, place) in layout.positions(index).iter().enumerate().take(4) {
            let name = match layout.copies() {
                1 => format!("element {index}"),
                _ => format!("element {index} copy {copy}"),
            };
            let cells = names.iter().map(|axis| Cell::of(on(place, axis), index));
            grid = grid.row(name, cells);
        }
    }
    if let Some((place, indices)) = shared {
        let place = list(place.iter().map(|(axis, value)| format!("{value}@{axis}")));
        sheet = sheet.note(format!(
            "Elements {} share one place, {place}: the layout loses data.",
            list(indices.iter())
        ));
    }
    let sheet = sheet.grid(grid);
    let sheet = sheet.source("Apache TVM, \"Tensor Layout\" (TIRx)");
    (sheet, shared.is_none())
}
