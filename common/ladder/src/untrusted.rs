//! The code that parses files and words written by others, without the command around it: text in, and what would be
//! printed or written out. Fuzzers and tests call these functions; no text may make them panic.
use anyhow::Result;

pub use crate::emulate::untrusted as emulate;
use crate::record::Record;
pub use crate::tiles::table_of as tiles;
pub use explain::approximate::output_of as approximate;
pub use explain::banks::output_of as banks;
pub use explain::layout::output_of as layout;

/// `cargo ladder plot`: each file that is made from this `bench.json`, and its text.
///
/// # Errors
/// If the text is not the output of `cargo ladder bench`.
pub fn record(json: &str) -> Result<Vec<(&'static str, String)>> {
    Record::parse(json)?.derived()
}
