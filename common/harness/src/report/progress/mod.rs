//! The progress of a run: a bar on a terminal, or a callback of a page.
#[cfg(target_family = "wasm")]
mod page;
#[cfg(not(target_family = "wasm"))]
mod terminal;

#[cfg(target_family = "wasm")]
pub use page::{Progress, listen};
#[cfg(not(target_family = "wasm"))]
pub use terminal::Progress;
