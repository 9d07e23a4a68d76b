//! Mistakes in stream-K, and those of a small tile or of three consumers.
use super::{FEW_BLOCKS, STREAM_K, THREE_CLUSTERS, TWO_CLUSTERS};
use crate::broken::{Broken, Caught};

pub(super) const ALL: &[Broken] = &[
    Broken {
        name: "adds_before_all_pieces_have_arrived",
        size: "256x1280x2048",
        edits: &[
            (
                "while (__any_sync(~0u, *(volatile unsigned*)&arrived < pieces)) {}",
                "",
            ),
            TWO_CLUSTERS,
        ],
        caught: Caught::ValuesAtSize,
        ..STREAM_K
    },
    Broken {
        name: "adds_all_pieces_but_the_last",
        size: "256x1280x2048",
        edits: &[
            ("of < first + pieces;", "of < first + pieces - 1;"),
            TWO_CLUSTERS,
        ],
        caught: Caught::ValuesAtSize,
        ..STREAM_K
    },
    Broken {
        name: "puts_all_pieces_in_one_place",
        size: "256x1280x4096",
        edits: &[
            (
                "partial[(2 * of + (of == first)) * CLUSTER + rank]",
                "partial[rank]",
            ),
            THREE_CLUSTERS,
        ],
        caught: Caught::ValuesAtSize,
        ..STREAM_K
    },
    Broken {
        name: "continues_the_sum_of_the_piece_before",
        size: "256x1280x4096",
        edits: &[
            ("previous >= 0 || k > 0)", "step > 0 || k > 0)"),
            THREE_CLUSTERS,
        ],
        caught: Caught::ValuesAtSize,
        ..STREAM_K
    },
    Broken {
        name: "announces_a_piece_without_a_fence",
        size: "256x1280x2048",
        edits: &[
            ("__threadfence();\n        __syncwarp();", "__syncwarp();"),
            TWO_CLUSTERS,
        ],
        caught: Caught::Sanitizer {
            says: "Race reported between Write access",
            at: "sum[i] += sums",
        },
        ..STREAM_K
    },
    Broken {
        name: "adds_up_without_a_fence",
        size: "256x1280x2048",
        edits: &[
            ("< pieces)) {}\n        __threadfence();", "< pieces)) {}"),
            TWO_CLUSTERS,
        ],
        caught: Caught::Sanitizer {
            says: "Race reported between",
            at: "sum[i] += sums",
        },
        ..STREAM_K
    },
    Broken {
        name: "does_not_reset_the_count",
        size: "256x1280x2048",
        edits: &[
            (
                "atomicInc(&arrived, pieces + adders - 1)",
                "atomicInc(&arrived, pieces + adders)",
            ),
            TWO_CLUSTERS,
        ],
        caught: Caught::Sanitizer {
            says: "State left for the next launch: arrivals_at",
            at: "gemm(const __grid_constant__",
        },
        ..STREAM_K
    },
    Broken {
        name: "gives_panels_to_clusters_that_do_not_add_up",
        size: "256x1280x4096",
        edits: &[
            ("* PANELS + p) % adders", "* PANELS + p) % pieces"),
            THREE_CLUSTERS,
        ],
        caught: Caught::ValuesAtSize,
        ..STREAM_K
    },
    Broken {
        name: "writes_where_a_tile_begins_before_the_last_is_read",
        size: "256x1024x512",
        edits: &[
            (
                "                mbarrier_wait(&s.read[piece % 2], piece / 2 % 2 ^ 1);\n",
                "",
            ),
            FEW_BLOCKS,
        ],
        caught: Caught::Sanitizer {
            says: "Race reported between",
            at: "s.tile[piece % 2] = tile",
        },
        ..STREAM_K
    },
    Broken {
        name: "arrives_before_it_has_read_where_a_tile_begins",
        size: "256x1024x512",
        edits: &[
            (
                "            doneTile = s.tile[piece % 2];\n            mbarrier_arrive(&s.read[piece % 2]);\n",
                "            mbarrier_arrive(&s.read[piece % 2]);\n            doneTile = s.tile[piece % 2];\n",
            ),
            FEW_BLOCKS,
        ],
        caught: Caught::Sanitizer {
            says: "Race reported between",
            at: "s.tile[piece % 2] = tile",
        },
        ..STREAM_K
    },
    Broken {
        name: "says_the_tile_after_the_stage",
        size: "256x1024x512",
        edits: &[
            (
                "                s.tile[piece % 2] = tile;              // visible to the consumers that wait for the first stage\n",
                "",
            ),
            (
                "                    advance();\n                }\n            }\n",
                "                    advance();\n                }\n                s.tile[piece % 2] = tile;\n            }\n",
            ),
            FEW_BLOCKS,
        ],
        caught: Caught::Sanitizer {
            says: "Race reported between",
            at: "doneTile = s.tile[piece % 2]",
        },
        ..STREAM_K
    },
    Broken {
        name: "copies_a_panel_to_the_buffer_that_tma_reads",
        size: "256x1024x512",
        edits: &[("tma_store_wait<1>();", "tma_store_wait<2>();"), FEW_BLOCKS],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "stmatrix(&Cs[row * PANEL",
        },
        ..STREAM_K
    },
    Broken {
        name: "puts_a_small_tile_where_the_last_is_still_read",
        arguments: &["--tile", "128x128"],
        size: "256x1024x64",
        edits: &[
            (
                "tma_store_wait<0>();\n        named_barrier",
                "tma_store_wait<1>();\n        named_barrier",
            ),
            FEW_BLOCKS,
        ],
        caught: Caught::Sanitizer {
            says: "Race reported between Write access",
            at: "stmatrix(&Cs[row * PANEL",
        },
        ..STREAM_K
    },
    Broken {
        name: "puts_a_small_tile_before_the_barrier",
        arguments: &["--tile", "128x128"],
        size: "256x1024x64",
        edits: &[
            (
                "tma_store_wait<0>();\n        named_barrier(warpgroup, 128);",
                "tma_store_wait<0>();\n",
            ),
            FEW_BLOCKS,
        ],
        caught: Caught::Sanitizer {
            says: "Race reported between Write access",
            at: "store_tile(s.C[consumer][0], WM * PANEL)",
        },
        ..STREAM_K
    },
    Broken {
        name: "producer_keeps_more_than_three_consumers_leave",
        arguments: &["--tile", "192x128"],
        size: "128x128x64",
        edits: &[("setmaxnreg_dec<32>", "setmaxnreg_dec<40>")],
        caught: Caught::Sanitizer {
            says: "waits for registers",
            at: "setmaxnreg_inc",
        },
        ..STREAM_K
    },
];
