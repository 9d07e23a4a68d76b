//! Approximate instructions, as an H200 computed all of their inputs (driver 580.159.04, CUDA 13.0).
use calibration::instructions::{Comparison, compare};
use emulator::Card;

fn recorded(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/h200/");
    std::fs::read_to_string(format!("{folder}{name}")).expect("a recording")
}

fn compared(name: &str, text: &str) -> Comparison {
    let comparison = compare(name, text.as_bytes(), Card::H100).expect("a known name");
    comparison.expect("a recording")
}

/// One row in `step` of all inputs in f32 and f64, each of 2^23 or 2^24 inputs; returns how many rows of each
/// instruction.
fn some(step: usize) -> Vec<(String, usize)> {
    let text = recorded("approximate_all.csv");
    let (header, rows) = text.split_once('\n').expect("a header");
    let rows: Vec<&str> = rows.lines().step_by(step).collect();
    let comparison = compared(
        "approximate_all.csv",
        &format!("{header}\n{}\n", rows.join("\n")),
    );
    assert_eq!(comparison.differences, []);
    assert_eq!(comparison.all, rows.len());
    let mut counts: Vec<(String, usize)> = Vec::new();
    for row in rows {
        let instruction = row.split(',').next().unwrap_or_default();
        match counts.last_mut() {
            Some((name, count)) if name == instruction => *count += 1,
            _ => counts.push((instruction.to_owned(), 1)),
        }
    }
    counts
}

/// One row in 127: all instructions, each with other exponents. `cargo ladder calibrate --only approximate` compares
/// all, in minutes.
#[test]
fn some_exponents_of_every_wide_instruction() {
    let counts = some(127);
    assert_eq!(counts.len(), 18, "{counts:?}");
    assert!(counts.iter().all(|(_, count)| *count >= 2), "{counts:?}");
}

/// All 65,536 inputs of each instruction in f16 and bf16, and divisions.
#[test]
fn every_input_of_16_bits() {
    let text = recorded("approximate.csv");
    let comparison = compared("approximate.csv", &text);
    assert_eq!(comparison.differences, []);
    assert_eq!(comparison.all, 8 * 256 + 4 * 512);
}

#[test]
fn a_changed_sum_is_found() {
    let text = recorded("approximate_all.csv");
    let row = text
        .lines()
        .find(|row| row.starts_with("ex2.approx.ftz.f32,127,"));
    let (case, sum) = row.expect("1.0").rsplit_once(',').expect("a sum");
    let changed = u64::from_str_radix(sum, 16).expect("a sum") ^ 1;
    let text = format!("instruction,block,inputs,sum\n{case},{changed:016x}\n");
    let differences = compared("approximate_all.csv", &text).differences;
    assert_eq!(differences.len(), 1);
    assert_eq!(
        differences[0].what,
        "ex2.approx.ftz.f32, 8388608 inputs from 0x3f800000 to 0x3fffffff"
    );
    assert_eq!(differences[0].expected, format!("sum {changed:016x}"));
    assert_eq!(differences[0].found, format!("sum {sum}"));
}
