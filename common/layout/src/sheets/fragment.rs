//! Which thread holds which element, as tables.
use crate::axis::AxisError;
use crate::fragment::Fragment;
use crate::show::{Basis, Cell, Grid, Sheet};

/// Most columns of a picture, and most elements of a lane.
const MAX_SHOWN: u32 = 16;

/// A fragment: the thread and element that hold each row and column, the inverse map, and for `ldmatrix` and
/// `stmatrix` which lane gives which address. `name` is the reader's name for it.
///
/// # Errors
/// Never, for the fragments that exist.
pub fn fragment(name: &str, fragment: &Fragment) -> Result<Sheet, AxisError> {
    let ((rows, columns), elements) = (fragment.shape(), fragment.elements());
    let element = if fragment.packing() == 2 {
        "16-bit, two to a register"
    } else {
        "f32, one to a register"
    };
    let (threads, registers) = (fragment.threads(), elements / fragment.packing());
    let sheet = Sheet::new(format!("Fragment {name}"), Basis::Documented)
        .fact("matrix", format!("{rows} x {columns}"))
        .fact("threads", threads)
        .fact("elements a thread", elements)
        .fact("registers a thread", registers)
        .fact("elements", element)
        .fact("axis notation", fragment.axis()?.to_string())
        .grid(by_place(fragment))
        .grid(by_thread(fragment));
    let sheet = match fragment {
        Fragment::Matrices { .. } => {
            addresses(sheet, fragment, name).source("PTX ISA, \"ldmatrix\" and \"stmatrix\"")
        }
        Fragment::Mma { k16: false, .. } => {
            sheet.source("PTX ISA, \"Matrix Fragments for mma.m16n8k8\"")
        }
        Fragment::Mma { .. } => {
            sheet.source("PTX ISA, \"Matrix Fragments for mma.m16n8k16 with floating point type\"")
        }
        Fragment::Wgmma { .. } => sheet
            .note("Thread T of the warpgroup is lane T % 32 of its warp T / 32.")
            .source("PTX ISA, \"Register Fragments and Shared Memory Matrix Layouts\""),
    };
    Ok(sheet)
}

/// `T5.2`: thread 5, element 2.
fn by_place(fragment: &Fragment) -> Grid {
    let (rows, columns) = fragment.shape();
    let shown = columns.min(MAX_SHOWN);
    let title = if shown < columns {
        format!("thread.element of each row and column (the first {shown} columns)")
    } else {
        "thread.element of each row and column".to_string()
    };
    let cell = |row: u32, column: u32| match fragment.holder(row, column) {
        Some((thread, element)) => Cell::of(format!("{thread}.{element}"), thread / 4),
        None => Cell::plain("-"),
    };
    Grid::by_cell(title, 0..shown, "row", rows, cell)
}

fn by_thread(fragment: &Fragment) -> Grid {
    let shown = fragment.elements().min(MAX_SHOWN);
    let title = if shown < fragment.elements() {
        format!("row,column of each element (threads 0 to 31, the first {shown} elements)")
    } else {
        "row,column of each element".to_string()
    };
    let heads = (0..shown).map(|i| match fragment.packing() {
        1 => format!("r{i}"),
        _ => format!("r{}.{}", i / 2, if i % 2 == 0 { "lo" } else { "hi" }),
    });
    let cell = |lane: u32, i: u32| {
        let (row, column) = fragment.at(lane, i);
        Cell::of(format!("{row},{column}"), lane / 4)
    };
    Grid::by_cell(title, heads, "T", 32, cell)
}

fn addresses(sheet: Sheet, fragment: &Fragment, name: &str) -> Sheet {
    let cell = |lane| match fragment.row_of_address(lane) {
        Some((matrix, row)) => Cell::of(format!("{matrix}.{row}"), matrix),
        None => Cell::plain("-"),
    };
    let heads = (0..8).map(|i| format!("+{i}"));
    let mut grid = Grid::new("matrix.row whose address each lane gives", heads);
    for first in [0, 8, 16, 24] {
        grid = grid.row(format!("lane {first}"), (first..first + 8).map(cell));
    }
    let verb = if name.starts_with("st") {
        "stored to"
    } else {
        "loaded from"
    };
    sheet
        .fact("address of row r of matrix j", "lane 8 j + r")
        .grid(grid)
        .note(format!(
            "Rows are 16 bytes, {verb} any 16-byte aligned address each: rows need not be \
             neighbors."
        ))
}
