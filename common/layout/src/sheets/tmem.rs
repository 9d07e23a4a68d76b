//! Tensor Memory as tables.
use crate::axis::AxisError;
use crate::scales::{Place, Scales};
use crate::show::{Basis, Cell as Shown, Grid, Sheet};
use crate::tmem::{Accumulator, Cell};

/// Where the accumulator is stored: the elements in the first and the last lane of each 16, in its first and
/// last columns.
///
/// # Errors
/// Never, for the accumulators that exist.
pub fn accumulator(accumulator: &Accumulator) -> Result<Sheet, AxisError> {
    let (m, n) = accumulator.shape();
    let (ctas, columns) = (accumulator.ctas(), accumulator.columns());
    let title = format!("Accumulator {m} x {n} in Tensor Memory, cta_group::{ctas}");
    let cell = |cta, lane, column| match accumulator.element(Cell { cta, lane, column }) {
        Some((row, col)) => Shown::of(format!("{row},{col}"), row / 16),
        None => Shown::plain("-"),
    };
    let shown = [0, 1, columns - 1];
    let heads = (0..ctas).flat_map(|cta| shown.map(|column| format!("CTA {cta} col {column}")));
    let mut grid = Grid::new("row,column at each 16th lane and the one before it", heads);
    for lane in (0..128).step_by(16).flat_map(|lane| [lane, lane + 15]) {
        grid = grid.row(
            format!("lane {lane}"),
            (0..ctas).flat_map(|cta| shown.map(move |column| cell(cta, lane, column))),
        );
    }
    Ok(Sheet::new(title, Basis::Documented)
        .fact("arrangement", format!("Layout {:?}", accumulator.path()))
        .fact("columns in each CTA", columns)
        .fact("axis notation", accumulator.axis()?.to_string())
        .grid(grid)
        .note("A warp of the CTA reads the 32 lanes from 32 (warp % 4) by tcgen05.ld; four warps read all.")
        .source("PTX ISA, \"Data Path Layout Organization\"")
        .source("CUTLASS, include/cute/atom/mma_traits_sm100.hpp (tmem_frg)"))
}

/// Where block-scale factors are stored.
///
/// # Errors
/// Never, for the layouts that exist.
pub fn scales(name: &str, cta_group: u32, scales: &Scales) -> Result<Sheet, AxisError> {
    let (rows, vector) = scales.shape();
    let cell = |lane: u32, column: u32, byte: u32| match scales.factor(Place {
        cta: 0,
        lane,
        column,
        byte,
    }) {
        Some((row, factor)) => Shown::of(format!("{row}.{factor}"), row / 32),
        None => Shown::plain("."),
    };
    let columns = scales.columns();
    let heads = (0..columns).flat_map(|column| (0..4).map(move |byte| format!("{column}:{byte}")));
    let mut grid = Grid::new("row.factor at column:byte of some lanes of CTA 0", heads);
    for lane in [0, 1, 31, 32, 63, 64, 96, 127] {
        grid = grid.row(
            format!("lane {lane}"),
            (0..columns).flat_map(|column| (0..4).map(move |byte| cell(lane, column, byte))),
        );
    }
    let copies = scales.places(0, 0).len() as u32;
    let title = format!(
        "Scale factors {name} in Tensor Memory, scale_vec::{vector}X, cta_group::{cta_group}"
    );
    Ok(Sheet::new(title, Basis::Documented)
        .fact("factors", format!("{rows} x {vector}"))
        .fact("columns in each CTA", columns)
        .fact("copies of each factor", copies)
        .fact("axis notation", scales.axis()?.to_string())
        .fact("often printed instead", scales.often_printed())
        .grid(grid)
        .note(
            "Each 32 lanes hold a copy, which tcgen05.cp makes with .warpx4. Bytes without a \
             factor belong to other steps along K, with another SFA_ID or SFB_ID.",
        )
        .note(format!(
            "The often printed layout holds only 32 of the {rows} rows; the others are in further columns."
        ))
        .note(two_ctas(name, cta_group))
        .source("PTX ISA, \"Block Scaling\", \"Scale Factor A ID\", \"Scale Factor B ID\"")
        .source("CUTLASS, include/cute/atom/mma_traits_sm100.hpp (tmem_sf_frg)"))
}

fn two_ctas(name: &str, cta_group: u32) -> &'static str {
    match (name, cta_group) {
        (_, 1) => "With one CTA there is nothing to share.",
        ("SFA", _) => "Over two CTAs each holds the factors of its own 128 rows of A.",
        _ => {
            "Over two CTAs both hold the factors of all columns of B, since each multiplies its \
             rows with all of B."
        }
    }
}
