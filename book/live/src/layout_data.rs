//! The data that pages draw with `layout`: accesses in the banks, swizzles, mappings, fragments. A page computes
//! nothing itself; names are in JavaScript's style.
use emulator::SharedAccess;
use harness::{Table, WarpAccess};
use layout::banks::{Access, BankTable, Banks, Phase};
use layout::expression::Expression;
use layout::fragment::{Fragment, Operand};
use layout::mapping::{Mapping, Shape};
use layout::swizzle::Swizzle;
use serde::Deserialize;
use serde_json::{Value, json};

type Result<T> = std::result::Result<T, String>;

/// The banks of a memory.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BanksOf {
    count: u32,
    width: u32,
}

impl Default for BanksOf {
    fn default() -> Self {
        Self {
            count: 32,
            width: 4,
        }
    }
}

/// The numbers of CuTe's `Swizzle<B, M, S>` for byte addresses.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Numbers {
    b: u32,
    m: u32,
    s: i32,
}

/// A tile and the mapping of its units.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MappingOf {
    /// A swizzle; its rows are the tile's rows.
    swizzle: Option<Numbers>,
    /// Or an expression of row and col,
    map: Option<String>,
    /// with the bytes of a row
    row_bytes: Option<u32>,
    /// and of a unit.
    unit: Option<u32>,
    /// Rows of the tile.
    rows: u32,
    /// Bytes per lane; none for as many as the mapping allows.
    bytes: Option<u32>,
    #[serde(default)]
    banks: BanksOf,
}

/// One access of a warp.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessOf {
    op: String,
    bytes: String,
    /// Byte offsets, separated by blanks or commas.
    offsets: String,
}

/// An access and its conflicts.
pub fn access(of: &AccessOf) -> Result<Value> {
    let offsets = of.offsets.replace(',', " ");
    let access = WarpAccess::parse(&[&of.op, of.bytes.trim(), &offsets]);
    Ok(access_data(&access.map_err(|error| error.to_string())?))
}

/// Every access in a table for `cargo ladder banks`.
pub fn table(text: &str) -> Result<Value> {
    let table = Table::read(text.as_bytes(), ',', &WarpAccess::COLUMNS);
    let table = table.map_err(|error| error.to_string())?;
    if table.rows.is_empty() {
        return Err("the table has a first line but no access".into());
    }
    let row = |row| {
        let fields = table.pick(row, &WarpAccess::COLUMNS)?;
        WarpAccess::parse(&fields)
    };
    let rows = table.rows.iter().map(|one| match row(one) {
        Ok(access) => Ok(access_data(&access)),
        Err(error) => Err(format!("line {}: {error}", one.line)),
    });
    Ok(json!({ "rows": rows.collect::<Result<Vec<_>>>()? }))
}

fn access_data(access: &WarpAccess) -> Value {
    let (kind, name) = match access.kind {
        SharedAccess::Load => (Access::Load, "load"),
        SharedAccess::Store => (Access::Store, "store"),
        SharedAccess::Matrix => (Access::Matrix, "matrix"),
    };
    let offset = |lane: u32| access.offsets[lane as usize];
    json!({
        "op": access.op, "access": name, "bytes": access.bytes, "offsets": access.offsets,
        "lanesInAPhase": layout::banks::lanes_per_phase(access.bytes),
        "table": bank_table(&BankTable::new(kind, access.bytes, offset)),
    })
}

/// The phases, each with its lanes and, for each bank, the words that they access.
fn bank_table(table: &BankTable) -> Value {
    let together = layout::banks::LANES as usize / table.phases().len().max(1);
    let phases = table.phases().iter().enumerate().map(|(number, phase)| {
        let lanes = number * together..(number + 1) * together;
        phase_data(number, phase, &lanes.collect::<Vec<_>>())
    });
    json!({
        "wavefronts": table.wavefronts(), "ideal": table.ideal(), "conflicts": table.conflicts(),
        "phases": phases.collect::<Vec<_>>(),
    })
}

fn phase_data(number: usize, phase: &Phase, lanes: &[usize]) -> Value {
    let word = |word: &layout::banks::Word| json!({ "row": word.row, "lanes": word.lanes });
    let columns = phase.columns.iter();
    let columns = columns.map(|column| column.iter().map(word).collect::<Vec<_>>());
    let passes = phase.wavefronts().into_iter();
    let passes = passes.map(|words| {
        let words = words.into_iter().map(|one| one.map(word));
        words.collect::<Vec<_>>()
    });
    let conflict = phase.first_conflict();
    let conflict = conflict
        .map(|(first, second, bank)| json!({ "first": first, "second": second, "bank": bank }));
    json!({
        "number": number, "lanes": lanes, "degree": phase.degree(), "columns": columns.collect::<Vec<_>>(),
        "passes": passes.collect::<Vec<_>>(), "conflict": conflict,
    })
}

/// A description of a swizzle.
pub fn swizzle(Numbers { b, m, s }: &Numbers) -> Result<Value> {
    let swizzle = Swizzle::new(*b, *m, *s).map_err(|error| error.to_string())?;
    Ok(swizzle_data(&swizzle))
}

fn swizzle_data(swizzle: &Swizzle) -> Value {
    json!({
        "name": format!("Swizzle<{},{},{}>", swizzle.bits(), swizzle.base(), swizzle.shift()),
        "bits": swizzle.bits(), "base": swizzle.base(), "shift": swizzle.shift(),
        "yMask": swizzle.y_mask(), "zMask": swizzle.z_mask(),
        "unitBytes": swizzle.unit_bytes(), "unitsPerRow": swizzle.units_per_row(),
        "periodBytes": swizzle.period_bytes(), "expression": expression_of(swizzle),
    })
}

/// The same as an expression of row and col in units, for a tile with the swizzle's rows.
fn expression_of(swizzle: &Swizzle) -> String {
    let mask = (1u64 << swizzle.bits()) - 1;
    match (swizzle.bits(), swizzle.shift()) {
        (0, _) => "col".into(),
        (_, 1..) => format!("col ^ (row & {mask})"),
        _ => format!(
            "col + ((row ^ (col & {mask})) - row) * {}",
            swizzle.units_per_row()
        ),
    }
}

/// A mapping: the position of every unit, its degrees of conflict, and the same for the identity.
pub fn mapping(of: &MappingOf) -> Result<Value> {
    let BanksOf { count, width } = of.banks;
    let banks = Banks::new(count, width).map_err(|error| error.to_string())?;
    let (swizzle, mapping) = match (&of.swizzle, &of.map) {
        (Some(Numbers { b, m, s }), None) => {
            let swizzle = Swizzle::new(*b, *m, *s).map_err(|error| error.to_string())?;
            let mapping = Mapping::of_swizzle(&swizzle, of.rows);
            (Some(swizzle), mapping)
        }
        (None, Some(text)) => {
            let expression = Expression::parse(text).map_err(|error| error.to_string())?;
            let shape = Shape {
                rows: of.rows,
                row_bytes: of.row_bytes.unwrap_or(128),
                unit_bytes: of.unit.unwrap_or(16),
            };
            (None, Mapping::of_expression(&expression, shape))
        }
        _ => return Err("a mapping is a `swizzle` or a `map`".into()),
    };
    let mapping = mapping
        .map_err(|error| error.to_string())?
        .with_banks(banks);
    let shape = mapping.shape();
    let plain = Expression::parse("col").map_err(|error| error.to_string())?;
    let plain = Mapping::of_expression(&plain, shape).map_err(|error| error.to_string())?;
    let plain = plain.with_banks(banks);
    Ok(json!({
        "shape": {
            "rows": shape.rows, "rowBytes": shape.row_bytes, "unitBytes": shape.unit_bytes, "columns": shape.columns(),
        },
        "swizzle": swizzle.as_ref().map(swizzle_data),
        "changed": one_mapping(&mapping, of.bytes),
        "plain": one_mapping(&plain, of.bytes),
        "phaseOfUnit": banks.lanes_per_phase(shape.unit_bytes.clamp(4, 16)),
        "banks": { "count": count, "width": width },
    }))
}

/// `places[row][column]` is the physical unit, counted through the tile, or null outside of it; `memory[row][unit]` has
/// the logical units that are stored there.
fn one_mapping(mapping: &Mapping, bytes: Option<u32>) -> Value {
    let shape = mapping.shape();
    let columns = shape.columns();
    let mut memory = vec![vec![Vec::new(); columns as usize]; shape.rows as usize];
    let mut places = Vec::new();
    for row in 0..shape.rows {
        let line = (0..columns).map(|column| mapping.place(row, column));
        let line: Vec<Option<u32>> = line.collect();
        for (column, place) in line.iter().enumerate() {
            if let Some(place) = place {
                let at = (place / columns, place % columns);
                memory[at.0 as usize][at.1 as usize].push(json!({ "row": row, "column": column }));
            }
        }
        places.push(line);
    }
    json!({ "places": places, "memory": memory, "verdict": verdict(mapping, bytes) })
}

/// The description of a mapping. Reads are `bytes` wide, or as wide as the mapping allows; a mapping that loses data
/// has no degrees of conflict.
fn verdict(mapping: &Mapping, bytes: Option<u32>) -> Value {
    let at = |(row, column): (u32, u32)| json!({ "row": row, "column": column });
    let leaves = mapping.leaves_its_row();
    let sound = leaves.is_none() && mapping.is_bijective();
    let mut said = json!({
        "leaves": leaves.map(|(row, column, unit)| json!({ "row": row, "column": column, "unit": unit.to_string() })),
        "collision": mapping.collision().map(|(a, b)| [at(a), at(b)]),
        "isBijective": mapping.is_bijective(), "isSound": sound,
    });
    if !sound {
        return said;
    }
    let widest = mapping.widest_access();
    let bytes = bytes.unwrap_or(widest).min(widest);
    let (worst, byte) = mapping.column_degree(bytes);
    let unit_bytes = mapping.shape().unit_bytes;
    let column = byte / unit_bytes;
    let table = mapping.column_read(bytes, byte);
    let phase = table.phases().iter().max_by_key(|phase| phase.degree());
    let pair = phase
        .and_then(Phase::first_conflict)
        .filter(|_| worst > 1)
        .map(|(first, second, bank)| {
            let offset = |row| {
                let place = mapping.place(row, column);
                place.map(|place| place * unit_bytes + byte % unit_bytes)
            };
            json!({
                "first": first, "second": second, "bank": bank, "logicalColumn": column,
                "offsets": [offset(first), offset(second)], "spread": mapping.spread(column),
            })
        });
    let degrees = json!({
        "widest": widest, "bytes": bytes, "row": mapping.row_degree(bytes), "column": worst, "columnByte": byte,
        "matrix": mapping.matrix_degree(), "pair": pair, "lanesInAPhase": mapping.banks().lanes_per_phase(bytes),
    });
    if let (Some(said), Value::Object(degrees)) = (said.as_object_mut(), degrees) {
        said.extend(degrees);
    }
    said
}

/// Which lane holds which element: the row and column for each thread and element, and for `ldmatrix` and `stmatrix`
/// the matrix and row whose address each lane gives.
pub fn fragment(shape: &str, operand: Option<Operand>) -> Result<Value> {
    let fragment = Fragment::named(shape, operand).map_err(|error| error.to_string())?;
    let (rows, columns) = fragment.shape();
    let (threads, elements) = (fragment.threads(), fragment.elements());
    let at = |thread| {
        let of_thread = (0..elements).map(|element| fragment.at(thread, element));
        of_thread.collect::<Vec<_>>()
    };
    let addresses = (0..layout::banks::LANES).map(|lane| fragment.row_of_address(lane));
    Ok(json!({
        "rows": rows, "columns": columns, "threads": threads, "elements": elements,
        "packing": fragment.packing(), "registers": elements / fragment.packing(),
        "at": (0..threads).map(at).collect::<Vec<_>>(),
        "addresses": addresses.collect::<Vec<_>>(),
    }))
}
