//! What single instructions, copies and launches take on a GPU, in clocks: what a model of time is made of.
//!
//! Each `.cu` file here holds kernels of one kind; `experiments.rs` lists what each is launched with. A kernel times its loop by
//! `clock64` and says how many operations it timed, so a row of the record is clocks for each operation.
mod experiments;
mod measure;

pub use measure::{csv, measure};
