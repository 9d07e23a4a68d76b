//! Mistakes in rung 06 on Hopper: mbarriers, transaction counts, proxies, `wgmma`, clusters.
use super::{Broken, Caught};

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
pub const ALL: &[Broken] = &[
    Broken {
        name: "never_flips_the_phase",
        arguments: WIDE,
        size: "128x256x512",
        edits: &[("stage = 0; phase ^= 1;", "stage = 0;")],
        caught: Caught::Sanitizer {
            says: "phase overrun: 1 arrivals, but phase 0",
            at: "expect(&s.full[stage]",
        },
        ..HOPPER
    },
    Broken {
        name: "producer_waits_for_the_other_parity",
        edits: &[(
            "                    wait(&s.empty[stage], phase ^ 1);\n                    expect",
            "                    wait(&s.empty[stage], phase);\n                    expect",
        )],
        caught: Caught::Sanitizer {
            says: "Deadlock: no thread can go on",
            at: "wait(&s.empty[stage], phase);",
        },
        ..HOPPER
    },
    Broken {
        name: "consumer_waits_for_the_other_parity",
        edits: &[(
            "wait(&s.full[stage], phase);",
            "wait(&s.full[stage], phase ^ 1);",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "wgmma(acc, a + k",
        },
        ..HOPPER
    },
    Broken {
        name: "does_not_wait_for_tma",
        edits: &[("                wait(&s.full[stage], phase);\n", "")],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "wgmma(acc, a + k",
        },
        ..HOPPER
    },
    Broken {
        name: "does_not_wait_for_an_empty_stage",
        arguments: WIDE,
        size: "128x256x512",
        edits: &[(
            "                    wait(&s.empty[stage], phase ^ 1);\n                    expect",
            "                    expect",
        )],
        caught: Caught::Sanitizer {
            says: "phase overrun: 1 arrivals, but phase 0",
            at: "expect(&s.full[stage]",
        },
        ..HOPPER
    },
    Broken {
        name: "a_stage_too_many",
        arguments: WIDE,
        size: "128x256x512",
        edits: &[("++stage == STAGES", "++stage == STAGES + 1")],
        caught: Caught::Sanitizer {
            says: "there is no mbarrier at",
            at: "wait(&s.empty[stage], phase ^ 1)",
        },
        ..HOPPER
    },
    Broken {
        name: "reads_the_stage_ahead",
        edits: &[(
            "const unsigned long long b = descriptor(s.stage[stage].B[0]",
            "const unsigned long long b = descriptor(s.stage[(stage + 1) % STAGES].B[0]",
        )],
        caught: Caught::Sanitizer {
            says: "Uninitialized __shared__ memory read",
            at: "wgmma(acc, a + k",
        },
        ..HOPPER
    },
    Broken {
        name: "empty_counts_one_consumer_only",
        edits: &[(
            "init(&s.empty[i], CONSUMERS * CLUSTER)",
            "init(&s.empty[i], 1)",
        )],
        caught: Caught::Sanitizer {
            says: "phase overrun: this ended phase 1",
            at: "arrive(&s.empty[stage], thread)",
        },
        ..HOPPER
    },
    Broken {
        name: "empty_counts_threads_in_place_of_warpgroups",
        edits: &[(
            "init(&s.empty[i], CONSUMERS * CLUSTER)",
            "init(&s.empty[i], 128 * CONSUMERS)",
        )],
        caught: Caught::Sanitizer {
            says: "254 of 256 arrivals pending",
            at: "wait(&s.empty[stage], phase ^ 1)",
        },
        ..HOPPER
    },
    Broken {
        name: "full_waits_for_two_arrivals",
        edits: &[("init(&s.full[i], 1)", "init(&s.full[i], 2)")],
        caught: Caught::Sanitizer {
            says: "1 of 2 arrivals pending",
            at: "wait(&s.full[stage], phase)",
        },
        ..HOPPER
    },
    Broken {
        name: "releases_the_last_stage_twice",
        edits: &[(
            "            release(previous);\n            if (LATER",
            "            release(previous);\n            release(previous);\n            if (LATER",
        )],
        caught: Caught::Sanitizer {
            says: "phase overrun: this ended phase 1",
            at: "release(previous);",
        },
        ..HOPPER
    },
    Broken {
        name: "never_releases_the_last_stage",
        edits: &[(
            "            release(previous);\n            if (LATER",
            "            if (LATER",
        )],
        caught: Caught::Sanitizer {
            says: "Deadlock: no thread can go on",
            at: "wait(&s.empty[stage], phase ^ 1)",
        },
        ..HOPPER
    },
    Broken {
        name: "a_whole_warp_loads",
        edits: &[(
            "        if (threadIdx.x == 0) {\n            // While the launch before",
            "        if (threadIdx.x < 32) {\n            // While the launch before",
        )],
        caught: Caught::Sanitizer {
            says: "phase overrun: 1 arrivals, but phase 0",
            at: "expect(&s.full[stage]",
        },
        ..HOPPER
    },
    Broken {
        name: "expects_too_few_bytes",
        edits: &[(
            "expect(&s.full[stage], sizeof(Stage))",
            "expect(&s.full[stage], sizeof(Stage) - 16)",
        )],
        caught: Caught::Sanitizer {
            says: "16 bytes more than were announced have come",
            at: "expect(&s.full[stage]",
        },
        ..HOPPER
    },
    Broken {
        name: "expects_too_many_bytes",
        edits: &[(
            "expect(&s.full[stage], sizeof(Stage))",
            "expect(&s.full[stage], sizeof(Stage) + 16)",
        )],
        caught: Caught::Sanitizer {
            says: "16 of the bytes that were announced never come",
            at: "expect(&s.full[stage]",
        },
        ..HOPPER
    },
    Broken {
        name: "expects_the_bytes_of_a_only",
        edits: &[(
            "expect(&s.full[stage], sizeof(Stage))",
            "expect(&s.full[stage], BM * BK * 2)",
        )],
        caught: Caught::Sanitizer {
            says: "Wrong transaction count",
            at: "expect(&s.full[stage]",
        },
        ..HOPPER
    },
    Broken {
        name: "expects_no_bytes",
        edits: &[(
            "expect(&s.full[stage], sizeof(Stage))",
            "expect(&s.full[stage], 0)",
        )],
        caught: Caught::Sanitizer {
            says: "Wrong transaction count",
            at: "expect(&s.full[stage]",
        },
        ..HOPPER
    },
    Broken {
        name: "loads_half_of_b",
        arguments: WIDE,
        size: "128x256x64",
        edits: &[("PANELS / CLUSTER; ++i", "PANELS / CLUSTER / 2; ++i")],
        caught: Caught::Sanitizer {
            says: "Wrong transaction count",
            at: "expect(&s.full[stage]",
        },
        ..HOPPER
    },
    Broken {
        name: "a_box_of_twice_the_rows",
        edits: &[("{BK, BM, 128, PANEL, BK", "{BK, BM, 128, PANEL, BK * 2")],
        caught: Caught::Sanitizer {
            says: "Wrong transaction count",
            at: "expect(&s.full[stage]",
        },
        ..HOPPER
    },
    Broken {
        name: "no_wgmma_fence",
        edits: &[(
            "                asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n",
            "",
        )],
        caught: Caught::Sanitizer {
            says: "wgmma.fence is missing",
            at: "wgmma(acc, a + k",
        },
        ..HOPPER
    },
    Broken {
        name: "no_wgmma_commit",
        edits: &[(
            "                asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n",
            "",
        )],
        caught: Caught::Sanitizer {
            says: "wgmma.commit_group is missing",
            at: "wgmma(acc, a + k",
        },
        ..HOPPER
    },
    Broken {
        name: "epilogue_does_not_wait_for_wgmma",
        edits: &[(
            "            asm volatile(\"wgmma.wait_group.sync.aligned 0;\" ::: \"memory\");\n",
            "",
        )],
        caught: Caught::Sanitizer {
            says: "this reads a register of the wgmma",
            at: "cvt.rn.f16x2.f32",
        },
        ..HOPPER
    },
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
        name: "releases_a_step_too_early",
        arguments: WIDE,
        size: "128x256x512",
        edits: &[("wait_group.sync.aligned 1", "wait_group.sync.aligned 2")],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "wgmma(acc, a + k",
        },
        ..HOPPER
    },
    Broken {
        name: "releases_the_stage_that_wgmma_reads",
        arguments: WIDE,
        size: "128x256x512",
        edits: &[
            (
                "                if (previous >= 0)\n                    release(previous);\n",
                "                release(stage);\n",
            ),
            (
                "            release(previous);\n            if (LATER",
                "            if (LATER",
            ),
        ],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "wgmma(acc, a + k",
        },
        ..HOPPER
    },
    Broken {
        name: "releases_without_a_wait",
        arguments: WIDE,
        size: "128x256x512",
        edits: &[(
            "                asm volatile(\"wgmma.wait_group.sync.aligned 1;\" ::: \"memory\");\n",
            "",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "wgmma(acc, a + k",
        },
        ..HOPPER
    },
    Broken {
        name: "waits_before_it_commits",
        arguments: WIDE,
        size: "128x256x512",
        edits: &[(
            "wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n                // While these run, those of the last step are done.\n                asm volatile(\"wgmma.wait_group.sync.aligned 1",
            "wgmma.wait_group.sync.aligned 1;\" ::: \"memory\");\n                asm volatile(\"wgmma.commit_group.sync.aligned",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "wgmma(acc, a + k",
        },
        ..HOPPER
    },
    Broken {
        name: "half_a_warpgroup_multiplies",
        edits: &[("wgmma(acc, a + k", "if (thread % 64 < 32) wgmma(acc, a + k")],
        caught: Caught::Sanitizer {
            says: "for the other warps of its warpgroup",
            at: "wgmma.wait_group.sync.aligned 0",
        },
        ..HOPPER
    },
    Broken {
        name: "stride_beyond_shared_memory",
        edits: &[("WM * BK], 16, 1024)", "WM * BK], 16, 1024 * 32)")],
        caught: Caught::Sanitizer {
            says: "Invalid wgmma",
            at: "wgmma(acc, a + k",
        },
        ..HOPPER
    },
    Broken {
        name: "descriptor_of_another_swizzle",
        edits: &[("1ull << 62", "2ull << 62")],
        caught: Caught::Sanitizer {
            says: "Swizzle mismatch between tensor map and descriptor",
            at: "wgmma(acc, a + k",
        },
        ..HOPPER
    },
    Broken {
        name: "tensor_map_without_a_swizzle",
        edits: &[("{BK, BM, 128, PANEL", "{BK, BM, 0, PANEL")],
        caught: Caught::Sanitizer {
            says: "Swizzle mismatch between tensor map and descriptor",
            at: "wgmma(acc, a + k",
        },
        ..HOPPER
    },
    Broken {
        name: "stage_shifted_by_128_bytes",
        edits: &[(
            "load(s.stage[stage].A, A,",
            "load(s.stage[stage].A + 64, A,",
        )],
        caught: Caught::Sanitizer {
            says: "Uninitialized __shared__ memory read",
            at: "wgmma(acc, a + k",
        },
        ..HOPPER
    },
    Broken {
        name: "multicast_forgets_a_block",
        arguments: WIDE,
        size: "128x256x64",
        edits: &[("(1 << CLUSTER) - 1", "1 << 0")],
        caught: Caught::Sanitizer {
            says: "Wrong transaction count",
            at: "expect(&s.full[stage]",
        },
        ..HOPPER
    },
    Broken {
        name: "multicast_to_a_block_too_many",
        arguments: WIDE,
        size: "128x256x64",
        edits: &[("(1 << CLUSTER) - 1", "(1 << CLUSTER + 1) - 1")],
        caught: Caught::Sanitizer {
            says: "multicast to blocks 0b111, but the cluster has 2",
            at: "load(s.stage[stage].B",
        },
        ..HOPPER
    },
    Broken {
        name: "tells_its_own_block_twice",
        arguments: WIDE,
        size: "128x256x512",
        edits: &[(
            "if (thread < CLUSTER) arrive(&s.empty[stage], thread)",
            "if (thread < CLUSTER) arrive(&s.empty[stage], block)",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "wgmma(acc, a + k",
        },
        ..HOPPER
    },
    Broken {
        name: "tells_a_block_that_there_is_not",
        arguments: WIDE,
        size: "128x256x64",
        edits: &[(
            "if (thread < CLUSTER) arrive(&s.empty[stage], thread)",
            "if (thread < CLUSTER) arrive(&s.empty[stage], thread + 1)",
        )],
        caught: Caught::Sanitizer {
            says: "mapa to block 2 of a cluster of 2",
            at: "arrive(&s.empty[stage], thread + 1)",
        },
        ..HOPPER
    },
    Broken {
        name: "empty_counts_one_block_only",
        arguments: WIDE,
        size: "128x256x512",
        edits: &[(
            "init(&s.empty[i], CONSUMERS * CLUSTER)",
            "init(&s.empty[i], CONSUMERS)",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "wgmma(acc, a + k",
        },
        ..HOPPER
    },
    Broken {
        name: "leaves_before_its_cluster",
        arguments: WIDE,
        size: "128x256x64",
        edits: &[(
            "            for (int i = 0; i < STAGES; ++i) {\n                wait(&s.empty[stage], phase ^ 1);\n                advance();\n            }\n",
            "",
        )],
        caught: Caught::Sanitizer {
            says: "Invalid access to a block that has exited",
            at: "arrive(&s.empty[stage], thread)",
        },
        ..HOPPER
    },
    Broken {
        name: "block_barrier_in_place_of_the_clusters",
        arguments: WIDE,
        size: "128x256x64",
        edits: &[(
            "        asm volatile(\"barrier.cluster.arrive.relaxed.aligned;\\nbarrier.cluster.wait.acquire.aligned;\" ::: \"memory\");",
            "        __syncthreads();",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Write access",
            at: "arrive(&s.empty[stage], thread)",
        },
        ..HOPPER
    },
    Broken {
        name: "does_not_wait_for_its_cluster",
        arguments: WIDE,
        size: "128x256x64",
        edits: &[("\\nbarrier.cluster.wait.acquire.aligned;", "")],
        caught: Caught::Sanitizer {
            says: "of block 1, which is not initialised",
            at: "load(s.stage[stage].B",
        },
        ..HOPPER
    },
    Broken {
        name: "no_fence_after_mbarrier_init",
        arguments: WIDE,
        size: "128x256x64",
        edits: &[(
            "        asm volatile(\"fence.mbarrier_init.release.cluster;\" ::: \"memory\");\n",
            "",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Write access",
            at: "wait(&s.full[stage], phase)",
        },
        ..HOPPER
    },
    Broken {
        name: "nobody_waits_for_mbarrier_init",
        edits: &[("    else\n        __syncthreads();", "    else\n        ;")],
        caught: Caught::Sanitizer {
            says: "Race reported between Write access",
            at: "wait(&s.full[stage], phase)",
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
            at: "store_all(s.C[consumer][0], OUT)",
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
            "store_all(&s.stage[0].A[consumer * OUT]",
            "store_all(&s.stage[0].A[(1 - consumer) * OUT]",
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
            "store_all(&s.stage[0].A[consumer * OUT]",
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
            "store_all(&s.stage[0].A[consumer * OUT], sizeof(Stage) / 2);",
            "store_all(s.C[consumer][0], OUT);",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Write access",
            at: "store_panel(p, Cs + p * apart)",
        },
        ..HOPPER
    },
    Broken {
        name: "loads_a_step_more_than_there_are",
        arguments: WIDE,
        size: "128x256x64",
        edits: &[("k0 < work.to * BK;", "k0 < work.to * BK + BK;")],
        caught: Caught::Sanitizer {
            says: "and Asynchronous Write access",
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
            at: "store_all(s.C[consumer][0], OUT)",
        },
        ..HOPPER
    },
    Broken {
        name: "barrier_for_a_hundred_threads",
        edits: &[("bar.sync %0, 128", "bar.sync %0, 100")],
        caught: Caught::Sanitizer {
            says: "100 threads are not a multiple of 32",
            at: "store_all(s.C[consumer][0], OUT)",
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
        name: "producer_keeps_its_registers",
        edits: &[(
            "        if (CONSUMERS > 1)\n            asm volatile(\"setmaxnreg.dec.sync.aligned.u32 32;\");\n",
            "",
        )],
        caught: Caught::Sanitizer {
            says: "wait for registers",
            at: "setmaxnreg.inc",
        },
        ..HOPPER
    },
    Broken {
        name: "producer_keeps_more_than_three_consumers_leave",
        arguments: &["--arch", "sm_90a", "--tile", "192x128"],
        edits: &[(
            "setmaxnreg.dec.sync.aligned.u32 32",
            "setmaxnreg.dec.sync.aligned.u32 40",
        )],
        caught: Caught::Sanitizer {
            says: "waits for registers",
            at: "setmaxnreg.inc",
        },
        ..HOPPER
    },
    Broken {
        name: "consumers_want_too_many_registers",
        edits: &[("CONSUMERS == 2 ? 232", "CONSUMERS == 2 ? 248")],
        caught: Caught::Sanitizer {
            says: "wait for registers",
            at: "setmaxnreg.inc",
        },
        ..HOPPER
    },
    Broken {
        name: "asks_for_too_little_shared_memory",
        edits: &[(
            "THREADS, sizeof(Shared), CLUSTER",
            "THREADS, sizeof(Shared) - 64, CLUSTER",
        )],
        caught: Caught::Sanitizer {
            says: "is out of bounds",
            at: "init(&s.empty[i]",
        },
        ..HOPPER
    },
    Broken {
        name: "loads_to_a_misaligned_place",
        edits: &[("load(s.stage[stage].A, A,", "load(s.stage[stage].A + 4, A,")],
        caught: Caught::Sanitizer {
            says: "is misaligned",
            at: "load(s.stage[stage].A",
        },
        ..HOPPER
    },
    Broken {
        name: "registers_not_by_eight",
        edits: &[("CONSUMERS == 2 ? 232", "CONSUMERS == 2 ? 236")],
        caught: Caught::Refused {
            says: "setmaxnreg takes multiples of 8",
        },
        ..HOPPER
    },
    Broken {
        name: "box_wider_than_its_swizzle",
        edits: &[("{BK, BM, 128, PANEL", "{BK, BM, 64, PANEL")],
        caught: Caught::Refused {
            says: "and the swizzle is 64 bytes wide",
        },
        ..HOPPER
    },
    Broken {
        name: "wrong_stride_of_a",
        edits: &[("WM * BK], 16, 1024)", "WM * BK], 16, 512)")],
        caught: Caught::Values,
        ..HOPPER
    },
    Broken {
        name: "wrong_panel_stride_of_b",
        arguments: WIDE,
        size: "128x256x64",
        edits: &[("BK * PANEL * 2, 1024", "BK * PANEL, 1024")],
        caught: Caught::Values,
        ..HOPPER
    },
    Broken {
        name: "stores_without_the_swizzle",
        edits: &[("(chunk ^ (row & 7)) * 8", "chunk * 8")],
        caught: Caught::Values,
        ..HOPPER
    },
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
                "        if (LATER && panel < PANELS)\n            store_all(&s.stage[0].A[consumer * OUT], sizeof(Stage) / 2);\n",
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
