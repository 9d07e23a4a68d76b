//! The tables, ready to be shown.
mod axis;
mod bankmap;
mod descriptor;
mod fragment;
mod mapping;
mod swizzle;
mod tmem;
mod xor;

pub use axis::axis;
pub use bankmap::{bankmap, draw, phases};
pub use descriptor::{CanonicalSheetError, canonical, descriptor};
pub use fragment::fragment;
pub use mapping::mapping;
pub use swizzle::swizzle;
pub use tmem::{accumulator, scales};
pub use xor::{SquareError, swizzles, xor};
