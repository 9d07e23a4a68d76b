//! Mistakes in storing a tile while the next one is computed, and in storing the last tile.
use super::{FEW_BLOCKS, STORE_BEHIND};
use crate::broken::{Broken, Caught};

pub(super) const ALL: &[Broken] = &[
    Broken {
        name: "forgets_a_tile_if_there_is_but_one_step",
        size: "256x1024x64",
        edits: &[("(k0 > 0 || k0 + BK >= K)", "k0 > 0"), FEW_BLOCKS],
        caught: Caught::ValuesAtSize,
        ..STORE_BEHIND
    },
    Broken {
        name: "forgets_panels_if_there_are_few_steps",
        size: "256x1024x192",
        edits: &[
            ("if (k0 + BK < K)\n                    break;", "break;"),
            FEW_BLOCKS,
        ],
        caught: Caught::ValuesAtSize,
        ..STORE_BEHIND
    },
    Broken {
        name: "stores_every_tile_where_the_first_lies",
        edits: &[("        doneTile = tile;\n", ""), FEW_BLOCKS],
        caught: Caught::ValuesAtSize,
        ..STORE_BEHIND
    },
    Broken {
        name: "stores_the_tile_before_where_the_next_lies",
        edits: &[
            (
                "tma_store(C, doneTile.column + panel * PANEL, doneTile.row",
                "tma_store(C, tile.column + panel * PANEL, tile.row",
            ),
            FEW_BLOCKS,
        ],
        caught: Caught::ValuesAtSize,
        ..STORE_BEHIND
    },
    Broken {
        name: "stores_but_the_last_tile",
        edits: &[("        panel = 0;\n", ""), FEW_BLOCKS],
        caught: Caught::ValuesAtSize,
        ..STORE_BEHIND
    },
    Broken {
        name: "stores_panel_0_of_each_tile_only",
        edits: &[("if (p == panel)", "if (p == 0)"), FEW_BLOCKS],
        caught: Caught::ValuesAtSize,
        ..STORE_BEHIND
    },
    Broken {
        name: "forgets_the_last_tile",
        edits: &[
            (
                "    if (STORE_BEHIND && panel < PANELS)\n        store_tile(&s.stage[0].A[consumer * WM * BK], sizeof(Stage) / 2);\n",
                "",
            ),
            FEW_BLOCKS,
        ],
        caught: Caught::ValuesAtSize,
        ..STORE_BEHIND
    },
    Broken {
        name: "stores_a_tile_before_there_is_one",
        size: "512x1024x256",
        edits: &[("int panel = PANELS;", "int panel = 0;"), FEW_BLOCKS],
        caught: Caught::ValuesAtSize,
        ..STORE_BEHIND
    },
    Broken {
        name: "puts_a_panel_before_the_barrier",
        edits: &[
            (
                "                __syncwarp();\n                #pragma unroll\n                for (int p = 0; p < PANELS; ++p)\n                    if (p == panel)\n                        store_panel(p, Cs);\n",
                "                #pragma unroll\n                for (int p = 0; p < PANELS; ++p)\n                    if (p == panel)\n                        store_panel(p, Cs);\n                __syncwarp();\n",
            ),
            FEW_BLOCKS,
        ],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "stmatrix(&Cs[",
        },
        ..STORE_BEHIND
    },
    Broken {
        name: "puts_the_last_tile_where_wgmma_still_reads",
        size: "256x256x512",
        edits: &[("        wgmma_wait<0>();\n", "")],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "stmatrix(&Cs[",
        },
        ..STORE_BEHIND
    },
    Broken {
        name: "last_tile_by_way_of_the_other_consumers_rows",
        size: "256x256x512",
        edits: &[(
            "store_tile(&s.stage[0].A[consumer * WM",
            "store_tile(&s.stage[0].A[(1 - consumer) * WM",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "stmatrix(&Cs[",
        },
        ..STORE_BEHIND
    },
    Broken {
        name: "last_tile_by_way_of_b_that_both_consumers_read",
        size: "256x256x512",
        edits: &[(
            "store_tile(&s.stage[0].A[consumer * WM * BK]",
            "store_tile(s.stage[0].B[consumer]",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "stmatrix(&Cs[",
        },
        ..STORE_BEHIND
    },
    Broken {
        name: "last_tile_by_way_of_two_buffers",
        size: "256x256x64",
        edits: &[(
            "store_tile(&s.stage[0].A[consumer * WM * BK], sizeof(Stage) / 2);",
            "store_tile(s.C[consumer][0], WM * PANEL);",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Write access",
            at: "stmatrix(&Cs[",
        },
        ..STORE_BEHIND
    },
    Broken {
        name: "exits_before_the_last_tile_has_been_read",
        size: "256x256x64",
        edits: &[(
            "    if (lane == 0)\n        tma_store_wait<0>();\n}",
            "    if (lane == 0)\n        tma_store_wait<PANELS>();\n}",
        )],
        caught: Caught::Sanitizer {
            says: "Unfinished bulk copy",
            at: "tma_store(C, doneTile.column",
        },
        ..STORE_BEHIND
    },
];
