//! How fast a kernel is, and how fast it could be.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `bench` | the kernel and cuBLAS, interleaved in one process |
//! | `sustained`, `cool` | its two regimes: sample after sample, and with idle time in between, so that the clock stays high |
//! | `alone` | each contestant alone: its own clock, and its energy |
//! | `regime` | the measurements in one of them |
//! | `contest` | what do the samples say? |
//! | `occupancy` | what does a block need, and how many fit on an SM? |
//! | `ceilings`, `bound` | what limits a kernel, and how fast could it be at most? |
//! | `predict` | how long does it take, by the clock model? |
//! | `measured` | and on a GPU? |
//! | `records` | how long did cuBLAS take, and how accurate are predictions? |
//! | `provenance` | under which conditions were the numbers measured? |
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
