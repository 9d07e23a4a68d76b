//! The peak rate of each resource of a GPU per clock, measured by a kernel for each, which is beside this file.
mod measure;
mod record;

pub use measure::{Measured, measure};
