//! How early a kernel starts the copies that it will wait for, and how much TMA brings at a time.
use anyhow::Result;
use harness::operation;

use super::Complaint;
use super::instruction;
use super::judge::Launches;
use super::rubric::{Measure, Rubric};

/// Bytes of an element.
const ELEMENT: u32 = 2;

/// The steps along K that a warp multiplies from the issue of a `cp.async` to the wait that lands it, averaged over all
/// bytes: 0 where every copy is waited for at once, 1 with two stages, 2 - 1 / (steps - 1) with three, since no tile can
/// be asked for before the first step.
///
/// Counted in the warp's own `mma.sync`s and in bytes that are read: neither the order of the warps nor instructions that
/// compute nothing of C change it, nor copies of nothing, nor how many waits there are. The least of all launches with
/// more than two steps counts: shorter ones are all prologue.
pub fn copies_ahead(
    rubric: &Rubric,
    measure: &Measure,
    all: &Launches,
) -> Result<(f64, String, Vec<Complaint>)> {
    let mut least: Option<f64> = None;
    for (launch, one) in &all.done {
        let steps = f64::from(launch.size.k.div_ceil(rubric.tile[launch.tile].k));
        if steps <= 2.0 {
            continue;
        }
        let instructions = all.trial(launch).instructions()?.iter();
        let products: u64 = instructions
            .zip(&one.run.counters)
            .filter(|(instruction, _)| instruction::is("mma.sync", &operation(&instruction.text)))
            .map(|(_, counters)| counters.executions)
            .sum();
        let tile = rubric.tile[launch.tile];
        let blocks = launch.size.m.div_ceil(tile.m) * launch.size.n.div_ceil(tile.n);
        let warps = f64::from(blocks * all.trial(launch).threads().div_ceil(32));
        let of_a_step = products as f64 / (warps * steps);
        let bytes: u64 = one.run.waits.iter().map(|wait| wait.bytes).sum();
        let ahead: u64 = one.run.waits.iter().map(|wait| wait.products).sum();
        let ahead = ahead as f64 / bytes.max(1) as f64 / of_a_step.max(1.0);
        // Of all of a warp's tiles, the first has nothing before it.
        let steps_ahead = ahead * steps / (steps - 1.0);
        least = Some(least.map_or(steps_ahead, |least| least.min(steps_ahead)));
    }
    let least = least.unwrap_or_default();
    let words = format!("{least:.2} K steps are multiplied between a copy and the wait for it");
    let complaints = complaints(measure, least, &words, "too-few-stages");
    Ok((least, words, complaints))
}

/// Bytes of a row in the narrowest box of A or B, of all tiles; 0 without boxes.
pub fn box_bytes(measure: &Measure, all: &Launches) -> (f64, String, Vec<Complaint>) {
    let of = |launch| match all.trial(launch).boxes() {
        Some([a, b, _]) => a.columns.min(b.columns) * ELEMENT,
        None => 0,
    };
    let least = all.done.iter().map(|(launch, _)| of(launch)).min();
    let least = least.unwrap_or_default();
    let words = format!("the boxes of A and B bring {least} bytes of a row, or more");
    let complaints = complaints(measure, least.into(), &words, "none-of-these");
    (least.into(), words, complaints)
}

fn complaints(measure: &Measure, number: f64, words: &str, mistake: &str) -> Vec<Complaint> {
    match measure.credit(number) >= 1.0 {
        true => Vec::new(),
        false => vec![Complaint {
            what: words.into(),
            hint: measure.hint.clone(),
            mistake: mistake.into(),
            player: None,
        }],
    }
}
