//! Mistakes of the consumer warps: stages that are not yet full, `wgmma` and its waits, descriptors, stages given back.
use super::{HOPPER, WIDE};
use crate::broken::{Broken, Caught};

pub(super) const ALL: &[Broken] = &[
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
        name: "releases_the_last_stage_twice",
        edits: &[(
            "            release(previous);\n            if (STORE_BEHIND",
            "            release(previous);\n            release(previous);\n            if (STORE_BEHIND",
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
            "            release(previous);\n            if (STORE_BEHIND",
            "            if (STORE_BEHIND",
        )],
        caught: Caught::Sanitizer {
            says: "Deadlock: no thread can go on",
            at: "wait(&s.empty[stage], phase ^ 1)",
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
                "            release(previous);\n            if (STORE_BEHIND",
                "            if (STORE_BEHIND",
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
];
