//! How early a kernel starts the copies that it will wait for.
use anyhow::Result;

use super::Complaint;
use super::judge::Launches;
use super::rubric::{Measure, Rubric};

/// Warp instructions of a block from the issue of a tile's last copy to the wait that lands it, over those that the
/// block executes for one step along K: 0 where every copy is waited for at once, 1 where one step lies between.
/// The least of all launches with more than two steps counts: shorter ones are all prologue.
pub fn copies_ahead(
    rubric: &Rubric,
    measure: &Measure,
    all: &Launches,
) -> Result<(f64, String, Vec<Complaint>)> {
    let mut least: Option<f64> = None;
    for (launch, one) in &all.done {
        let tile = rubric.tile[launch.tile];
        let steps = launch.size.k.div_ceil(tile.k);
        if steps <= 2 {
            continue;
        }
        let blocks = launch.size.m.div_ceil(tile.m) * launch.size.n.div_ceil(tile.n);
        let executed: u64 = one.run.counters.iter().map(|one| one.executions).sum();
        let of_a_step = executed as f64 / f64::from(blocks * steps);
        let copied: u64 = one.run.waits.iter().map(|wait| wait.copied).sum();
        let ahead: u64 = one.run.waits.iter().map(|wait| wait.ahead).sum();
        let steps_ahead = ahead as f64 / copied.max(1) as f64 / of_a_step.max(1.0);
        least = Some(least.map_or(steps_ahead, |least| least.min(steps_ahead)));
    }
    let least = least.unwrap_or_default();
    let words = format!("copies are issued {least:.2} steps before they are waited for");
    let complaints = match measure.credit(least) >= 1.0 {
        true => Vec::new(),
        false => vec![Complaint {
            what: words.clone(),
            hint: measure.hint.clone(),
            mistake: "too-few-stages".into(),
            player: None,
        }],
    };
    Ok((least, words, complaints))
}
