use emulator::{SharedAccess, shared_wavefronts};
use harness::{Table, WarpAccess};
use layout::banks::{Access, BankTable, Banks};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{all_agree, ask, some};
use crate::{open, reader};

/// Kind, bytes a lane, an offset for each lane, banks.
type Case = (&'static str, u32, Vec<Option<u32>>, (u32, u32));

fn access(name: &str) -> Access {
    match name {
        "load" => Access::Load,
        "store" => Access::Store,
        _ => Access::Matrix,
    }
}

/// Offsets as kernels have them, and as nobody would: strides, shared addresses, a few rows, anything.
fn offsets() -> impl Strategy<Value = Vec<u32>> {
    let strided = (0u32..70, 0u32..64)
        .prop_map(|(stride, first)| (0..32).map(|lane| first + lane * stride).collect());
    let shared = (0u32..40, 0u32..3)
        .prop_map(|(stride, places)| (0..32).map(|lane| (lane >> places) * stride).collect());
    let apart = (0u32..40).prop_map(|stride| {
        (0..32)
            .map(|lane| (lane / 4 * 2 + lane % 2) * stride)
            .collect()
    });
    let halves = (0u32..40).prop_map(|stride| {
        (0..32).map(|lane| if lane < 16 { lane / 2 } else { lane / 4 * 2 + lane % 2 } * stride).collect()
    });
    let few = prop::collection::vec(0u32..80, 32);
    let any = prop::collection::vec(0u32..10_000, 32);
    prop_oneof![strided, shared, apart, halves, few, any]
}

fn cases() -> impl Strategy<Value = Case> {
    let kinds = prop_oneof![
        (
            prop::sample::select(vec!["load", "store"]),
            prop::sample::select(vec![1u32, 2, 4, 8, 16])
        ),
        Just(("load", 16)),
        Just(("matrix", 16)),
    ];
    let active = prop_oneof![3 => Just(u32::MAX), 1 => any::<u32>(), 1 => Just(0x00ff_00ff), 1 => prop::sample::select(vec![0u32, 1, 0xff, 0xffff])];
    let banks = prop_oneof![3 => Just((32u32, 4u32)), 1 => (0u32..8, 0u32..6).prop_map(|(count, width)| (1 << count, 1 << width))];
    (kinds, offsets(), active, banks).prop_map(|((kind, bytes), units, active, banks)| {
        let lanes = units.iter().enumerate();
        let offsets = lanes
            .map(|(lane, unit)| (active >> lane & 1 == 1).then_some(unit * bytes))
            .collect();
        (kind, bytes, offsets, banks)
    })
}

/// The whole table: phases, banks, words, lanes.
fn told(table: &BankTable) -> Value {
    let phases = table.phases().iter().map(|phase| {
        let columns = phase.columns.iter().map(|column| {
            column
                .iter()
                .map(|word| json!([word.row, word.lanes]))
                .collect::<Vec<_>>()
        });
        let passes = phase.wavefronts().into_iter().map(|words| {
            words
                .into_iter()
                .map(|word| word.map(|word| word.row))
                .collect::<Vec<_>>()
        });
        json!({
            "columns": columns.collect::<Vec<_>>(), "passes": passes.collect::<Vec<_>>(),
            "conflict": phase.first_conflict(), "degree": phase.degree(),
        })
    });
    json!({
        "wavefronts": table.wavefronts(), "ideal": table.ideal(), "conflicts": table.conflicts(),
        "phases": phases.collect::<Vec<_>>(),
    })
}

const TELL: &str = "(table) => ({ wavefronts: table.wavefronts, ideal: table.ideal, conflicts: table.conflicts,\
    phases: table.phases.map((phase) => { const met = layout.firstConflict(phase); return {\
      columns: phase.columns.map((column) => column.map((word) => [word.row, word.lanes])),\
      passes: layout.passes(phase).map((words) => words.map((word) => word && word.row)),\
      conflict: met && [met.first, met.second, met.bank], degree: phase.degree }; }) })";

#[test]
fn every_access_meets_the_same() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut page = open(&mut chromium, &server, "wavefront_player.html");
    let cases = some(cases());
    let asked: Vec<Value> = cases.iter().map(|case| json!(case)).collect();
    let function = format!(
        "([access, bytes, offsets, [count, width]]) => ({TELL})(layout.bankTable(access, bytes, offsets, {{ count, width }}))"
    );
    let found = ask(&mut page, &function, &asked);
    all_agree(&cases, &found, |(kind, bytes, offsets, (count, width))| {
        let banks = Banks::new(*count, *width).expect("powers of two");
        told(&BankTable::with(banks, access(kind), *bytes, |lane| {
            offsets[lane as usize]
        }))
    });
    let merged = cases
        .iter()
        .zip(&found)
        .filter(|((_, bytes, _, banks), answer)| {
            *banks == (32, 4)
                && answer["phases"].as_array().map_or(0, Vec::len) < (*bytes as usize / 4).max(1)
        });
    assert!(merged.count() > 30, "few merge");
}

/// The player's patterns, by layout's formula and by the emulator's measured rule, through the table that
/// `cargo ladder banks` reads.
#[test]
fn every_pattern_of_the_player_costs_what_it_shows() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut page = open(&mut chromium, &server, "wavefront_player.html");
    let found = page
        .evaluate(
            "gemm.player.PRESETS.map((preset) => { const [name, op, bytes] = preset; const offsets = gemm.player.offsetsOf(preset);\
               const { table } = gemm.player.modelOf({ op, bytes: String(bytes), addresses: offsets.join(',') });\
               return [name, `${op},${bytes},${offsets.join(' ')}`, [table.wavefronts, table.conflicts, table.ideal]]; })",
        )
        .expect("patterns");
    let found: Vec<(String, String, [u64; 3])> = serde_json::from_value(found).expect("patterns");
    assert!(found.len() >= 15);
    for (name, row, told) in &found {
        let text = format!("{}\n{row}", WarpAccess::COLUMNS.join(","));
        let table = Table::read(text.as_bytes(), ',', &WarpAccess::COLUMNS).expect("a table");
        let fields = table.pick(&table.rows[0], &WarpAccess::COLUMNS);
        let warp = WarpAccess::parse(&fields.expect("a row")).expect(name);
        let (addresses, active) = warp.lanes();
        let cost = shared_wavefronts(warp.kind, warp.bytes, &addresses, active);
        assert_eq!(
            [cost.wavefronts, cost.conflicts, cost.ideal],
            *told,
            "{name}"
        );
        let access = match warp.kind {
            SharedAccess::Load => Access::Load,
            SharedAccess::Store => Access::Store,
            SharedAccess::Matrix => Access::Matrix,
        };
        let table = BankTable::new(access, warp.bytes, |lane| warp.offsets[lane as usize]);
        assert_eq!(
            [table.wavefronts(), table.conflicts(), table.ideal()].map(u64::from),
            *told,
            "{name}"
        );
    }
}

/// What the terminal reads the page reads, and what it refuses the page refuses with the same words.
#[test]
fn pasted_rows_are_read_as_in_the_terminal() {
    let Some((mut chromium, server)) = reader() else {
        return;
    };
    let mut page = open(&mut chromium, &server, "wavefront_player.html");
    let op = prop_oneof![
        9 => prop::sample::select(vec![("ld", 32), ("st", 32), ("ldmatrix.x1", 8), ("ldmatrix.x4.trans", 32), ("stmatrix.x2", 16)]),
        1 => prop::sample::select(vec![("ld", 31), ("stmatrix.x4", 8), ("ldx", 32), ("", 32)]),
    ];
    let bytes = prop_oneof![5 => Just("16"), 3 => prop::sample::select(vec!["1", "2", "4", "8", "12", "", "four"])];
    let offset = prop_oneof![60 => (0u32..500).prop_map(|n| (n * 16).to_string()), 6 => Just("-".to_string()), 1 => "[0-9a-z+.-]{1,9}",
        1 => prop::sample::select(vec!["16777216", "16777200", "4294967296", "+32", "1e2", "0x10"]).prop_map(str::to_string)];
    let offsets = prop::collection::vec(offset, 32);
    let mut cases: Vec<[String; 3]> = some((op, bytes, offsets).prop_map(
        |((op, lanes), bytes, offsets)| {
            [
                op.to_string(),
                bytes.to_string(),
                offsets[..lanes].join(" "),
            ]
        },
    ));
    cases.extend([8, 16, 32].map(|count| {
        let op = ["stmatrix.x1", "ldmatrix.x2.trans", "ld"][count / 16];
        [op.into(), "16".into(), vec!["32"; count].join(" ")]
    }));
    let asked: Vec<Value> = cases.iter().map(|case| json!(case)).collect();
    let found = ask(
        &mut page,
        "([op, bytes, offsets]) => { const { access, ...found } = layout.parseAccess(op, bytes, offsets); return { bytes: found.bytes, offsets: found.offsets }; }",
        &asked,
    );
    all_agree(
        &cases,
        &found,
        |[op, bytes, offsets]| match WarpAccess::parse(&[op, bytes, offsets]) {
            Err(error) => json!({ "error": error.to_string() }),
            Ok(access) => json!({ "bytes": access.bytes, "offsets": access.offsets.to_vec() }),
        },
    );
    let read = found
        .iter()
        .filter(|answer| answer.get("error").is_none())
        .count();
    assert!((200..900).contains(&read), "{read} were read");
}
