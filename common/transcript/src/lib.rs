//! The output of a command, as README.md and the book show it: always on the emulator and with the committed PTX, so
//! that it is the same on every machine.
//!
//! [`CommandLine`] is a command as the reader types it, [`Programs`] finds its executable and runs it,
//! [`section`] extracts a table from a record, and [`Lines`] are the lines of an output that are shown.
mod command_line;
mod lines;
mod programs;
mod section;

pub use command_line::CommandLine;
pub use lines::{Lines, NoLines};
pub use programs::{Output, Programs};
pub use section::section;

/// Why a command could not be run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A command whose output may not be shown.
    #[error("`{0}` is neither `cargo run -p PACKAGE [-- …]` nor `cargo ladder …`")]
    NotOurs(String),
    /// An unclosed quotation mark.
    #[error("`{0}`: a quotation mark is not closed")]
    OpenQuote(String),
    /// Cargo could not build the packages.
    #[error("`cargo build --package {}` fails", .0.join(" --package "))]
    Build(Vec<String>),
    /// There is no such executable.
    #[error("{package} is missing; `cargo build --package {package}` builds it")]
    Missing {
        /// The executable's package.
        package: String,
    },
    /// The operating system could not run it.
    #[error("cannot run `{command}`: {source}")]
    Start {
        /// The command as the reader types it.
        command: String,
        /// The operating system's reason.
        source: std::io::Error,
    },
}
