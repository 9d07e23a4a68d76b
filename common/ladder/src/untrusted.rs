//! What reads files and words that others have written, without the command around it: text in, and whatever would be
//! printed or written out. Fuzzers and tests call these; no text may make them panic.
use std::sync::LazyLock;

use anyhow::Result;

use crate::exam::{Question, questions};
use crate::grade::answers;
use crate::record::Record;
use crate::{banks, layout, tiles};

/// `cargo ladder banks`: the rows with their costs, then each access drawn in the banks.
///
/// # Errors
/// If it is no table of accesses. Bad rows are left away.
pub fn banks(csv: &str) -> Result<String> {
    banks::everything(csv)
}

/// `cargo ladder plot`: each file that is made from this `bench.json`, and its text.
///
/// # Errors
/// If it is not what `cargo ladder bench` writes.
pub fn record(json: &str) -> Result<Vec<(&'static str, String)>> {
    Record::parse(json)?.derived()
}

/// `cargo ladder tiles`: the table of a `tiles.csv`.
///
/// # Errors
/// If it is not what `cargo ladder tiles` writes.
pub fn tiles(csv: &str) -> Result<String> {
    tiles::table_of(csv.as_bytes())
}

/// `cargo ladder layout` and these words: the table as text, SVG and JSON.
///
/// # Errors
/// If there is no such table.
pub fn layout(words: &[&str]) -> Result<[String; 3]> {
    layout::everything(words)
}

/// `cargo ladder grade`: the points that answers to some exam have, of 100; none if the exam cannot be made.
pub fn answers(toml: &str) -> Option<f64> {
    static EXAM: LazyLock<Option<Vec<Question>>> = LazyLock::new(|| questions(1, 4).ok());
    let (tests, _) = answers::tests(EXAM.as_ref()?, toml, 100.0);
    Some(tests.iter().map(|test| test.points).sum())
}
