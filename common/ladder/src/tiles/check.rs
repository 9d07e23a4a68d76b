//! Does the host take the tile that was the fastest?
use super::choice::Choices;
use super::exceptions::{EXCEPTIONS, Exception};
use super::file::Row;
use crate::rungs::{self, Variant};
use crate::table::percent;

use anyhow::Result;
use harness::Size;

/// The host's choice may be so much slower than the best.
pub const WITHIN: f64 = 0.03;

/// Where the list stands, for whoever has to shorten it.
const LIST: &str = "common/ladder/src/tiles/exceptions.rs";

/// What is to be said of the host's choices.
#[derive(Debug, Default)]
pub struct Findings {
    /// A sentence for each choice that is not as good as it could be, and for each exception that is none.
    pub complaints: Vec<String>,
    /// A sentence for each choice that is known not to be the best.
    pub excepted: Vec<String>,
}

/// Asks the rungs, as they are now, which tile they take at the sizes recorded, on a card of the recorded number of
/// multiprocessors. Of the exceptions, those of this record count, and each of them has to be one.
pub fn findings(record: &str, rows: &[Row]) -> Result<Findings> {
    let mut findings = Findings::default();
    let of_record = EXCEPTIONS.iter().filter(|known| known.record == record);
    for known in of_record.clone() {
        if !rows.iter().any(|row| known.is_of(row)) {
            findings.complaints.push(stale(known, "is not recorded"));
        }
    }
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
            let known = of_record.clone().find(|known| known.is_of(rows[0]));
            let place = format!("{} at {size}", variant.label());
            findings.add(&place, complaint(&rows, taken), known, taken);
        }
    }
    Ok(findings)
}

/// Exceptions that are of none of these records.
pub fn of_no_record(records: &[String]) -> Vec<String> {
    let known = EXCEPTIONS.iter();
    known
        .filter(|known| !records.iter().any(|record| record == known.record))
        .map(|known| {
            stale(
                known,
                &format!("is of {}, which is no record", known.record),
            )
        })
        .collect()
}

fn stale(known: &Exception, why: &str) -> String {
    let Exception {
        rung, arch, size, ..
    } = known;
    format!("{rung} {arch} at {size}: the exception {why}; take it off the list in {LIST}")
}

impl Findings {
    /// What was found of one choice, beside what is known of it.
    fn add(
        &mut self,
        place: &str,
        found: Option<Complaint>,
        known: Option<&Exception>,
        taken: &str,
    ) {
        match (found, known) {
            (Some(found), Some(known))
                if taken == known.taken && found.best == Some(known.best) =>
            {
                let said = format!("{place}: {}; known: {}", found.why, known.why);
                self.excepted.push(said);
            }
            (Some(found), _) => self.complaints.push(format!("{place}: {}", found.why)),
            (None, Some(known)) => self
                .complaints
                .push(stale(known, "is none: the choice is good")),
            (None, None) => {}
        }
    }
}

/// What is wrong with a choice.
#[derive(Debug)]
struct Complaint<'a> {
    why: String,
    /// The tile that was faster, where that is what is wrong.
    best: Option<&'a str>,
}

/// What is wrong with taking this tile, by what was measured at one size.
fn complaint<'a>(rows: &[&'a Row], taken: &str) -> Option<Complaint<'a>> {
    let broken = |why| Some(Complaint { why, best: None });
    let Some(found) = rows.iter().find(|row| row.tile == taken) else {
        return broken(format!(
            "{taken} is taken, and not recorded; `cargo ladder tiles` records it"
        ));
    };
    let Some(chosen) = found.of_cublas_f16 else {
        return broken(format!("{taken} is taken, and gave a wrong C"));
    };
    let timed = rows
        .iter()
        .filter_map(|row| Some((row, row.of_cublas_f16?)));
    let (best, speed) = timed.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    (chosen < (1.0 - WITHIN) * speed).then(|| Complaint {
        why: format!(
            "{taken} is taken and has {} of cuBLAS; {} has {}",
            percent(chosen),
            best.tile,
            percent(speed)
        ),
        best: Some(&best.tile),
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
            row("8x8x8", "c", 0.965),
            row("8x8x8", "d", 0.0),
        ];
        let rows: Vec<&Row> = rows.iter().collect();
        let why = |rows: &[&Row], taken| complaint(rows, taken).map(|complaint| complaint.why);
        assert_eq!(why(&rows, "a"), None);
        assert_eq!(why(&rows, "b"), None);
        let slow = complaint(&rows, "c").expect("a complaint");
        assert_eq!(slow.why, "c is taken and has 96.5% of cuBLAS; a has 100.0%");
        assert_eq!(slow.best, Some("a"));
        for (rows, taken, word) in [
            (&rows[..], "d", "wrong C"),
            (&rows[3..], "d", "wrong C"),
            (&rows[..], "e", "not recorded"),
        ] {
            let found = complaint(rows, taken).expect("a complaint");
            assert!(found.why.contains(word), "{}", found.why);
            assert_eq!(found.best, None);
        }
    }

    #[test]
    fn an_exception_excuses_what_it_names_and_nothing_else() {
        let known = Exception {
            record: "a-record",
            rung: "06_pipeline",
            arch: "sm_80",
            size: "8x8x8",
            taken: "c",
            best: "a",
            why: "a reason",
        };
        let slow = |best| Complaint {
            why: "slow".into(),
            best,
        };
        for (found, known, taken, expected) in [
            (None, None, "c", (0, 0)),
            (Some(slow(Some("a"))), None, "c", (1, 0)),
            (Some(slow(Some("a"))), Some(&known), "c", (0, 1)),
            (Some(slow(Some("b"))), Some(&known), "c", (1, 0)),
            (Some(slow(Some("a"))), Some(&known), "d", (1, 0)),
            (Some(slow(None)), Some(&known), "c", (1, 0)),
            (None, Some(&known), "c", (1, 0)),
        ] {
            let case = format!("{found:?} {known:?} {taken}");
            let mut findings = Findings::default();
            findings.add("here", found, known, taken);
            let counts = (findings.complaints.len(), findings.excepted.len());
            assert_eq!(counts, expected, "{case}");
        }
    }
}
