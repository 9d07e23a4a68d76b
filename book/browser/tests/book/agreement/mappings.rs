use layout::banks::Banks;
use layout::expression::Expression;
use layout::mapping::{Mapping, Shape, degree};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{all_agree, ask, some};
use crate::{open, reader};

/// An expression, a tile, banks, and the bytes of a read, if it is not the widest.
#[derive(Clone, Debug)]
struct Case {
    text: String,
    shape: Shape,
    banks: (u32, u32),
    bytes: Option<u32>,
}

/// Expressions that mostly have a value, and then are mostly no good.
fn expressions() -> impl Strategy<Value = String> {
    // Some so large that sums and products grow beyond 63 bits.
    let number = prop_oneof![
        6 => (0u32..20).prop_map(|n| n.to_string()),
        3 => prop::sample::select(vec!["0b1100", "0x1F"]).prop_map(str::to_string),
        1 => prop::sample::select(vec!["0x7fffffffffffffff", "4611686018427387904", "9223372036854775808"])
            .prop_map(str::to_string),
    ];
    let leaf = prop_oneof![2 => Just("row".to_string()), 2 => Just("col".to_string()), 1 => number];
    leaf.prop_recursive(4, 12, 2, |inner| {
        let operator = prop::sample::select(vec!["|", "^", "&", "<<", ">>", "+", "-", "*", "/", "%"]);
        prop_oneof![
            8 => (inner.clone(), operator, inner.clone()).prop_map(|(a, o, b)| format!("{a} {o} {b}")),
            3 => inner.clone().prop_map(|inner| format!("({inner})")),
            1 => inner.prop_map(|inner| format!("-{inner}")),
        ]
    })
}

/// Expressions that are often sound: a column is moved within its row.
fn sound() -> impl Strategy<Value = String> {
    let mask = prop::sample::select(vec![0u32, 1, 2, 3, 4, 6, 7, 12, 15, 24, 31]);
    prop_oneof![
        (mask.clone(), 0u32..3)
            .prop_map(|(mask, places)| format!("col ^ ((row & {mask}) >> {places})")),
        (mask, 0u32..3).prop_map(|(mask, places)| format!("col ^ ((row >> {places}) & {mask})")),
        (1u32..8).prop_map(|times| format!("(col + {times} * row) % 8")),
        Just("col".to_string()),
    ]
}

fn cases() -> impl Strategy<Value = Case> {
    let texts = prop_oneof![10 => sound(), 4 => expressions(), 1 => "[a-z0-9()+*/%&|^<> -]{0,20}", 1 => ".{0,12}"];
    let shapes = (1u32..40, 0u32..8, 1u32..33).prop_map(|(rows, unit, columns)| {
        let unit_bytes = 1 << unit;
        Shape {
            rows,
            row_bytes: unit_bytes * columns,
            unit_bytes,
        }
    });
    let usual = prop::sample::select(vec![
        (8, 128, 16),
        (32, 128, 4),
        (8, 144, 16),
        (64, 64, 8),
        (16, 256, 32),
        (8, 100, 16),
        (0, 128, 16),
        (9000, 128, 16),
    ])
    .prop_map(|(rows, row_bytes, unit_bytes)| Shape {
        rows,
        row_bytes,
        unit_bytes,
    });
    let banks = prop_oneof![
        9 => Just((32, 4)),
        6 => (0u32..7, 0u32..5).prop_map(|(count, width)| (1 << count, 1 << width)),
        1 => (0u32..300, 0u32..70),
    ];
    let bytes = prop::option::of(prop::sample::select(vec![1u32, 2, 4, 8, 16]));
    (texts, prop_oneof![shapes, usual], banks, bytes).prop_map(|(text, shape, banks, bytes)| Case {
        text,
        shape,
        banks,
        bytes,
    })
}

#[test]
fn every_verdict_is_the_same() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut page = open(&mut chromium, &server, "workbench.html");
    let mut cases = some(cases());
    let usual = Shape {
        rows: 8,
        row_bytes: 128,
        unit_bytes: 16,
    };
    cases.extend(
        [
            "col",
            "col ^ (row & 7)",
            "col ^ ((row & 0b1100) >> 2)",
            "(col + row) % 8",
            "col & 6",
            "col + row",
            "col + 1",
            "4611686018427387904 * 2",
            "-0x7fffffffffffffff - 2",
            "(-0x7fffffffffffffff - 1) % -1",
            "0x7fffffffffffffff << 1",
        ]
        .map(|text| Case {
            text: text.into(),
            shape: usual,
            banks: (32, 4),
            bytes: None,
        }),
    );
    let asked: Vec<Value> = cases.iter().map(question).collect();
    let found = ask(
        &mut page,
        "({ text, shape, banks, bytes }) => { const mapping = layout.Mapping.ofExpression(text, shape, banks);\
           const { pair, ...verdict } = mapping.verdict(bytes);\
           return { ...verdict, pair: pair ?? null, together: mapping.widestAccess(), spread: mapping.spread(0), places: mapping.places.flat() }; }",
        &asked,
    );
    all_agree(&cases, &found, expected);
    let sound = found
        .iter()
        .filter(|answer| answer["isSound"] == true)
        .count();
    let refused = found
        .iter()
        .filter(|answer| answer.get("error").is_some())
        .count();
    assert!(
        sound > 300 && refused > 100,
        "{sound} are sound, {refused} refused"
    );
}

fn question(case: &Case) -> Value {
    let Shape {
        rows,
        row_bytes,
        unit_bytes,
    } = case.shape;
    json!({
        "text": case.text, "bytes": case.bytes,
        "shape": { "rows": rows, "rowBytes": row_bytes, "unitBytes": unit_bytes },
        "banks": { "count": case.banks.0, "width": case.banks.1 },
    })
}

fn expected(case: &Case) -> Value {
    let made = || -> Result<Mapping, String> {
        let banks = Banks::new(case.banks.0, case.banks.1).map_err(|error| error.to_string())?;
        let expression = Expression::parse(&case.text).map_err(|error| error.to_string())?;
        let mapping =
            Mapping::of_expression(&expression, case.shape).map_err(|error| error.to_string())?;
        Ok(mapping.with_banks(banks))
    };
    let mapping = match made() {
        Ok(mapping) => mapping,
        Err(error) => return json!({ "error": error }),
    };
    let at = |(row, column): (u32, u32)| json!({ "row": row, "column": column });
    let leaves = mapping.leaves_its_row();
    let mut all = json!({
        "leaves": leaves.map(|(row, column, unit)| json!({ "row": row, "column": column, "unit": unit.to_string() })),
        "collision": mapping.collision().map(|(a, b)| json!([at(a), at(b)])),
        "isBijective": mapping.is_bijective(),
        "isSound": leaves.is_none() && mapping.is_bijective(),
        "spread": mapping.spread(0),
        "pair": null,
        "together": mapping.widest_access(),
        "places": places(case, &mapping),
    });
    if all["isSound"] == true {
        let widest = mapping.widest_access();
        let bytes = case.bytes.unwrap_or(widest).min(widest);
        let (worst, byte) = mapping.column_degree(bytes);
        let table = mapping.column_read(bytes, byte);
        let phase = table
            .phases()
            .iter()
            .max_by_key(|phase| phase.degree())
            .expect("a phase");
        let column = byte / case.shape.unit_bytes;
        let offset = |row| {
            mapping.place(row, column).expect("inside") * case.shape.unit_bytes
                + byte % case.shape.unit_bytes
        };
        assert_eq!(degree(&table), worst);
        let pair = phase.first_conflict().filter(|_| worst > 1).map(|(first, second, bank)| {
            json!({ "first": first, "second": second, "bank": bank, "logicalColumn": column, "offsets": [offset(first), offset(second)] })
        });
        for (name, value) in [
            ("widest", json!(widest)),
            ("bytes", json!(bytes)),
            ("row", json!(mapping.row_degree(bytes))),
            ("column", json!(worst)),
            ("columnByte", json!(byte)),
            ("matrix", json!(mapping.matrix_degree())),
            ("pair", json!(pair)),
        ] {
            all[name] = value;
        }
    }
    all
}

/// Every unit's place, as text: it may be beyond what a double holds.
fn places(case: &Case, mapping: &Mapping) -> Vec<String> {
    let expression = Expression::parse(&case.text).expect("it was read before");
    let columns = mapping.shape().columns();
    (0..case.shape.rows)
        .flat_map(|row| (0..columns).map(move |column| (row, column)))
        .map(|(row, column)| {
            let value = expression
                .value(row, column)
                .expect("it had a value before");
            i64::from(row * columns).saturating_add(value).to_string()
        })
        .collect()
}
