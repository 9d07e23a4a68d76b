//! Executes a lowered kernel: grid, clusters, blocks, warps.
#![expect(
    clippy::needless_range_loop,
    reason = "loops over the 32 lanes become vector instructions when they index arrays"
)]

mod access;
mod block;
mod bulk;
mod check;
mod checked;
mod cluster;
mod cluster_barrier;
mod convert;
mod deadlock;
mod execute;
mod grid;
mod lanes;
mod load;
mod machine;
mod matrix;
mod mbarrier;
mod meet;
mod sanitize;
mod seldom;
mod setmaxnreg;
mod step;
mod tally;
mod waits;
mod warp;
mod warpgroup;
mod wgmma;

pub(crate) use grid::run;
