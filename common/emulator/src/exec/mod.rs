//! Executes a lowered kernel: grid, clusters, blocks, warps.
mod access;
mod block;
mod cluster;
mod grid;
mod lanes;
mod machine;
mod step;
mod tally;
mod warp;

pub(crate) use grid::run;
