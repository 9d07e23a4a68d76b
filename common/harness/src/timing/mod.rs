//! How fast a kernel is, and how fast it could be.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `bench` | the kernel and cuBLAS, interleaved in one process |
//! | `sustained`, `cool` | its two regimes: sample after sample, and with rests, so that the clock stays high |
//! | `alone` | each contestant by itself: its own clock, and its joules |
//! | `regime` | what was measured in one of them |
//! | `contest` | what do the samples say? |
//! | `occupancy` | what a block takes of an SM, and how many blocks fit |
//! | `ceilings`, `bound` | what limits a kernel, and how fast could it be at most? |
//! | `predict` | how long does it take by the clock of the emulator? |
//! | `measured` | and by a GPU's? |
//! | `records` | how long did cuBLAS take, and how far have predictions been off? |
//! | `provenance` | what do the numbers belong to? |
pub mod alone;
pub mod bench;
pub mod bound;
pub mod ceilings;
pub mod contest;
pub mod cool;
pub mod measured;
pub mod occupancy;
pub mod predict;
pub mod provenance;
pub mod records;
pub mod regime;
pub mod sustained;
