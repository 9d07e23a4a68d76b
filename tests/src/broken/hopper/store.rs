//! Mistakes on the way of a tile to C: proxies, buffers used again, barriers of the consumers.
use super::{FEW_BLOCKS, HOPPER, WIDE};
use crate::broken::{Broken, Caught};

pub(super) const ALL: &[Broken] = &[
    Broken {
        name: "puts_the_last_tile_where_wgmma_still_reads",
        arguments: WIDE,
        size: "128x256x512",
        edits: &[(
            "            asm volatile(\"wgmma.wait_group.sync.aligned 0;\" ::: \"memory\");\n",
            "",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "store_panel(p, Cs + p * apart)",
        },
        ..HOPPER
    },
    Broken {
        name: "no_proxy_fence_before_the_store",
        edits: &[(
            "            asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");       // to TMA, what all threads have put\n",
            "",
        )],
        caught: Caught::Sanitizer {
            says: "Missing fence.proxy.async before an asynchronous read",
            at: "store_panel(p, Cs + p * apart)",
        },
        ..HOPPER
    },
    Broken {
        name: "no_proxy_fence_before_a_panel_is_stored",
        arguments: WIDE,
        size: "256x1024x256",
        edits: &[
            (
                "            asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");       // to TMA, what all threads have put\n",
                "",
            ),
            FEW_BLOCKS,
        ],
        caught: Caught::Sanitizer {
            says: "Missing fence.proxy.async before an asynchronous read",
            at: "store(C, doneTile.column",
        },
        ..HOPPER
    },
    Broken {
        name: "only_the_thread_that_stores_fences",
        edits: &[(
            "asm volatile(\"fence.proxy.async.shared::cta",
            "if (thread == 0) asm volatile(\"fence.proxy.async.shared::cta",
        )],
        caught: Caught::Sanitizer {
            says: "Missing fence.proxy.async before an asynchronous read",
            at: "store_panel(p, Cs + p * apart)",
        },
        ..HOPPER
    },
    Broken {
        name: "always_the_same_buffer",
        arguments: WIDE,
        size: "256x1024x192",
        edits: &[("s.C[consumer][panel % 2]", "s.C[consumer][0]"), FEW_BLOCKS],
        caught: Caught::Sanitizer {
            says: "and Asynchronous Read access",
            at: "store_panel(p, Cs)",
        },
        ..HOPPER
    },
    Broken {
        name: "does_not_wait_for_the_store",
        arguments: WIDE,
        size: "256x1024x256",
        edits: &[
            (
                "                    if (thread == 0)\n                        wait_stored<1>();\n",
                "",
            ),
            FEW_BLOCKS,
        ],
        caught: Caught::Sanitizer {
            says: "and Asynchronous Read access",
            at: "store_panel(p, Cs)",
        },
        ..HOPPER
    },
    Broken {
        name: "waits_for_one_store_too_few",
        arguments: WIDE,
        size: "256x1024x256",
        edits: &[("wait_stored<1>", "wait_stored<2>"), FEW_BLOCKS],
        caught: Caught::Sanitizer {
            says: "and Asynchronous Read access",
            at: "store_panel(p, Cs)",
        },
        ..HOPPER
    },
    Broken {
        name: "waits_in_a_thread_that_stores_nothing",
        arguments: WIDE,
        size: "256x1024x256",
        edits: &[
            (
                "if (thread == 0)\n                        wait_stored<1>();",
                "if (thread == 32)\n                        wait_stored<1>();",
            ),
            FEW_BLOCKS,
        ],
        caught: Caught::Sanitizer {
            says: "Race reported between Write access",
            at: "store_panel(p, Cs)",
        },
        ..HOPPER
    },
    Broken {
        name: "nobody_waits_for_the_thread_that_waits",
        arguments: WIDE,
        size: "256x1024x256",
        edits: &[
            (
                "wait_stored<1>();\n                    sync();\n",
                "wait_stored<1>();\n",
            ),
            FEW_BLOCKS,
        ],
        caught: Caught::Sanitizer {
            says: "Race reported between Write access",
            at: "store_panel(p, Cs)",
        },
        ..HOPPER
    },
    Broken {
        name: "puts_a_panel_before_the_barrier",
        arguments: WIDE,
        size: "256x1024x256",
        edits: &[
            (
                "                    sync();\n                    #pragma unroll\n                    for (int p = 0; p < PANELS; ++p)\n                        if (p == panel)\n                            store_panel(p, Cs);\n",
                "                    #pragma unroll\n                    for (int p = 0; p < PANELS; ++p)\n                        if (p == panel)\n                            store_panel(p, Cs);\n                    sync();\n",
            ),
            FEW_BLOCKS,
        ],
        caught: Caught::Sanitizer {
            says: "Race reported between Write access",
            at: "store_panel(p, Cs)",
        },
        ..HOPPER
    },
    Broken {
        name: "puts_a_small_tile_where_the_last_is_still_read",
        size: "256x1024x64",
        edits: &[
            (
                "wait_stored<0>();\n            sync();",
                "wait_stored<1>();\n            sync();",
            ),
            FEW_BLOCKS,
        ],
        caught: Caught::Sanitizer {
            says: "Race reported between Write access",
            at: "store_panel(p, Cs + p * apart)",
        },
        ..HOPPER
    },
    Broken {
        name: "puts_a_small_tile_before_the_barrier",
        size: "256x1024x64",
        edits: &[
            (
                "wait_stored<0>();\n            sync();\n",
                "wait_stored<0>();\n",
            ),
            FEW_BLOCKS,
        ],
        caught: Caught::Sanitizer {
            says: "Race reported between Write access",
            at: "store_all(s.C[consumer][0], PANEL_OF_C)",
        },
        ..HOPPER
    },
    Broken {
        name: "stores_before_all_have_written",
        edits: &[(
            "            asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");       // to TMA, what all threads have put\n            sync();\n",
            "            asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Write access",
            at: "store_panel(p, Cs + p * apart)",
        },
        ..HOPPER
    },
    Broken {
        name: "stores_a_panel_before_all_have_written",
        arguments: WIDE,
        size: "256x1024x256",
        edits: &[
            (
                "            asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");       // to TMA, what all threads have put\n            sync();\n",
                "            asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n",
            ),
            FEW_BLOCKS,
        ],
        caught: Caught::Sanitizer {
            says: "Race reported between Write access",
            at: "store(C, doneTile.column",
        },
        ..HOPPER
    },
    Broken {
        name: "exits_before_the_store_has_read",
        edits: &[(
            "        if (thread == 0)\n            wait_stored<0>();\n    }\n",
            "        if (thread == 0)\n            wait_stored<1>();\n    }\n",
        )],
        caught: Caught::Sanitizer {
            says: "Unfinished bulk copy",
            at: "store_panel(p, Cs + p * apart)",
        },
        ..HOPPER
    },
    Broken {
        name: "exits_before_the_last_tile_has_been_read",
        arguments: WIDE,
        size: "128x256x64",
        edits: &[(
            "        if (thread == 0)\n            wait_stored<0>();\n    }\n",
            "        if (thread == 0)\n            wait_stored<PANELS>();\n    }\n",
        )],
        caught: Caught::Sanitizer {
            says: "Unfinished bulk copy",
            at: "store(C, doneTile.column",
        },
        ..HOPPER
    },
    Broken {
        name: "last_tile_by_way_of_the_other_consumers_rows",
        arguments: WIDE,
        size: "128x256x512",
        edits: &[(
            "store_all(&s.stage[0].A[consumer * PANEL_OF_C]",
            "store_all(&s.stage[0].A[(1 - consumer) * PANEL_OF_C]",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "store_panel(p, Cs + p * apart)",
        },
        ..HOPPER
    },
    Broken {
        name: "last_tile_by_way_of_b_that_both_consumers_read",
        arguments: WIDE,
        size: "128x256x512",
        edits: &[(
            "store_all(&s.stage[0].A[consumer * PANEL_OF_C]",
            "store_all(s.stage[0].B[consumer]",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "store_panel(p, Cs + p * apart)",
        },
        ..HOPPER
    },
    Broken {
        name: "last_tile_by_way_of_two_buffers",
        arguments: WIDE,
        size: "128x256x64",
        edits: &[(
            "store_all(&s.stage[0].A[consumer * PANEL_OF_C], sizeof(Stage) / 2);",
            "store_all(s.C[consumer][0], PANEL_OF_C);",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Write access",
            at: "store_panel(p, Cs + p * apart)",
        },
        ..HOPPER
    },
    Broken {
        name: "commits_no_store",
        edits: &[(
            "[%0, {%1, %2}], [%3];\\n\"\n                 \"cp.async.bulk.commit_group;\"",
            "[%0, {%1, %2}], [%3];\"",
        )],
        caught: Caught::Sanitizer {
            says: "Unfinished bulk copy",
            at: "store_panel(p, Cs + p * apart)",
        },
        ..HOPPER
    },
    Broken {
        name: "stores_from_a_misaligned_place",
        edits: &[("consumer * WM, Cs);", "consumer * WM, Cs + 8);")],
        caught: Caught::Sanitizer {
            says: "is no multiple of 128 bytes",
            at: "store_panel(p, Cs + p * apart)",
        },
        ..HOPPER
    },
    Broken {
        name: "consumers_wait_for_twice_their_number",
        edits: &[("bar.sync %0, 128", "bar.sync %0, 256")],
        caught: Caught::Sanitizer {
            says: "128 of 256 threads have arrived",
            at: "store_all(s.C[consumer][0], PANEL_OF_C)",
        },
        ..HOPPER
    },
    Broken {
        name: "barrier_for_a_hundred_threads",
        edits: &[("bar.sync %0, 128", "bar.sync %0, 100")],
        caught: Caught::Sanitizer {
            says: "100 threads are not a multiple of 32",
            at: "store_all(s.C[consumer][0], PANEL_OF_C)",
        },
        ..HOPPER
    },
    Broken {
        name: "both_consumers_at_one_barrier",
        edits: &[(
            "            asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");       // to TMA, what all threads have put\n            sync();\n",
            "            asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n            asm volatile(\"bar.sync %0, 128;\" :: \"r\"(1) : \"memory\");\n",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Write access",
            at: "store_panel(p, Cs + p * apart)",
        },
        ..HOPPER
    },
    Broken {
        name: "stores_without_the_swizzle",
        edits: &[("(chunk ^ (row & 7)) * 8", "chunk * 8")],
        caught: Caught::Values,
        ..HOPPER
    },
];
