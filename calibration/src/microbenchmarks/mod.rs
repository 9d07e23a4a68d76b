//! The clocks of single instructions, copies and launches on a GPU: the constants of the clock model.
//!
//! Each `.cu` file here holds kernels of one kind; `experiments.rs` lists the launches of each. A kernel times its
//! loop by `clock64` and reports how many operations it timed, so a row of the record is clocks per operation.
mod experiments;
mod measure;

pub use measure::{csv, measure};
