//! Does the host take the tile that was the fastest?
use super::choice::Choices;
use super::file::Row;
use crate::rungs::{self, Variant};
use crate::table::percent;

use anyhow::Result;
use harness::Size;

/// The host's choice may be so much slower than the best.
pub const WITHIN: f64 = 0.06;

/// Asks the rungs, as they are now, which tile they take at the sizes recorded, on a card of the recorded number of
/// multiprocessors. A sentence for each choice that is not as good as it could be.
pub fn complaints(rows: &[Row]) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    for group in rows.chunk_by(|a, b| {
        (&a.rung, &a.arch, a.multiprocessors) == (&b.rung, &b.arch, b.multiprocessors)
    }) {
        let variant = Variant {
            rung: rungs::find(&group[0].rung)?,
            arch: Some(group[0].arch.clone()),
        };
        let mut sizes: Vec<&str> = group.iter().map(|row| row.size.as_str()).collect();
        sizes.dedup();
        let parsed = sizes.iter().map(|size| size.parse());
        let parsed: Vec<Size> = parsed
            .collect::<Result<_, _>>()
            .map_err(anyhow::Error::msg)?;
        let choices = Choices::ask(
            &variant,
            &parsed,
            "emulator",
            Some(group[0].multiprocessors),
        )?;
        for size in sizes {
            let taken = choices.at(size).unwrap_or("its only tile");
            let rows: Vec<&Row> = group.iter().filter(|row| row.size == size).collect();
            complaints.extend(
                complaint(&rows, taken).map(|why| format!("{} at {size}: {why}", variant.label())),
            );
        }
    }
    Ok(complaints)
}

/// What is wrong with taking this tile, by what was measured at one size.
fn complaint(rows: &[&Row], taken: &str) -> Option<String> {
    let Some(found) = rows.iter().find(|row| row.tile == taken) else {
        return Some(format!(
            "{taken} is taken, and not recorded; `cargo ladder tiles` records it"
        ));
    };
    let Some(chosen) = found.of_cublas_f16 else {
        return Some(format!("{taken} is taken, and gave a wrong C"));
    };
    let timed = rows
        .iter()
        .filter_map(|row| Some((row, row.of_cublas_f16?)));
    let (best, speed) = timed.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    (chosen < (1.0 - WITHIN) * speed).then(|| {
        format!(
            "{taken} is taken and has {} of cuBLAS; {} has {}",
            percent(chosen),
            best.tile,
            percent(speed)
        )
    })
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
            row("8x8x8", "c", 0.93),
            row("8x8x8", "d", 0.0),
        ];
        let rows: Vec<&Row> = rows.iter().collect();
        assert_eq!(complaint(&rows, "a"), None);
        assert_eq!(complaint(&rows, "b"), None);
        let slow = complaint(&rows, "c").expect("a complaint");
        assert_eq!(slow, "c is taken and has 93.0% of cuBLAS; a has 100.0%");
        assert!(
            complaint(&rows, "d")
                .expect("a complaint")
                .contains("wrong C")
        );
        let only_wrong = complaint(&rows[3..], "d").expect("a complaint");
        assert!(only_wrong.contains("wrong C"), "{only_wrong}");
        assert!(
            complaint(&rows, "e")
                .expect("a complaint")
                .contains("not recorded")
        );
    }
}
