//! Mistakes of persistent CTAs: the last stage of a tile, and panels of C that are stored through two buffers.
use super::FEW_BLOCKS;
use crate::broken::{BASE, Broken, Caught};

const PERSISTENT: Broken = Broken {
    rung: "13_persistent",
    size: "256x256x64",
    ..BASE
};

pub(super) const ALL: &[Broken] = &[
    Broken {
        name: "releases_the_last_stage_twice",
        size: "256x512x256",
        edits: &[
            (
                "            mbarrier_arrive(&s.empty[previous], thread);\n\n",
                "            mbarrier_arrive(&s.empty[previous], thread);\n        if (thread < CLUSTER)\n            mbarrier_arrive(&s.empty[previous], thread);\n\n",
            ),
            FEW_BLOCKS,
        ],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "wgmma(acc, a + ",
        },
        ..PERSISTENT
    },
    Broken {
        name: "never_releases_the_last_stage",
        edits: &[(
            "        wgmma_wait<0>();\n        if (thread < CLUSTER)\n            mbarrier_arrive(&s.empty[previous], thread);\n",
            "        wgmma_wait<0>();\n",
        )],
        caught: Caught::Sanitizer {
            says: "Deadlock: no thread can go on",
            at: "mbarrier_wait(&s.empty[stage], phase ^ 1)",
        },
        ..PERSISTENT
    },
    Broken {
        name: "no_proxy_fence_before_a_panel_is_stored",
        edits: &[("            fence_proxy_async();\n", "")],
        caught: Caught::Sanitizer {
            says: "Missing fence.proxy.async before an asynchronous read",
            at: "tma_store(C, tile.column",
        },
        ..PERSISTENT
    },
    Broken {
        name: "always_the_same_buffer",
        edits: &[("s.C[consumer][panel % 2]", "s.C[consumer][0]")],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "*(unsigned*)&Cs[",
        },
        ..PERSISTENT
    },
    Broken {
        name: "does_not_wait_for_the_store",
        edits: &[(
            "            if (thread == 0)\n                tma_store_wait<1>();\n",
            "",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "*(unsigned*)&Cs[",
        },
        ..PERSISTENT
    },
    Broken {
        name: "waits_for_one_store_too_few",
        edits: &[("tma_store_wait<1>", "tma_store_wait<2>")],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "*(unsigned*)&Cs[",
        },
        ..PERSISTENT
    },
    Broken {
        name: "waits_in_a_thread_that_stores_nothing",
        edits: &[(
            "            if (thread == 0)\n                tma_store_wait<1>();\n",
            "            if (thread == 32)\n                tma_store_wait<1>();\n",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "*(unsigned*)&Cs[",
        },
        ..PERSISTENT
    },
    Broken {
        name: "nobody_waits_for_the_thread_that_waits",
        edits: &[(
            "                tma_store_wait<1>();\n            named_barrier(warpgroup, 128);\n",
            "                tma_store_wait<1>();\n",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "*(unsigned*)&Cs[",
        },
        ..PERSISTENT
    },
    Broken {
        name: "stores_a_panel_before_all_have_written",
        edits: &[(
            "            fence_proxy_async();\n            named_barrier(warpgroup, 128);\n",
            "            fence_proxy_async();\n",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Write access",
            at: "tma_store(C, tile.column",
        },
        ..PERSISTENT
    },
    Broken {
        name: "both_consumers_at_one_barrier",
        edits: &[(
            "            fence_proxy_async();\n            named_barrier(warpgroup, 128);\n",
            "            fence_proxy_async();\n            named_barrier(1, 128);\n",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Write access",
            at: "tma_store(C, tile.column",
        },
        ..PERSISTENT
    },
    Broken {
        name: "consumers_wait_for_twice_their_number",
        edits: &[(
            "named_barrier(warpgroup, 128)",
            "named_barrier(warpgroup, 256)",
        )],
        caught: Caught::Sanitizer {
            says: "128 of 256 threads have arrived",
            at: "named_barrier(warpgroup, 256)",
        },
        ..PERSISTENT
    },
];
