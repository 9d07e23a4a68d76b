//! Does the host take the fastest tile?

use anyhow::{Context, Result};
use harness::Size;
use harness::rungs::{self, Variant};
use harness::table::percent;
use serde::Deserialize;

use super::file::TileTiming;
use crate::timing::printed;

/// The host's choice may be this much slower than the best.
pub const TOLERANCE: f64 = 0.03;

/// The tiles that a rung takes: the output of its `tiles --json`.
#[derive(Debug, Deserialize)]
pub struct Choices {
    pub arch: String,
    pub multiprocessors: u32,
    choices: Vec<Choice>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    size: String,
    tile: String,
}

impl Choices {
    /// The choices of this rung at these sizes.
    pub fn of(variant: &Variant, sizes: &[Size], device: &str) -> Result<Self> {
        let sizes: Vec<_> = sizes.iter().map(ToString::to_string).collect();
        let sizes = sizes.join(",");
        let words = ["tiles", "--json", "--device", device, "--sizes", &sizes];
        serde_json::from_slice(&printed(variant, &words)?)
            .with_context(|| format!("{} does not list its tiles", variant.label()))
    }

    /// The tile at a size.
    pub fn at(&self, size: &str) -> Option<&str> {
        let choice = self.choices.iter().find(|choice| choice.size == size)?;
        Some(&choice.tile)
    }
}

/// Compares the tiles that rungs take at the recorded sizes with the fastest: one sentence for each choice that is
/// too slow. `None` if no rung has the recorded tiles.
pub fn complaints(rows: &[TileTiming]) -> Result<Option<Vec<String>>> {
    let mut all = None;
    for group in rows.chunk_by(|a, b| (&a.rung, &a.arch) == (&b.rung, &b.arch)) {
        let variant = Variant {
            rung: rungs::find(&group[0].rung)?,
            arch: Some(group[0].arch.clone()),
        };
        // An old record may have tiles of a kernel that now has one.
        let kernels = rungs::choices(&variant.rung)?;
        let is_there =
            |row: &TileTiming| kernels.iter().any(|of| of.tile.as_ref() == Some(&row.tile));
        if !group.iter().any(is_there) {
            continue;
        }
        let mut sizes: Vec<&str> = group.iter().map(|row| row.size.as_str()).collect();
        sizes.dedup();
        let parsed = sizes.iter().map(|size| size.parse());
        let parsed: Result<Vec<Size>, _> = parsed.collect();
        let parsed = parsed.map_err(anyhow::Error::msg)?;
        let choices = Choices::of(&variant, &parsed, "emulator")?;
        for size in sizes {
            let taken = choices.at(size).unwrap_or("its only tile");
            let rows: Vec<&TileTiming> = group.iter().filter(|row| row.size == size).collect();
            let of_place = |why| format!("{} at {size}: {why}", variant.label());
            let all: &mut Vec<String> = all.get_or_insert_default();
            all.extend(complaint(&rows, taken).map(of_place));
        }
    }
    Ok(all)
}

/// What is wrong with this choice, by the measurements at one size.
fn complaint(rows: &[&TileTiming], taken: &str) -> Option<String> {
    let Some(found) = rows.iter().find(|row| row.tile == taken) else {
        return Some(format!(
            "{taken} is taken, and not recorded; `cargo ladder tiles` records it"
        ));
    };
    let Some(chosen) = found.of_cublas_f16 else {
        return Some(format!("{taken} is taken, and gave a wrong C"));
    };
    let timed = rows.iter();
    let timed = timed.filter_map(|row| Some((&row.tile, row.of_cublas_f16?)));
    let (best, speed) = timed.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    let is_slower = chosen < (1.0 - TOLERANCE) * speed;
    let (chosen, speed) = (percent(chosen), percent(speed));
    is_slower.then(|| format!("{taken} is taken and has {chosen} of cuBLAS; {best} has {speed}"))
}

#[cfg(test)]
mod tests {
    use super::super::file::tests::row;
    use super::*;

    #[test]
    fn a_choice_close_to_the_best_is_good() {
        let rows = [
            row("8x8x8", "a", 1.0),
            row("8x8x8", "b", 0.975),
            row("8x8x8", "c", 0.965),
            row("8x8x8", "d", 0.0),
        ];
        let rows: Vec<&TileTiming> = rows.iter().collect();
        assert_eq!(complaint(&rows, "a"), None);
        assert_eq!(complaint(&rows, "b"), None);
        for (rows, taken, words) in [
            (
                &rows[..],
                "c",
                "c is taken and has 96.5% of cuBLAS; a has 100.0%",
            ),
            (&rows[..], "d", "wrong C"),
            (&rows[3..], "d", "wrong C"),
            (&rows[..], "e", "not recorded"),
        ] {
            let found = complaint(rows, taken).expect("a complaint");
            assert!(found.contains(words), "{found}");
        }
    }
}
