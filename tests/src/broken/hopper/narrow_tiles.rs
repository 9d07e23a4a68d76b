//! Mistakes in tiles that are narrower than others.
use super::STREAM_K;
use crate::broken::{Broken, Caught};

const NARROW_TILES: Broken = Broken {
    rung: "17_narrow_tiles",
    // 72 tiles for 66 clusters, in eight rows: the last wave gets eight more, which are narrow like all of their columns.
    size: "2048x2304x128",
    caught: Caught::ValuesAtSize,
    ..STREAM_K
};

pub(super) const ALL: &[Broken] = &[
    Broken {
        name: "stores_a_narrow_tile_as_a_wide_one",
        edits: &[("back = narrow ? BN - NARROW : 0", "back = 0")],
        ..NARROW_TILES
    },
    Broken {
        name: "stores_the_last_panel_of_a_narrow_tile_too_far_right",
        edits: &[("- (panel == PANELS - 1 ? back : 0)", "")],
        ..NARROW_TILES
    },
    Broken {
        name: "puts_narrow_tiles_as_far_apart_as_wide_ones",
        edits: &[("columns = narrow, width = NARROW", "columns = narrow")],
        ..NARROW_TILES
    },
];
