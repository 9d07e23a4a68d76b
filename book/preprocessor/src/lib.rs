//! The book's directives. A page contains `{{#run cargo run -p rung05_swizzle}}`, and its reader sees the output of
//! that command.
//!
//! | file | what it does |
//! | --- | --- |
//! | `page` | finds directives on a page and replaces them by their output |
//! | `sentence` | the same within a line, where a directive is part of a sentence |
//! | `directives/` | one directive per file |
//! | `world` | the inputs of directives: files of the repository, the record, outputs of commands |
//! | `cache` | outputs of commands, stored under target/ as long as nothing that they read changes |
//! | `book` | all pages, as mdBook passes them |
//! | `live` | the files that pages need to run a command themselves |
//! | `wasm` | the engine that runs it: `cargo book wasm` |
//! | `check/` | checks of the whole book: links, anchors, lengths |
//!
//! Whatever a directive names must exist. Otherwise the build fails with page and line.
mod book;
mod cache;
pub mod check;
pub mod directives;
pub mod fence;
mod live;
pub mod page;
mod sentence;
mod svg;
pub mod wasm;
pub mod world;

pub use book::Directives;
