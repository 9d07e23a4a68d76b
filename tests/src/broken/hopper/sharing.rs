//! Mistakes where the last tiles are computed in pieces.
use super::{HOPPER, THREE_CLUSTERS, TWO_CLUSTERS, WIDE};
use crate::broken::{Broken, Caught};

pub(super) const ALL: &[Broken] = &[
    Broken {
        name: "the_first_to_come_adds",
        arguments: WIDE,
        size: "256x1280x2048",
        edits: &[
            (
                "s.arrived[consumer] == last - first",
                "s.arrived[consumer] == 0",
            ),
            TWO_CLUSTERS,
        ],
        caught: Caught::ValuesAtSize,
        ..HOPPER
    },
    Broken {
        name: "adds_all_pieces_but_the_last",
        arguments: WIDE,
        size: "256x1280x2048",
        edits: &[("cluster <= last;", "cluster < last;"), TWO_CLUSTERS],
        caught: Caught::ValuesAtSize,
        ..HOPPER
    },
    Broken {
        name: "puts_all_pieces_in_one_place",
        arguments: WIDE,
        size: "256x1280x4096",
        edits: &[
            (
                "[(2 * cluster + (cluster == first)) * CLUSTER + block]",
                "[block]",
            ),
            THREE_CLUSTERS,
        ],
        caught: Caught::ValuesAtSize,
        ..HOPPER
    },
    Broken {
        name: "continues_the_sum_of_the_piece_before",
        arguments: WIDE,
        size: "256x1280x4096",
        edits: &[("step - work.from + k", "step + k"), THREE_CLUSTERS],
        caught: Caught::ValuesAtSize,
        ..HOPPER
    },
    Broken {
        name: "reads_who_came_last_before_it_is_written",
        arguments: WIDE,
        size: "256x1280x2048",
        edits: &[
            ("last - first);\n            sync();\n", "last - first);\n"),
            TWO_CLUSTERS,
        ],
        caught: Caught::Sanitizer {
            says: "Race reported between",
            at: "!add_up()",
        },
        ..HOPPER
    },
];
