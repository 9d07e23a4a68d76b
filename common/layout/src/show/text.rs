//! A sheet as text.
use std::fmt::Write as _;

use super::{Grid, Sheet};

/// Characters of a line of a note.
const LINE: usize = 100;

pub fn text(sheet: &Sheet) -> String {
    let mut out = format!("{}\n", sheet.title);
    let width = sheet.width();
    for (name, value) in &sheet.facts {
        let _ = writeln!(out, "  {name:width$}  {value}");
    }
    for grid in &sheet.grids {
        out.push('\n');
        write_grid(&mut out, grid);
    }
    if !sheet.notes.is_empty() {
        out.push('\n');
    }
    for line in sheet.notes.iter().flat_map(|note| wrap(note, LINE)) {
        let _ = writeln!(out, "{line}");
    }
    out.push('\n');
    for line in closing(sheet, LINE) {
        let _ = writeln!(out, "{line}");
    }
    out
}

fn write_grid(out: &mut String, grid: &Grid) {
    let _ = writeln!(out, "{}", grid.title);
    let (name, cell) = grid.widths();
    let mut line = |head: &str, cells: &mut dyn Iterator<Item = &str>| {
        let mut line = format!("{head:name$} ");
        cells.for_each(|text| {
            let _ = write!(line, " {text:>cell$}");
        });
        let _ = writeln!(out, "{}", line.trim_end());
    };
    if grid.columns.iter().any(|column| !column.is_empty()) {
        line("", &mut grid.columns.iter().map(String::as_str));
    }
    for row in &grid.rows {
        line(
            &row.name,
            &mut row.cells.iter().map(|cell| cell.text.as_str()),
        );
    }
}

/// The last lines: the evidence and the sources.
pub fn closing(sheet: &Sheet, width: usize) -> Vec<String> {
    let mut closing = sheet.basis.sentence().to_string();
    if !sheet.sources.is_empty() {
        let _ = write!(closing, " Source: {}.", sheet.sources.join("; "));
    }
    wrap(&closing, width)
}

/// Breaks a sentence between words into lines of at most `width` characters.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_string());
        }
    }
    lines
}
