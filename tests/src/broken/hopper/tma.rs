//! Mistakes with TMA: mbarriers, their transaction counts, boxes, and the store of a tile to C.
use crate::broken::{BASE, Broken, Caught};

const TMA: Broken = Broken {
    rung: "09_tma",
    size: "128x128x64",
    ..BASE
};

pub(super) const ALL: &[Broken] = &[
    Broken {
        name: "full_waits_for_two_arrivals",
        edits: &[(
            "mbarrier_init(&s.full[i], 1)",
            "mbarrier_init(&s.full[i], 2)",
        )],
        caught: Caught::Sanitizer {
            says: "1 of 2 arrivals pending",
            at: "mbarrier_wait(&s.full[stage]",
        },
        ..TMA
    },
    Broken {
        name: "no_fence_after_mbarrier_init",
        edits: &[("        fence_mbarrier_init();\n", "")],
        caught: Caught::Sanitizer {
            says: "Missing fence.mbarrier_init before an asynchronous write",
            at: "mbarrier_init(&s.full[i]",
        },
        ..TMA
    },
    Broken {
        name: "nobody_waits_for_mbarrier_init",
        edits: &[(
            "        fence_mbarrier_init();\n    }\n    __syncthreads();\n",
            "        fence_mbarrier_init();\n    }\n",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Write access",
            at: "mbarrier_wait(&s.full[stage]",
        },
        ..TMA
    },
    Broken {
        name: "asks_for_too_little_shared_memory",
        edits: &[(
            "THREADS, sizeof(Shared), 1",
            "THREADS, sizeof(Shared) - 64, 1",
        )],
        caught: Caught::Sanitizer {
            says: "is out of bounds",
            at: "mbarrier_init(&s.full[i]",
        },
        ..TMA
    },
    Broken {
        name: "does_not_wait_for_tma",
        edits: &[(
            "        mbarrier_wait(&s.full[stage], k0 / BK / STAGES % 2);\n",
            "",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Write access",
            at: "ldmatrix(regA[m]",
        },
        ..TMA
    },
    Broken {
        name: "a_whole_warp_loads",
        edits: &[("if (threadIdx.x > 0)", "if (warp > 0)")],
        caught: Caught::Sanitizer {
            says: "phase overrun: 1 arrivals, but phase 0",
            at: "mbarrier_expect(&s.full[stage]",
        },
        ..TMA
    },
    Broken {
        name: "expects_too_few_bytes",
        edits: &[(
            "mbarrier_expect(&s.full[stage], sizeof(Stage))",
            "mbarrier_expect(&s.full[stage], sizeof(Stage) - 16)",
        )],
        caught: Caught::Sanitizer {
            says: "16 bytes more than expected have arrived",
            at: "mbarrier_expect(&s.full[stage]",
        },
        ..TMA
    },
    Broken {
        name: "expects_too_many_bytes",
        edits: &[(
            "mbarrier_expect(&s.full[stage], sizeof(Stage))",
            "mbarrier_expect(&s.full[stage], sizeof(Stage) + 16)",
        )],
        caught: Caught::Sanitizer {
            says: "16 of the expected bytes have not arrived",
            at: "mbarrier_expect(&s.full[stage]",
        },
        ..TMA
    },
    Broken {
        name: "expects_the_bytes_of_a_only",
        edits: &[(
            "mbarrier_expect(&s.full[stage], sizeof(Stage))",
            "mbarrier_expect(&s.full[stage], BM * BK * 2)",
        )],
        caught: Caught::Sanitizer {
            says: "Wrong transaction count",
            at: "mbarrier_expect(&s.full[stage]",
        },
        ..TMA
    },
    Broken {
        name: "expects_no_bytes",
        edits: &[(
            "mbarrier_expect(&s.full[stage], sizeof(Stage))",
            "mbarrier_expect(&s.full[stage], 0)",
        )],
        caught: Caught::Sanitizer {
            says: "Wrong transaction count",
            at: "mbarrier_expect(&s.full[stage]",
        },
        ..TMA
    },
    Broken {
        name: "loads_half_of_b",
        edits: &[(
            "panel < BN / PANEL; ++panel)\n            tma_load",
            "panel < BN / PANEL / 2; ++panel)\n            tma_load",
        )],
        caught: Caught::Sanitizer {
            says: "Wrong transaction count",
            at: "mbarrier_expect(&s.full[stage]",
        },
        ..TMA
    },
    Broken {
        name: "a_box_of_twice_the_rows",
        edits: &[("{BK, BM, 128, PANEL, BK", "{BK, BM, 128, PANEL, BK * 2")],
        caught: Caught::Sanitizer {
            says: "Wrong transaction count",
            at: "mbarrier_expect(&s.full[stage]",
        },
        ..TMA
    },
    Broken {
        name: "box_wider_than_its_swizzle",
        edits: &[("{BK, BM, 128, PANEL", "{BK, BM, 64, PANEL")],
        caught: Caught::Refused {
            says: "and the swizzle is 64 bytes wide",
        },
        ..TMA
    },
    Broken {
        name: "loads_a_step_more_than_there_are",
        size: "128x128x192",
        edits: &[(
            "if (k0 + (STAGES - 1) * BK < K)",
            "if (k0 + (STAGES - 1) * BK <= K)",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Write access",
            at: "*(unsigned*)&s.C[",
        },
        ..TMA
    },
    Broken {
        name: "loads_to_a_misaligned_place",
        edits: &[(
            "tma_load(s.stage[stage].A, A,",
            "tma_load(s.stage[stage].A + 4, A,",
        )],
        caught: Caught::Sanitizer {
            says: "is misaligned",
            at: "tma_load(s.stage[stage].A",
        },
        ..TMA
    },
    Broken {
        name: "stage_shifted_by_128_bytes",
        edits: &[(
            "tma_load(s.stage[stage].A, A,",
            "tma_load(s.stage[stage].A + 64, A,",
        )],
        caught: Caught::Sanitizer {
            says: "Uninitialized __shared__ memory read",
            at: "ldmatrix(regA[m]",
        },
        ..TMA
    },
    Broken {
        name: "no_proxy_fence_before_the_store",
        edits: &[("    fence_proxy_async();\n", "")],
        caught: Caught::Sanitizer {
            says: "Missing fence.proxy.async before an asynchronous read",
            at: "tma_store(C, tileCol",
        },
        ..TMA
    },
    Broken {
        name: "only_the_thread_that_stores_fences",
        edits: &[(
            "    fence_proxy_async();\n    __syncthreads",
            "    if (threadIdx.x == 0)\n        fence_proxy_async();\n    __syncthreads",
        )],
        caught: Caught::Sanitizer {
            says: "Missing fence.proxy.async before an asynchronous read",
            at: "tma_store(C, tileCol",
        },
        ..TMA
    },
    Broken {
        name: "stores_before_all_have_written",
        edits: &[(
            "    fence_proxy_async();\n    __syncthreads();\n",
            "    fence_proxy_async();\n",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Write access",
            at: "tma_store(C, tileCol",
        },
        ..TMA
    },
    Broken {
        name: "exits_before_the_store_has_read",
        edits: &[("tma_store_wait<0>", "tma_store_wait<1>")],
        caught: Caught::Sanitizer {
            says: "Unfinished bulk copy",
            at: "tma_store(C, tileCol",
        },
        ..TMA
    },
    Broken {
        name: "commits_no_store",
        edits: &[(
            "[%3];\\n\"\n                 \"cp.async.bulk.commit_group;\"",
            "[%3];\"",
        )],
        caught: Caught::Sanitizer {
            says: "Unfinished bulk copy",
            at: "tma_store(C, tileCol",
        },
        ..TMA
    },
    Broken {
        name: "stores_from_a_misaligned_place",
        edits: &[("s.C[panel]);", "s.C[panel] + 8);")],
        caught: Caught::Sanitizer {
            says: "is not a multiple of 128 bytes",
            at: "tma_store(C, tileCol",
        },
        ..TMA
    },
    Broken {
        name: "stores_without_the_swizzle",
        edits: &[("(n ^ (row & 7)) * CHUNK", "n * CHUNK")],
        caught: Caught::Values,
        ..TMA
    },
];
