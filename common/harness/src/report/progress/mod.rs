//! How far a run is: a bar on a terminal, or whatever a page makes of the numbers.
#[cfg(target_family = "wasm")]
mod page;
#[cfg(not(target_family = "wasm"))]
mod terminal;

#[cfg(target_family = "wasm")]
pub use page::{Progress, listen};
#[cfg(not(target_family = "wasm"))]
pub use terminal::Progress;
