//! Mistakes in rung 06 on Hopper: mbarriers, transaction counts, proxies, `wgmma`, clusters.
mod cluster;
mod consumer;
mod launch;
mod producer;
mod sharing;
mod store;
mod tiles;

use super::Broken;

/// Clusters of one block, with two consumers.
const HOPPER: Broken = Broken {
    rung: "06_pipeline",
    kernel: "kernel_hopper.cu",
    arguments: &["--arch", "sm_90a", "--tile", "128x128"],
    size: "128x128x64",
    ..super::BASE
};

/// Clusters of two blocks, and four stages, which are soon used again. A tile is stored while the next is computed.
const WIDE: &[&str] = &["--arch", "sm_90a", "--tile", "128x256"];

/// No mistake: the launch is told of a tile four times as wide, so that each block takes four tiles.
const FEW_BLOCKS: (&str, &str) = ("{BM, BN, BK, THREADS", "{BM, 4 * BN, BK, THREADS");

/// No mistake: two clusters, or three, for five tiles, so that what is left over is shared out.
const TWO_CLUSTERS: (&str, &str) = ("{BM, BN, BK, THREADS", "{BM, 3 * BN, BK, THREADS");
const THREE_CLUSTERS: (&str, &str) = ("{BM, BN, BK, THREADS", "{BM, 2 * BN, BK, THREADS");

/// Nothing wrong: the fifth tile is computed in two pieces.
pub const A_TILE_IN_TWO_PIECES: Broken = Broken {
    name: "a_tile_in_two_pieces",
    arguments: WIDE,
    size: "256x1280x2048",
    edits: &[TWO_CLUSTERS],
    ..HOPPER
};

/// Nothing wrong: the last two tiles are computed by three clusters, one of which takes a piece of each.
pub const TWO_TILES_IN_FOUR_PIECES: Broken = Broken {
    name: "two_tiles_in_four_pieces",
    arguments: WIDE,
    size: "256x1280x4096",
    edits: &[THREE_CLUSTERS],
    ..HOPPER
};

/// Nothing wrong, and each block takes several tiles.
pub const SEVERAL_TILES_A_BLOCK: Broken = Broken {
    name: "several_tiles_a_block",
    arguments: &["--arch", "sm_90a"],
    edits: &[FEW_BLOCKS],
    ..HOPPER
};

/// All of them.
pub const ALL: [&[Broken]; 7] = [
    producer::ALL,
    consumer::ALL,
    cluster::ALL,
    store::ALL,
    tiles::ALL,
    launch::ALL,
    sharing::ALL,
];
