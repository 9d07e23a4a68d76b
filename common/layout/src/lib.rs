//! Where data lies, and what follows from it: pure functions that predict, from a layout's formula, what
//! the memory system will do. Nothing here runs a kernel; the emulator measures, and tests hold the two
//! against each other.
//!
//! | question | where |
//! | --- | --- |
//! | which bank holds this byte, and who meets there? | [`banks`] |
//! | which sectors of global memory does a warp touch? | [`sectors`] |
//! | at which byte is element (row, column) of a tile? | [`tile`] |
//! | where does CuTe's `Swizzle<B, M, S>` put an address? | [`swizzle`] |
//! | what is any other mapping worth, a formula's or a table's? | [`mapping`], [`expression`] |
//! | which thread holds which element of a matrix? | [`fragment`] |
//! | the same in the axis notation, `S[…] + R[…]` | [`axis`] |
//! | what do the 64 bits of a `wgmma` descriptor say, and where must the operand lie? | [`descriptor`], [`canonical`] |
//! | where do accumulators and scale factors lie in Blackwell's Tensor Memory? | [`tmem`], [`scales`] |
//! | how does a table look as text, SVG or JSON? | [`show`] |
//! | each table itself | [`sheets`] |
pub mod axis;
pub mod banks;
pub mod canonical;
mod cursor;
pub mod descriptor;
pub mod expression;
pub mod fragment;
pub mod mapping;
pub mod scales;
pub mod sectors;
pub mod sheets;
pub mod show;
pub mod swizzle;
pub mod tile;
pub mod tmem;
