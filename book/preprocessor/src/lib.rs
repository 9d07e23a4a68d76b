//! The book's directives. A page says `{{#run cargo run -p rung05_swizzle}}`, and its reader sees what that prints.
//!
//! | file | what it does |
//! | --- | --- |
//! | `page` | finds directives on a page and puts in their place what they show |
//! | `sentence` | the same within a line, where a directive is part of a sentence |
//! | `directives/` | a directive a file |
//! | `world` | what directives look at: the files of the repository, the record, what commands printed |
//! | `cache` | what commands printed, kept under target/ for as long as nothing that they read changes |
//! | `book` | all pages, as mdBook hands them over |
//! | `live` | what pages need to run a command themselves |
//! | `wasm` | the engine that they run it with: `cargo book wasm` |
//! | `check/` | what tests ask of the whole book: links, anchors, lengths |
//!
//! Whatever a directive names has to be there. Else the build fails, with page and line.
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
