//! Executes a lowered kernel: grid, clusters, blocks, warps.
#![expect(
    clippy::needless_range_loop,
    reason = "loops over the 32 lanes become vector instructions when they index arrays"
)]

mod block;
mod bulk;
mod call;
mod cluster;
mod cluster_barrier;
mod convert;
mod cross_check;
mod deadlock;
mod execute;
mod execute_cold;
mod expiries;
mod factors;
mod global_check;
mod global_pattern;
mod grid;
mod inspect;
mod lane_access;
mod lanes;
mod load;
mod lookahead;
mod machine;
mod matrix;
mod mbarrier;
mod mma;
mod more_launches;
mod never_executed;
mod occupancy;
mod polling;
mod profiler;
mod race_check;
mod setmaxnreg;
mod step;
mod system_call;
mod undefined;
mod validate_launch;
mod waits;
mod warp;
mod warp_access;
mod warp_sync;
mod warpgroup;
mod wgmma;

pub(crate) use global_check::PreviousGrid;
pub(crate) use grid::{Request, run};
pub use mbarrier::MbarrierModel;
