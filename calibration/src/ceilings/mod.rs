//! What each resource of a GPU can do in a clock: measured by a kernel for each, which is beside this file.
mod measure;
mod record;

pub use measure::{Measured, measure};
