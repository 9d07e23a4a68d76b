//! Shows a variable in shared memory as a table.
use std::ops::Range;

use anyhow::{Result, anyhow, bail, ensure};
use emulator::Snapshot;
use half::f16;
use harness::labels::{Element as Name, Labels};
use harness::{Function, Source};
use layout::expression::Expression;
use layout::mapping::{Mapping, Shape};

use super::super::element::{Element, Value};
use super::{Look, declaration};

/// The most columns side by side; the rest of a row follows below.
const SIDE_BY_SIDE: usize = 16;

/// The most chunks, or elements of rows that are not whole chunks, side by side, if they are named.
const NAMED_SIDE_BY_SIDE: usize = 8;

/// The row length if nothing specifies it: all banks once.
const BANKS: usize = 128;

/// The unit of a swizzle in bytes.
const UNIT: usize = 16;

/// `64x32`
pub fn shape(text: &str) -> Result<(usize, usize), &'static str> {
    let sides = text.split_once('x').and_then(|(rows, columns)| {
        let side = |text: &str| {
            text.trim()
                .parse()
                .ok()
                .filter(|side| (1..=1 << 18).contains(side))
        };
        Some((side(rows)?, side(columns)?))
    });
    sides.ok_or("expected rows and columns, such as 64x32")
}

/// A part of a variable, and how to interpret it.
struct Part<'a> {
    bytes: &'a [u8],
    element: Element,
    rows: usize,
    columns: usize,
    mapping: Option<Mapping>,
}

pub fn text(
    look: &Look,
    symbol: &str,
    source: &Source,
    function: &Function,
    snapshot: &Snapshot,
    labels: Option<&Labels>,
) -> Result<String> {
    let all = function.shared_variables();
    let found = all.iter().find(|one| one.name == symbol);
    let Some(variable) = found else {
        let names: Vec<_> = all.iter().map(|one| one.name).collect();
        bail!(
            "{symbol} is not a variable in shared memory; {}",
            match names.is_empty() {
                true => "the kernel has none".into(),
                false => format!("those are {}", names.join(", ")),
            }
        );
    };
    let shared = snapshot.shared.as_ref().ok_or_else(|| look.nothing())?;
    let start = variable.start as usize;
    let end = variable
        .bytes
        .map_or(shared.bytes.len(), |bytes| start + bytes as usize);
    let whole = shared.bytes.get(start..end).unwrap_or_default();
    let bytes = whole.get(look.offset..).filter(|rest| !rest.is_empty());
    let bytes = bytes.ok_or_else(|| {
        anyhow!(
            "--offset {}: {symbol} has {} bytes",
            look.offset,
            whole.len()
        )
    })?;
    let declared = source
        .text
        .as_deref()
        .and_then(|text| declaration::of(text, symbol));
    let element = element(look, declared.and_then(|one| one.element));
    let width = element.bytes();
    let declared = declared
        .and_then(|one| one.shape)
        .filter(|_| look.offset == 0);
    let (rows, columns) = match look.shape.or(declared) {
        Some(shape) => shape,
        None => {
            let columns = BANKS.min(bytes.len()) / width;
            (bytes.len() / (columns.max(1) * width), columns.max(1))
        }
    };
    ensure!(
        rows.saturating_mul(columns).saturating_mul(width) <= bytes.len() && rows > 0,
        "{rows} x {columns} elements of {} are more than the {} bytes that there are",
        element.name(),
        bytes.len()
    );
    let part = Part {
        bytes,
        element,
        rows,
        columns,
        mapping: mapping(look, rows, columns * width)?,
    };
    let warps = match shared.warps.len() {
        1 => format!("warp {}, the only one that comes there", shared.warps[0]),
        count => format!("the last of the {count} warps that come there"),
    };
    let [x, y, z] = look.block_index;
    let from = match look.offset {
        0 => String::new(),
        bytes => format!(" from byte {bytes} on"),
    };
    let order = match &look.swizzle {
        Some(formula) => {
            format!("in logical order: chunk `col` of 16 bytes is stored at {formula}")
        }
        None => "in the order of their addresses".into(),
    };
    let mut out = format!(
        "{symbol}{from}, {rows} x {columns} {}, {order}\nblock ({x},{y},{z}) before {}, as {warps}, finds it\n",
        element.name(),
        look.moment()
    );
    let labels = labels.filter(|_| look.element.is_none() && (2..=4).contains(&width));
    let labels = labels.filter(|labels| holds_elements(&part, labels));
    let chunk = match labels {
        Some(_) if (columns * width).is_multiple_of(UNIT) => UNIT / width,
        _ => 1,
    };
    let at_once = match labels {
        Some(_) => NAMED_SIDE_BY_SIDE * chunk,
        None => SIDE_BY_SIDE,
    };
    for first in (0..columns).step_by(at_once) {
        let columns = first..columns.min(first + at_once);
        out += &panel(&part, columns, chunk, labels);
    }
    Ok(out)
}

/// The type to show. A struct, or bytes of an `extern __shared__` array, are f16 in a kernel for f16 matrices: their tiles are.
fn element(look: &Look, declared: Option<Element>) -> Element {
    let is_typed = |one: &Element| one.bytes() > 1;
    match (look.element, look.size) {
        (Some(given), _) => given,
        (None, Some(_)) => declared.filter(is_typed).unwrap_or(Element::F16),
        (None, None) => declared.unwrap_or(Element::U32),
    }
}

/// The positions of the units of each row, if there is a formula.
fn mapping(look: &Look, rows: usize, row_bytes: usize) -> Result<Option<Mapping>> {
    let Some(formula) = &look.swizzle else {
        return Ok(None);
    };
    ensure!(
        row_bytes.is_multiple_of(UNIT),
        "--swizzle moves units of {UNIT} bytes, but a row has {row_bytes} bytes: --shape says how many elements"
    );
    let shape = Shape {
        rows: u32::try_from(rows)?,
        row_bytes: u32::try_from(row_bytes)?,
        unit_bytes: UNIT as u32,
    };
    let mapping = Mapping::of_expression(&Expression::parse(formula)?, shape)?;
    ensure!(
        mapping.is_bijective(),
        "--swizzle '{formula}' puts two units in one place, or one outside of its row: rows have {row_bytes} bytes here, by --shape and \
         --as; `cargo ladder layout map '{formula}' --row-bytes {row_bytes}` shows which"
    );
    Ok(Some(mapping))
}

/// Whether most of what is there are elements of A and B. A sum may happen to have the bits of one.
fn holds_elements(part: &Part, labels: &Labels) -> bool {
    let all = (0..part.rows).flat_map(|row| (0..part.columns).map(move |column| (row, column)));
    let values = all.filter_map(|(row, column)| element_at(part, row, column));
    let (mut named, mut others) = (0, 0);
    for value in values {
        match label(value, labels) {
            Some(_) => named += 1,
            None if matches!(value, Value::Float(0.0)) => {}
            None => others += 1,
        }
    }
    named > others
}

/// The element of A or B that is this number: an f16, or the same number as f32.
fn label(value: Value, labels: &Labels) -> Option<Name> {
    let Value::Float(number) = value else {
        return None;
    };
    let half = f16::from_f64(number);
    let element = labels.get(half.to_bits());
    element.filter(|_| half.to_f64() == number)
}

/// A range of columns of all rows, with `chunk` of them in a cell.
fn panel(part: &Part, columns: Range<usize>, chunk: usize, labels: Option<&Labels>) -> String {
    let columns = columns.step_by(chunk);
    let cell = |row: usize, column: usize| {
        let values = (column..part.columns.min(column + chunk)).map(|at| element_at(part, row, at));
        cell(values, labels)
    };
    let cells: Vec<Vec<String>> = (0..part.rows)
        .map(|row| columns.clone().map(|column| cell(row, column)).collect())
        .collect();
    let widest = |index: usize, head: &str| {
        let all = cells.iter().map(|row| row[index].len());
        all.max().unwrap_or_default().max(head.len())
    };
    let heads: Vec<String> = columns.map(|column| column.to_string()).collect();
    let widths: Vec<usize> = (0..heads.len())
        .map(|index| widest(index, &heads[index]))
        .collect();
    let line = |name: &str, row: &[String]| {
        let row = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("  {cell:>width$}"));
        format!("{name:>5} |{}\n", row.collect::<String>())
    };
    let mut out = format!("\n{}", line("", &heads));
    for (row, cells) in cells.iter().enumerate() {
        out += &line(&row.to_string(), cells);
    }
    out
}

/// Some neighboring values: elements of A and B by their names, zeros together, others one by one.
fn cell(values: impl Iterator<Item = Option<Value>>, labels: Option<&Labels>) -> String {
    let (mut parts, mut named): (Vec<String>, Vec<Name>) = Default::default();
    for value in values {
        let name = value
            .zip(labels)
            .and_then(|(value, labels)| label(value, labels));
        if let Some(name) = name {
            named.push(name);
            continue;
        }
        if !named.is_empty() {
            parts.push(Name::names(&std::mem::take(&mut named)));
        }
        let text = value.map_or("?".into(), shown);
        if text != "0" || parts.last().is_none_or(|last| last != "0") {
            parts.push(text);
        }
    }
    if !named.is_empty() {
        parts.push(Name::names(&named));
    }
    parts.join(" ")
}

fn element_at(part: &Part, row: usize, column: usize) -> Option<Value> {
    let width = part.element.bytes();
    let row_bytes = part.columns * width;
    let at = match &part.mapping {
        None => row * row_bytes + column * width,
        Some(mapping) => {
            let (unit, inside) = (column * width / UNIT, column * width % UNIT);
            let place = mapping.place(u32::try_from(row).ok()?, u32::try_from(unit).ok()?)?;
            place as usize * UNIT + inside
        }
    };
    Some(part.element.value(part.bytes.get(at..at + width)?))
}

/// Four significant digits identify a number.
fn shown(value: Value) -> String {
    match value {
        Value::Float(value) if value.is_finite() && value.fract() != 0.0 => {
            let digits = 3 - (value.abs().log10().floor() as i32).clamp(-3, 3);
            format!("{value:.*}", digits.max(0) as usize)
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (-2.0, "-2"),
            (0.123_456, "0.1235"),
            (-12.345_6, "-12.35"),
            (1234.56, "1235"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(shown(Value::Float(value)), text);
        }
        assert_eq!(shape("64x32"), Ok((64, 32)));
        assert!(shape("64").is_err() && shape("0x4").is_err());
    }

    #[test]
    fn a_swizzle_is_undone() {
        // Four units of 16 bytes in each of two rows of u32, each holding ten times its row plus its logical unit.
        let mut bytes = vec![0; 128];
        for row in 0..2_u32 {
            for unit in 0..4_u32 {
                let place = (row * 4 + (unit ^ row)) as usize * UNIT;
                bytes[place..place + 4].copy_from_slice(&(10 * row + unit).to_le_bytes());
            }
        }
        let shape = Shape {
            rows: 2,
            row_bytes: 64,
            unit_bytes: 16,
        };
        let expression = Expression::parse("col ^ (row & 3)").expect("a formula");
        let mut part = Part {
            bytes: &bytes,
            element: Element::U32,
            rows: 2,
            columns: 16,
            mapping: Mapping::of_expression(&expression, shape).ok(),
        };
        let at = |part: &Part, unit: usize| element_at(part, 1, unit * 4);
        assert_eq!(at(&part, 2), Some(Value::Int(12)));
        part.mapping = None;
        assert_eq!(at(&part, 2), Some(Value::Int(13)));
    }
}
