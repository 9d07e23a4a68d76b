//! Where data lies in shared memory, and what follows from it: pure functions that predict, from a
//! layout's formula, what the memory system will do. Nothing here runs a kernel; the emulator measures,
//! and tests hold the two against each other.
//!
//! | question | where |
//! | --- | --- |
//! | which bank holds this byte, and who meets there? | [`banks`] |
//! | at which byte is element (row, column) of a tile? | [`tile`] |
pub mod banks;
pub mod tile;
