//! The version number of each JSON document, in its field `schema`. It is raised when a field is renamed or removed, or its
//! meaning or unit changes, but not when a field is added. A document without the field is older than the field: its number
//! is 1.
use serde::Serialize;

use crate::terminal::steers;

/// A kind of JSON document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schema {
    /// What prints or writes it.
    pub of: &'static str,
    /// Its number.
    pub number: u32,
}

/// All of them, each with a name.
macro_rules! schemas {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $of:literal;)*) => {
        $($(#[$doc])* pub const $name: Schema = Schema { of: $of, number: $number };)*

        /// Every kind, in the order of the documentation.
        pub const ALL: &[Schema] = &[$($name),*];
    };
}

schemas! {
    /// One run of a rung.
    RUN = 1, "`cargo run -p rungNN_name -- --json`";
    /// A rung's timings at several sizes.
    BENCH = 1, "`cargo run -p rungNN_name -- bench --json`; an element of `bench.json`";
    /// Which tile a rung takes at which size.
    TILES = 1, "`cargo run -p rungNN_name -- tiles --json`";
    /// A prediction of the clock.
    TIME = 1, "`time --json`; `cargo ladder emulate --time --json`";
    /// A predicted timeline.
    TIMELINE = 1, "`time --timeline FILE.json`";
    /// A launch of any kernel.
    EMULATE = 1, "`cargo ladder emulate --json`";
    /// A launch of a program on the driver API, a line each.
    DRIVER = 1, "`GEMM_EMULATE_FORMAT=json`; `cargo ladder run-on-emulator --format json`";
    /// A picture of a layout as a table.
    LAYOUT = 1, "`cargo ladder layout --format json`; `cargo ladder banks --format json`";
    /// An approximate instruction, step by step.
    APPROXIMATE = 1, "`cargo ladder approximate --json`";
    /// The errors of an approximate instruction over an interval.
    APPROXIMATE_ERRORS = 1, "`cargo ladder approximate --errors --json`";
    /// A recorded clock log.
    CLOCKS = 1, "`cargo ladder clocks NN --recorded DIR --format json`";
    /// Ceilings of a card.
    CEILINGS = 1, "`ceilings.json`";
    /// What recordings of instructions belong to.
    PROVENANCE = 1, "`provenance_instructions.json` and its like in `calibration/`";
    /// The experiments of the book, and the launches of one.
    LABS = 1, "`cargo run -p labs -- --json`";
    /// Timings of an experiment.
    LABS_TIME = 1, "`cargo run -p labs -- LAB time --json`";
}

/// A document: the number first, then the fields.
#[derive(Serialize)]
struct Document<'a, T> {
    schema: u32,
    #[serde(flatten)]
    of: &'a T,
}

impl Schema {
    /// An object of this kind, indented.
    pub fn pretty(self, object: &impl Serialize) -> String {
        // Serializing plain structs cannot fail: no map with keys other than strings.
        escaped(&serde_json::to_string_pretty(&self.document(object)).unwrap_or_default()) + "\n"
    }

    fn document<T>(self, of: &T) -> Document<'_, T> {
        let schema = self.number;
        Document { schema, of }
    }
}

/// JSON in which characters that could control the terminal, which occur only in strings, are escaped.
fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match steers(c) {
            true => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out += &format!("\\u{unit:04x}");
                }
            }
            false => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_comes_before_the_fields() {
        #[derive(Serialize)]
        struct Fields {
            z: u8,
            a: f64,
        }
        let text = RUN.pretty(&Fields { z: 1, a: 0.5 });
        assert_eq!(text, "{\n  \"schema\": 1,\n  \"z\": 1,\n  \"a\": 0.5\n}\n");
    }

    #[test]
    fn a_document_on_the_terminal_is_exact() {
        #[derive(Serialize)]
        struct Fields {
            a: &'static str,
        }
        let a = "\u{1b}[2J\u{7f}\u{9b}\u{202e}\u{200b}\u{e0020}\t\u{e9}";
        let text = RUN.pretty(&Fields { a });
        assert_eq!(crate::terminal::styled(&text), text);
        let read: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(read["a"], a);
    }
}
