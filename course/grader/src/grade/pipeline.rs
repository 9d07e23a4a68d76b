//! How early a kernel issues the copies that it will wait for, and how much TMA brings at a time.

use super::NO_MISTAKE;
use super::instruction;
use super::judge::LaunchResults;
use super::mechanism::Measured;
use super::rubric::Measure;

/// Bytes of an element.
const ELEMENT: u32 = 2;

/// The steps along K that a warp multiplies from the issue of a `cp.async` to the wait that lands it, averaged over all
/// bytes: 0 where every copy is waited for at once, 1 with two stages, 2 - 1 / (steps - 1) with three, since no tile can
/// be asked for before the first step.
///
/// Counted in the warp's own `mma.sync`s and in bytes that are read: neither the order of the warps nor instructions that
/// compute nothing of C change it, nor copies of nothing, nor how many waits there are. The least of all launches with
/// more than two steps counts: shorter ones are all prologue.
pub fn copies_ahead(measure: &Measure, all: &LaunchResults) -> Measured {
    let ahead = all.done.iter().filter_map(|(launch, one)| {
        let [rows, columns, steps] = launch.tiles(all.rubric);
        let steps = steps as f64;
        if steps <= 2.0 {
            return None;
        }
        let instructions = all.trial(launch).instructions().iter();
        let products: u64 = instructions
            .zip(&one.run.counters)
            .filter(|(instruction, _)| instruction::is("mma.sync", &instruction.opcode))
            .map(|(_, counters)| counters.executions)
            .sum();
        let warps_of_a_block = all.trial(launch).threads().div_ceil(32);
        let warps = (rows * columns * u64::from(warps_of_a_block)) as f64;
        let of_a_step = products as f64 / (warps * steps);
        let bytes: u64 = one.run.waits.iter().map(|wait| wait.bytes).sum();
        let ahead: u64 = one.run.waits.iter().map(|wait| wait.products).sum();
        let ahead = ahead as f64 / bytes.max(1) as f64 / of_a_step.max(1.0);
        // Of all of a warp's tiles, the first has nothing before it.
        Some(ahead * steps / (steps - 1.0))
    });
    let least = ahead.reduce(f64::min).unwrap_or_default();
    let words = format!("{least:.2} K steps are multiplied between a copy and the wait for it");
    Measured::new(measure, least, words, "too-few-stages")
}

/// Bytes of a row in the narrowest box of A or B, of all tiles; 0 without boxes.
pub fn box_bytes(measure: &Measure, all: &LaunchResults) -> Measured {
    let of = |launch| match all.trial(launch).boxes() {
        Some([a, b, _]) => a.columns.min(b.columns) * ELEMENT,
        None => 0,
    };
    let least = all.done.iter().map(|(launch, _)| of(launch)).min();
    let least = least.unwrap_or_default();
    let words = format!("the boxes of A and B bring {least} bytes of a row, or more");
    Measured::new(measure, least.into(), words, NO_MISTAKE)
}
