//! What a command of ours prints, as README.md and the book show it: always on the emulator and with the committed
//! PTX, so that it is the same on every machine.
//!
//! [`CommandLine`] is a command as a reader types it, [`Programs`] finds its executable and runs it, and [`section`]
//! takes a table out of a record. [`Lines`]
//! are those of an output that are shown.
mod command_line;
mod lines;
mod programs;
mod section;

pub use command_line::CommandLine;
pub use lines::{Lines, NoLines};
pub use programs::{Output, Programs};
pub use section::section;

/// What can go wrong before a command has run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Not a command whose output may be shown.
    #[error("`{0}` is neither `cargo run -p PACKAGE [-- …]` nor `cargo ladder …`")]
    NotOurs(String),
    /// A quotation mark has no partner.
    #[error("`{0}`: a quotation mark is open")]
    OpenQuote(String),
    /// Cargo did not build what was wanted.
    #[error("`cargo build --package {}` fails", .0.join(" --package "))]
    Build(Vec<String>),
    /// There is no such executable.
    #[error("{package} is missing; `cargo build --package {package}` makes it")]
    Missing {
        /// The package that it belongs to.
        package: String,
    },
    /// The operating system did not run it.
    #[error("cannot run `{command}`: {source}")]
    Start {
        /// As the reader types it.
        command: String,
        /// The operating system's reason.
        source: std::io::Error,
    },
}
