//! What reads files and words that others have written, without the command around it: text in, and whatever would be
//! printed or written out. Fuzzers and tests call these; no text may make them panic.
use anyhow::Result;

pub use crate::emulate::untrusted as emulate;
use crate::record::Record;
pub use crate::tiles::table_of as tiles;
pub use explain::approximate::everything as approximate;
pub use explain::banks::everything as banks;
pub use explain::layout::everything as layout;

/// `cargo ladder plot`: each file that is made from this `bench.json`, and its text.
///
/// # Errors
/// If it is not what `cargo ladder bench` writes.
pub fn record(json: &str) -> Result<Vec<(&'static str, String)>> {
    Record::parse(json)?.derived()
}
