//! Where data is stored, and what follows from it: pure functions that predict the behavior of the memory
//! system from the formula of a layout. Nothing here runs a kernel. The emulator measures, and tests compare
//! the two.
//!
//! | question | where |
//! | --- | --- |
//! | which bank holds this byte, and which lanes conflict? | [`banks`] |
//! | which sectors of global memory does a warp touch? | [`sectors`] |
//! | at which byte is element (row, column) of a tile? | [`tile`] |
//! | where does CuTe's `Swizzle<B, M, S>` map an address? | [`swizzle`] |
//! | is any other mapping, given as a formula or a table, bijective and free of conflicts? | [`mapping`], [`expression`] |
//! | which thread holds which element of a matrix? | [`fragment`] |
//! | the same in the axis notation, `S[…] + R[…]` | [`axis`] |
//! | what do the 64 bits of a `wgmma` descriptor encode, and where must the operand be stored? | [`descriptor`], [`canonical`] |
//! | where are accumulators and scale factors stored in Blackwell's Tensor Memory? | [`tmem`], [`scales`] |
//! | how is a table written as text, SVG or JSON? | [`show`] |
//! | what is in each table? | [`sheets`] |
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
