use layout::expression::Expression;
use layout::mapping::{Mapping, Shape};
use layout::swizzle::Swizzle;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{all_agree, ask, some};
use crate::{open, reader};

type Numbers = (u32, u32, i32);

#[test]
fn every_swizzle_is_the_same() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut page = open(&mut chromium, &server, "workbench.html");
    let presets: Vec<Numbers> = serde_json::from_value(
        page.evaluate("gemm.workbench.PRESETS.map(([, b, m, s]) => [b, m, s])")
            .expect("presets"),
    )
    .expect("numbers");
    assert_eq!(presets[..4], [(0, 4, 3), (1, 4, 3), (2, 4, 3), (3, 4, 3)]);
    assert!(presets.contains(&(2, 5, 2)));
    let addresses = prop::collection::vec(any::<u32>(), 16);
    // Some that are refused, too.
    let numbers =
        prop_oneof![3 => (0u32..9, 0u32..11, -12i32..13), 1 => (0u32..40, 0u32..40, -40i32..40)];
    let cases: Vec<(Numbers, Vec<u32>)> = some((numbers, addresses.clone()))
        .into_iter()
        .chain(presets.into_iter().zip(some(addresses)))
        .collect();
    let asked: Vec<Value> = cases.iter().map(|case| json!(case)).collect();
    let found = ask(
        &mut page,
        "([[b, m, s], addresses]) => { const made = layout.swizzle(b, m, s); return {\
           y: made.yMask, z: made.zMask, unit: made.unitBytes, units: made.unitsPerRow, period: made.periodBytes,\
           applied: addresses.map(made.apply) }; }",
        &asked,
    );
    all_agree(
        &cases,
        &found,
        |((b, m, s), addresses)| match Swizzle::new(*b, *m, *s) {
            Err(error) => json!({ "error": error.to_string() }),
            Ok(swizzle) => json!({
                "y": swizzle.y_mask(), "z": swizzle.z_mask(),
                "unit": swizzle.unit_bytes(), "units": swizzle.units_per_row(), "period": swizzle.period_bytes(),
                "applied": addresses.iter().map(|&address| swizzle.apply(address)).collect::<Vec<_>>(),
            }),
        },
    );
    let refused = found
        .iter()
        .filter(|answer| answer.get("error").is_some())
        .count();
    assert!(
        (50..cases.len() - 200).contains(&refused),
        "{refused} refused"
    );
}

/// The expression that the workbench shows for the terminal puts every unit where the swizzle does.
#[test]
fn the_terminals_expression_is_the_swizzle() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut page = open(&mut chromium, &server, "workbench.html");
    let made = |(b, m, more, down): (u32, u32, i32, bool)| {
        let s = (b as i32 + more) * if down { -1 } else { 1 };
        (Swizzle::new(b, m, s).ok().map(|_| (b, m, s)), 1u32 << b)
    };
    let cases: Vec<(Numbers, u32)> =
        some((0u32..5, 0u32..7, 0i32..3, any::<bool>()).prop_map(made))
            .into_iter()
            .filter_map(|(numbers, tile)| Some((numbers?, 2 * tile)))
            .collect();
    assert!(cases.len() > 500, "{}", cases.len());
    let asked: Vec<Value> = cases.iter().map(|case| json!(case)).collect();
    let found = ask(
        &mut page,
        "([[b, m, s], rows]) => { const made = layout.swizzle(b, m, s); const mapping = layout.Mapping.ofSwizzle(made, rows);\
           return [layout.expressionOf(made), mapping.places.flat().map(Number)]; }",
        &asked,
    );
    all_agree(&cases, &found, |&((b, m, s), rows)| {
        let swizzle = Swizzle::new(b, m, s).expect("|S| >= B");
        let mapping = Mapping::of_swizzle(&swizzle, rows).expect("small");
        let answer = found[cases
            .iter()
            .position(|case| *case == ((b, m, s), rows))
            .expect("it is there")]
        .clone();
        let text = answer[0].as_str().unwrap_or_default().to_string();
        let expression = Expression::parse(&text).expect("an expression");
        let again = Mapping::of_expression(&expression, mapping.shape()).expect(&text);
        assert_eq!(again, mapping, "{swizzle} as {text}");
        let Shape { rows, .. } = mapping.shape();
        let places: Vec<_> = (0..rows)
            .flat_map(|row| (0..mapping.shape().columns()).map(move |column| (row, column)))
            .map(|(row, column)| mapping.place(row, column))
            .collect();
        json!([text, places])
    });
}
