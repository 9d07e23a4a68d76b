//! Which lines of an output are shown, out of a directive's options.
pub use transcript::Lines;

use super::options;

/// The options of these names.
pub const OPTIONS: [&str; 3] = ["from", "to", "line"];

/// Out of a directive's options.
pub fn read(options: &[(&str, &str)]) -> Lines {
    let value = |name| options::value(options, name).map(str::to_owned);
    Lines {
        from: value("from"),
        to: value("to"),
        line: value("line"),
    }
}
