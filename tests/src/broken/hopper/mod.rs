//! Mistakes in rungs 09 to 17, on Hopper: mbarriers, transaction counts, proxies, `wgmma`, clusters, persistent CTAs.
mod multicast;
mod narrow_tiles;
mod persistent;
mod specialized;
mod store_behind;
mod stream_k;
mod tma;
mod wgmma;

use super::{BASE, Broken};

/// A tile is stored while the next is computed.
const STORE_BEHIND: Broken = Broken {
    rung: "14_store_behind",
    size: "256x1024x256",
    ..BASE
};

const STREAM_K: Broken = Broken {
    rung: "16_stream_k",
    arguments: &["--tile", "128x256"],
    ..BASE
};

/// Not a mistake: the kernel states a tile four times as wide, so that each CTA computes four tiles.
const FEW_BLOCKS: (&str, &str) = ("{BM, BN, BK, THREADS", "{BM, 4 * BN, BK, THREADS");

/// Not a mistake: two clusters, or three, for the five tiles of each of their CTAs, so that the remaining tiles are
/// split along K.
const TWO_CLUSTERS: (&str, &str) = ("{BM, BN, BK, THREADS", "{BM, 3 * BN, BK, THREADS");
const THREE_CLUSTERS: (&str, &str) = ("{BM, BN, BK, THREADS", "{BM, 2 * BN, BK, THREADS");

/// Correct: the fifth tile is computed in two pieces.
pub const A_TILE_IN_TWO_PIECES: Broken = Broken {
    name: "a_tile_in_two_pieces",
    size: "256x1280x2048",
    edits: &[TWO_CLUSTERS],
    ..STREAM_K
};

/// Correct: the last two tiles are computed by three clusters, one of which computes a piece of each.
pub const TWO_TILES_IN_FOUR_PIECES: Broken = Broken {
    name: "two_tiles_in_four_pieces",
    size: "256x1280x4096",
    edits: &[THREE_CLUSTERS],
    ..STREAM_K
};

/// Correct: each CTA computes several tiles.
pub const SEVERAL_TILES_A_BLOCK: Broken = Broken {
    name: "several_tiles_a_block",
    arguments: &[],
    edits: &[FEW_BLOCKS],
    ..STREAM_K
};

/// All of them.
pub const ALL: [&[Broken]; 8] = [
    tma::ALL,
    wgmma::ALL,
    specialized::ALL,
    multicast::ALL,
    persistent::ALL,
    store_behind::ALL,
    stream_k::ALL,
    narrow_tiles::ALL,
];
