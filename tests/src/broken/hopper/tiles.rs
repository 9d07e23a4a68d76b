//! Mistakes that need several tiles a block: a tile is stored while the next one is computed.
use super::{FEW_BLOCKS, HOPPER, WIDE};
use crate::broken::{Broken, Caught};

pub(super) const ALL: &[Broken] = &[
    Broken {
        name: "forgets_a_tile_if_there_is_but_one_step",
        arguments: WIDE,
        size: "256x1024x64",
        edits: &[
            (
                "(step > work.from || step + 1 == work.to)",
                "step > work.from",
            ),
            FEW_BLOCKS,
        ],
        caught: Caught::ValuesAtSize,
        ..HOPPER
    },
    Broken {
        name: "forgets_panels_if_there_are_few_steps",
        arguments: WIDE,
        size: "256x1024x192",
        edits: &[
            (
                "if (step + 1 < work.to)\n                        break;",
                "break;",
            ),
            FEW_BLOCKS,
        ],
        caught: Caught::ValuesAtSize,
        ..HOPPER
    },
    Broken {
        name: "stores_every_tile_where_the_first_lies",
        arguments: WIDE,
        size: "256x1024x256",
        edits: &[("            doneTile = tile;\n", ""), FEW_BLOCKS],
        caught: Caught::ValuesAtSize,
        ..HOPPER
    },
    Broken {
        name: "stores_the_tile_before_where_the_next_lies",
        arguments: WIDE,
        size: "256x1024x256",
        edits: &[
            (
                "store(C, doneTile.column + panel * PANEL, doneTile.row",
                "store(C, tile.column + panel * PANEL, tile.row",
            ),
            FEW_BLOCKS,
        ],
        caught: Caught::ValuesAtSize,
        ..HOPPER
    },
    Broken {
        name: "stores_but_the_last_tile",
        arguments: WIDE,
        size: "256x1024x256",
        edits: &[("            panel = 0;\n", ""), FEW_BLOCKS],
        caught: Caught::ValuesAtSize,
        ..HOPPER
    },
    Broken {
        name: "stores_panel_0_of_each_tile_only",
        arguments: WIDE,
        size: "256x1024x256",
        edits: &[("if (p == panel)", "if (p == 0)"), FEW_BLOCKS],
        caught: Caught::ValuesAtSize,
        ..HOPPER
    },
    Broken {
        name: "forgets_the_last_tile",
        arguments: WIDE,
        size: "256x1024x256",
        edits: &[
            (
                "        if (STORE_BEHIND && panel < PANELS)\n            store_all(&s.stage[0].A[consumer * PANEL_OF_C], sizeof(Stage) / 2);\n",
                "",
            ),
            FEW_BLOCKS,
        ],
        caught: Caught::ValuesAtSize,
        ..HOPPER
    },
    Broken {
        name: "stores_a_tile_before_there_is_one",
        arguments: WIDE,
        size: "512x1024x256",
        edits: &[("int panel = PANELS;", "int panel = 0;"), FEW_BLOCKS],
        caught: Caught::ValuesAtSize,
        ..HOPPER
    },
];
