//! Mistakes in rungs 09 to 16 and in the lab on multicast, on Hopper: mbarriers, transaction counts, proxies, `wgmma`, tile
//! after tile, clusters.
mod multicast;
mod persistent;
mod specialized;
mod store_behind;
mod stream_k;
mod tma;
mod wgmma;
mod wide_tile;

use super::{BASE, Broken};

/// Two consumers, and four stages, which are soon used again.
const WIDE_TILE: Broken = Broken {
    rung: "12_wide_tile",
    size: "128x256x64",
    ..BASE
};

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

/// Not a mistake: the host is told of a tile four times as wide, so that each block takes four tiles.
const FEW_BLOCKS: (&str, &str) = ("{BM, BN, BK, THREADS", "{BM, 4 * BN, BK, THREADS");

/// Not a mistake: two blocks, or three, for five tiles, so that the rest is split along K.
const TWO_BLOCKS: (&str, &str) = ("{BM, BN, BK, THREADS", "{BM, 3 * BN, BK, THREADS");
const THREE_BLOCKS: (&str, &str) = ("{BM, BN, BK, THREADS", "{BM, 2 * BN, BK, THREADS");

/// Nothing wrong: the fifth tile is computed in two pieces.
pub const A_TILE_IN_TWO_PIECES: Broken = Broken {
    name: "a_tile_in_two_pieces",
    size: "128x1280x2048",
    edits: &[TWO_BLOCKS],
    ..STREAM_K
};

/// Nothing wrong: the last two tiles are computed by three blocks, one of which takes a piece of each.
pub const TWO_TILES_IN_FOUR_PIECES: Broken = Broken {
    name: "two_tiles_in_four_pieces",
    size: "128x1280x4096",
    edits: &[THREE_BLOCKS],
    ..STREAM_K
};

/// Nothing wrong, and each block takes several tiles.
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
    wide_tile::ALL,
    persistent::ALL,
    multicast::ALL,
    store_behind::ALL,
    stream_k::ALL,
];
