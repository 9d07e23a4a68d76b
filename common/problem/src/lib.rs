//! Which matrices are multiplied, and is C right? The hot part of a run beside the emulator: like the emulator, it is
//! optimized in the dev profile, and it needs nothing of the harness.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `size` | what is M x N x K? |
//! | `matrices` | what do A and B hold, and how are they padded? |
//! | `values` | which kinds of numbers are there? |
//! | `reference` | what is C in f64, and how far may f16 be from it? |
//! | `verify` | which elements of C are wrong? |
//! | `parallel` | on how many threads? |
mod matrices;
pub mod parallel;
mod reference;
mod size;
mod values;
mod verify;

pub use matrices::{Problem, TooLarge, from_bytes, hex, pad, random_matrix, splitmix64, to_bytes};
pub use size::Size;
pub use values::{DISTINCT, Values, stale_values};
pub use verify::{Verification, Wrong, against_cublas, verify};

/// What one block computes: `bm` x `bn` elements of C, `bk` of K at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Rows of C.
    pub bm: u32,
    /// Columns of C.
    pub bn: u32,
    /// The tile's depth; K is rounded up to a multiple of it.
    pub bk: u32,
}
