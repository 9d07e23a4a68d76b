//! Mistakes before the first step: what mbarriers count, registers, shared memory, boxes.
use super::{HOPPER, WIDE};
use crate::broken::{Broken, Caught};

pub(super) const ALL: &[Broken] = &[
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
];
