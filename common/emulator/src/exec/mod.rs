//! Executes a lowered kernel: grid, clusters, blocks, warps.
mod access;
mod block;
mod check;
mod cluster;
mod grid;
mod lanes;
mod machine;
mod meet;
mod step;
mod tally;
mod warp;

pub(crate) use grid::run;
