//! What a FLOP of the tensor cores costs at the power limit, for several values of the operands: a kernel that does nothing
//! but `wgmma`, which is beside this file, and cuBLAS.
mod kernel;
mod measure;
mod record;

pub use measure::measure;
