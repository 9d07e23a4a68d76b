//! The tables, ready to be shown.
mod bankmap;
mod mapping;
mod swizzle;

pub use bankmap::{bankmap, draw, phases};
pub use mapping::mapping;
pub use swizzle::swizzle;
