//! What reads files and words that others have written, without the command around it: text in, and whatever would be
//! printed or written out. Fuzzers and tests call these; no text may make them panic.
use anyhow::Result;

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
