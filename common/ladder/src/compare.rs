//! `cargo ladder compare`: is every rung as fast relative to cuBLAS as it was?
//!
//! Clocks and power vary from day to day and from card to card, so absolute times are not compared: only the ratio to
//! cuBLAS, which was timed interleaved with the kernel.
use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::record::{Record, Run};
use harness::table::{head, markdown_table, percent};

#[derive(clap::Args)]
pub struct Arguments {
    /// A record of `cargo ladder bench`: a folder with its bench.json
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// Another record
    #[arg(value_name = "NEW")]
    new: PathBuf,
}

/// A smaller change is never a difference: the ratio varies that much from run to run.
const MIN_TOLERANCE: f64 = 0.02;

pub fn run(arguments: &Arguments) -> Result<bool> {
    let old = Record::read(&arguments.old)?;
    print(&old, &Record::read(&arguments.new)?)
}

/// Prints every rung and size with its verdict; returns whether nothing is slower.
///
/// # Errors
/// If the two records have no rung and size in common.
pub fn print(old: &Record, new: &Record) -> Result<bool> {
    let lines = lines(old, new);
    if !lines.iter().any(|line| line.change.is_some()) {
        bail!("the records have no rung and size in common; nothing is compared");
    }
    harness::print!("{}", table(&lines));
    if let (Some((_, old)), Some((_, new))) = (old.runs().next(), new.runs().next())
        && old.provenance.gpu.name != new.provenance.gpu.name
    {
        let (old, new) = (&old.provenance.gpu.name, &new.provenance.gpu.name);
        harness::println!("the old record is of {old}, the new one of {new}");
    }
    let absent = |label: &str| !new.benches().iter().any(|bench| bench.rung == label);
    let labels = old.benches().iter().map(|bench| bench.rung.as_str());
    let absent: Vec<&str> = labels.filter(|label| absent(label)).collect();
    if !absent.is_empty() {
        harness::println!("not timed at all: {}", absent.join(", "));
    }
    let bad: Vec<&Line> = lines.iter().filter(|line| line.verdict.is_bad()).collect();
    match bad.len() {
        0 => harness::println!("nothing is slower"),
        count => harness::println!("slower or wrong: {count} of {}", lines.len()),
    }
    Ok(bad.is_empty())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Same,
    Faster,
    Slower,
    Wrong,
    NotRecorded,
    NotTimed,
}

impl Change {
    fn is_bad(self) -> bool {
        matches!(self, Self::Slower | Self::Wrong)
    }

    fn words(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Faster => "faster",
            Self::Slower => "SLOWER",
            Self::Wrong => "WRONG",
            Self::NotRecorded => "not recorded",
            Self::NotTimed => "not timed",
        }
    }
}

/// One rung at one size.
#[derive(Debug)]
struct Line {
    rung: String,
    size: String,
    /// Speed as a fraction of cuBLAS.
    old: Option<f64>,
    new: Option<f64>,
    /// The change of that fraction, and its tolerance.
    change: Option<(f64, f64)>,
    verdict: Change,
}

/// The runs of the new record, then those that only the old one has of the same rungs.
fn lines(old: &Record, new: &Record) -> Vec<Line> {
    let of = |(rung, run): (_, &Run)| Line::new(rung, old.run(rung, run.size), Some(run));
    let compared = new.runs().map(of);
    let labels: Vec<&str> = new.runs().map(|(rung, _)| rung).collect();
    let missing = old
        .runs()
        .filter(|(rung, run)| labels.contains(rung) && new.run(rung, run.size).is_none())
        .map(|(rung, run)| Line::new(rung, Some(run), None));
    compared.chain(missing).collect()
}

impl Line {
    fn new(rung: &str, old: Option<&Run>, new: Option<&Run>) -> Self {
        let ratio = |run: Option<&Run>| run.and_then(Run::of_cublas);
        let change = old.zip(new).and_then(|(old, new)| {
            let change = new.of_cublas()? / old.of_cublas()? - 1.0;
            let spread = old.spread_of_cublas()?.hypot(new.spread_of_cublas()?);
            Some((change, spread.max(MIN_TOLERANCE)))
        });
        let verdict = match (new, change) {
            (None, _) => Change::NotTimed,
            (Some(new), _) if new.time.is_none() => Change::Wrong,
            (Some(_), None) => Change::NotRecorded,
            (Some(_), Some((change, tolerance))) if change > tolerance => Change::Faster,
            (Some(_), Some((change, tolerance))) if change >= -tolerance => Change::Same,
            (Some(_), Some(_)) => Change::Slower,
        };
        let size = new.or(old).map(|run| run.size.to_string());
        Self {
            rung: rung.into(),
            size: size.unwrap_or_default(),
            old: ratio(old),
            new: ratio(new),
            change,
            verdict,
        }
    }
}

fn table(lines: &[Line]) -> String {
    let cell = |ratio: Option<f64>| ratio.map_or(String::new(), percent);
    let names = "rung | size | of cuBLAS before | now | change | tolerance | verdict";
    let mut rows = vec![head(names.split(" | "))];
    rows.extend(lines.iter().map(|line| {
        let change = line
            .change
            .map(|(change, _)| format!("{:+.1}%", 100.0 * change));
        vec![
            line.rung.clone(),
            line.size.clone(),
            cell(line.old),
            cell(line.new),
            change.unwrap_or_default(),
            cell(line.change.map(|(_, tolerance)| tolerance)),
            line.verdict.words().into(),
        ]
    }));
    markdown_table(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::for_tests::{bench, right, with_samples, wrong};
    use serde_json::Value;

    fn record(sizes: Vec<Value>) -> Record {
        Record::new(vec![bench("06", sizes)]).expect("a record")
    }

    /// The verdict on a change from 100 us to this many microseconds, with cuBLAS at 100 us.
    fn verdict(old: Vec<f64>, new: Vec<f64>) -> Change {
        let of = |kernel: Vec<f64>| {
            let cublas = vec![100.0; kernel.len()];
            record(vec![with_samples("64x64x64", "", [kernel, cublas])])
        };
        lines(&of(old), &of(new))[0].verdict
    }

    #[test]
    fn a_change_counts_beyond_two_percent_and_beyond_the_spread() {
        let steady = |us: f64| vec![us; 11];
        assert_eq!(verdict(steady(100.0), steady(101.9)), Change::Same);
        assert_eq!(verdict(steady(100.0), steady(102.5)), Change::Slower);
        assert_eq!(verdict(steady(100.0), steady(97.5)), Change::Faster);
        // From 95 to 105: a spread of 5%.
        let spread: Vec<f64> = (0..11).map(|round| 95.0 + f64::from(round)).collect();
        assert_eq!(verdict(spread.clone(), steady(103.0)), Change::Same);
        assert_eq!(verdict(steady(103.0), spread.clone()), Change::Same);
        assert_eq!(verdict(spread, steady(110.0)), Change::Slower);
    }

    #[test]
    fn a_slower_card_is_not_a_slower_rung() {
        let old = record(vec![right("64x64x64", "", [100.0, 90.0])]);
        let new = record(vec![right("64x64x64", "", [200.0, 180.0])]);
        assert!(print(&old, &new).expect("comparable"));
    }

    #[test]
    fn every_verdict_has_a_line() {
        let old = record(vec![
            right("1x1x1", "", [100.0, 100.0]),
            right("2x2x2", "", [100.0, 100.0]),
            right("3x3x3", "", [100.0, 100.0]),
            wrong("4x4x4"),
            right("5x5x5", "", [100.0, 100.0]),
        ]);
        let new = record(vec![
            right("1x1x1", "", [100.0, 101.0]),
            right("2x2x2", "", [100.0, 90.0]),
            wrong("3x3x3"),
            right("4x4x4", "", [100.0, 100.0]),
            right("6x6x6", "", [100.0, 110.0]),
        ]);
        assert_eq!(
            table(&lines(&old, &new)),
            "| rung | size  | of cuBLAS before |    now | change | tolerance |      verdict |\n\
             | ---- | ----- | ---------------: | -----: | -----: | --------: | -----------: |\n\
             | 06   | 1x1x1 |           100.0% | 101.0% |  +1.0% |      2.0% |         same |\n\
             | 06   | 2x2x2 |           100.0% |  90.0% | -10.0% |      2.0% |       SLOWER |\n\
             | 06   | 3x3x3 |           100.0% |        |        |           |        WRONG |\n\
             | 06   | 4x4x4 |                  | 100.0% |        |           | not recorded |\n\
             | 06   | 6x6x6 |                  | 110.0% |        |           | not recorded |\n\
             | 06   | 5x5x5 |           100.0% |        |        |           |    not timed |\n"
        );
        assert!(!print(&old, &new).expect("comparable"));
    }

    #[test]
    fn records_without_anything_in_common_are_an_error() {
        let old = record(vec![right("1x1x1", "", [1.0, 1.0])]);
        let new = record(vec![right("2x2x2", "", [1.0, 1.0])]);
        let error = print(&old, &new).expect_err("nothing to compare");
        assert!(error.to_string().contains("in common"), "{error}");
    }
}
