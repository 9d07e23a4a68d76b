//! Selects lines of an output by a directive's options.
pub use transcript::Lines;

use super::options;

/// Parses these options.
pub const OPTIONS: [&str; 3] = ["from", "to", "line"];

/// Parses a directive's options.
pub fn read(options: &[(&str, &str)]) -> Lines {
    let value = |name| options::value(options, name).map(str::to_owned);
    Lines {
        from: value("from"),
        to: value("to"),
        line: value("line"),
    }
}
