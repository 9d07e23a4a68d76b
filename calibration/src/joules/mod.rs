//! The energy of a FLOP of the tensor cores at the power limit, for several values of the operands: measured with a
//! kernel that does nothing but `wgmma`, which is beside this file, and with cuBLAS.
mod kernel;
mod measure;
mod record;

pub use measure::measure;
