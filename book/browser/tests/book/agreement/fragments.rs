use layout::fragment::{Fragment, Operand, all};
use serde_json::{Value, json};

use super::{all_agree, ask};
use crate::{open, reader};

/// As a reader of the page names it. `stmatrix` is drawn like `ldmatrix`.
fn names(fragment: &Fragment) -> Vec<(String, Option<&'static str>)> {
    let letter = |operand| match operand {
        Operand::A => "a",
        Operand::B => "b",
        Operand::C => "c",
    };
    match *fragment {
        Fragment::Mma { k16, operand } => vec![(
            format!("m16n8k{}", if k16 { 16 } else { 8 }),
            Some(letter(operand)),
        )],
        Fragment::Wgmma { n } => vec![(format!("m64n{n}k16"), Some("c"))],
        Fragment::Matrices { count, trans } => ["ldmatrix", "stmatrix"]
            .map(|name| {
                (
                    format!("{name}.x{count}{}", if trans { ".trans" } else { "" }),
                    None,
                )
            })
            .into(),
    }
}

/// Not some but all: every element of every fragment, both ways.
#[test]
fn every_element_of_every_fragment_is_the_same() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut page = open(&mut chromium, &server, "fragment_explorer.html");
    let cases: Vec<_> = all()
        .iter()
        .flat_map(|fragment| names(fragment).into_iter().map(|name| (*fragment, name)))
        .collect();
    let asked: Vec<Value> = cases.iter().map(|(_, name)| json!(name)).collect();
    let found = ask(
        &mut page,
        "([shape, operand]) => { const made = layout.fragment(shape, operand); const { range } = layout;\
           return {\
             shape: [made.rows, made.columns], threads: made.threads, elements: made.elements, packing: made.packing,\
             at: range(made.threads).flatMap((thread) => range(made.elements).map((element) => {\
               const { row, column } = layout.elementAt(made, thread, element); return [row, column]; })),\
             holders: range(made.rows + 1).flatMap((row) => range(made.columns + 1).map((column) => {\
               const held = layout.holderOf(made, row, column); return held && [held.thread, held.element]; })),\
             addresses: range(32).map((lane) => { const found = layout.rowOfAddress(made, lane); return found && [found.matrix, found.row]; }),\
           }; }",
        &asked,
    );
    all_agree(&cases, &found, |(fragment, _)| {
        let ((rows, columns), elements) = (fragment.shape(), fragment.elements());
        let at = (0..fragment.threads())
            .flat_map(|thread| (0..elements).map(move |i| fragment.at(thread, i)));
        let holders = (0..=rows)
            .flat_map(|row| (0..=columns).map(move |column| fragment.holder(row, column)));
        json!({
            "shape": [rows, columns], "threads": fragment.threads(), "elements": elements, "packing": fragment.packing(),
            "at": at.collect::<Vec<_>>(),
            "holders": holders.collect::<Vec<_>>(),
            "addresses": (0..32).map(|lane| fragment.row_of_address(lane)).collect::<Vec<_>>(),
        })
    });
    // Each has its place in the explorer's lists.
    let listed = page.evaluate("gemm.explorer.ALLOWED").expect("lists");
    for (fragment, (name, operand)) in &cases {
        let is_listed = match fragment {
            Fragment::Wgmma { n } => listed["n"]
                .as_array()
                .is_some_and(|all| all.contains(&json!(n))),
            _ => listed["shape"]
                .as_array()
                .is_some_and(|all| all.contains(&json!(name))),
        };
        assert!(is_listed, "{name} {operand:?}");
    }
}

#[test]
fn what_is_no_fragment_is_refused() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut page = open(&mut chromium, &server, "fragment_explorer.html");
    let cases = [
        ("m64n12k16", Some("c")),
        ("m64n264k16", Some("c")),
        ("m64n64k16", Some("a")),
        ("ldmatrix.x3", None),
        ("m8n8k4", Some("a")),
        ("m16n8k8", None),
        ("constructor", Some("a")),
    ];
    let asked: Vec<Value> = cases.iter().map(|case| json!(case)).collect();
    let found = ask(
        &mut page,
        "([shape, operand]) => layout.fragment(shape, operand)",
        &asked,
    );
    for (case, answer) in cases.iter().zip(&found) {
        let said = answer["error"].as_str().unwrap_or_default();
        assert!(said.contains("is not a fragment"), "{case:?}: {answer}");
    }
}
