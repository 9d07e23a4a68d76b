//! Which stall reason a card's warps had most often, as ncu sampled it.
use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use harness::Size;
use harness::rungs;

/// Reasons that say that a warp did not wait.
const NO_WAIT: [&str; 2] = ["selected", "not_selected"];

/// What was sampled on one card: a row for each rung and tile.
pub struct Samples(Vec<Row>);

struct Row {
    rung: String,
    tile: String,
    size: String,
    reason: String,
}

/// The reason that takes most of the warps' clocks; none if warps never wait. A name may occur more than once.
pub fn most<'a>(reasons: impl Iterator<Item = (&'a str, f64)>) -> Option<&'a str> {
    let mut sums = BTreeMap::<&str, f64>::new();
    for (name, clocks) in reasons.filter(|(name, _)| !NO_WAIT.contains(name)) {
        *sums.entry(name).or_default() += clocks;
    }
    let most = sums.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
    most.map(|(name, _)| name)
}

/// The samples of the card whose timings are in this folder of `results/`: `calibration/<card>/stalls.csv`. Empty if there
/// is no such file.
///
/// # Errors
/// If it cannot be read.
pub fn recorded(record: &Path) -> Result<Samples> {
    let card = record.file_name().unwrap_or_default();
    let root = rungs::root().context("the workspace is not here")?;
    let file = root.join("calibration").join(card).join("stalls.csv");
    if !file.is_file() {
        return Ok(Samples(Vec::new()));
    }
    let said = || format!("cannot read {}", file.display());
    let mut table = csv::Reader::from_path(&file).with_context(said)?;
    let heads = table.headers().with_context(said)?.clone();
    let first = heads
        .iter()
        .position(|name| name == NO_WAIT[0])
        .with_context(said)?;
    let column = |name: &str| heads.iter().position(|head| head == name);
    let (rung, tile, size) = (column("rung"), column("tile"), column("size"));
    let mut rows = Vec::new();
    for row in table.records() {
        let row = row.with_context(said)?;
        let field =
            |at: Option<usize>| at.and_then(|at| row.get(at)).unwrap_or_default().to_owned();
        let reasons = heads.iter().zip(&row).skip(first);
        let reasons = reasons.filter_map(|(name, part)| Some((name, part.parse().ok()?)));
        rows.push(Row {
            rung: field(rung),
            tile: field(tile),
            size: field(size),
            reason: most(reasons).unwrap_or_default().to_owned(),
        });
    }
    Ok(Samples(rows))
}

impl Samples {
    /// The reason that warps of this rung had most often, if it was sampled at this size.
    pub fn reason(&self, rung: &str, tile: Option<&str>, size: Size) -> Option<String> {
        let size = size.to_string();
        let row = self.0.iter().find(|row| {
            let same_tile = row.tile.is_empty() || tile.is_none_or(|tile| tile == row.tile);
            row.rung == rung && row.size == size && same_tile
        });
        row.map(|row| row.reason.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warp_that_issues_does_not_wait() {
        let reasons = [("selected", 9.0), ("wait", 1.0), ("barrier", 2.0)];
        assert_eq!(most(reasons.into_iter()), Some("barrier"));
        assert_eq!(most(reasons.into_iter().take(1)), None);
        let twice = [("wait", 2.0), ("barrier", 1.5), ("barrier", 1.0)];
        assert_eq!(most(twice.into_iter()), Some("barrier"));
    }

    #[test]
    fn the_samples_of_an_h200_are_read() {
        let samples = recorded(Path::new("results/h200")).expect("a record");
        let reason = |rung, tile| samples.reason(rung, tile, Size::cube(4096));
        assert_eq!(reason("04_mma", None).as_deref(), Some("short_scoreboard"));
        assert_eq!(
            reason("04_mma", Some("1x1")).as_deref(),
            Some("short_scoreboard")
        );
        assert_eq!(reason("16_stream_k", Some("1x1")), None);
    }
}
