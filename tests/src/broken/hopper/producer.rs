//! Mistakes of the producer warp: stages that are not yet free, bytes that are not those announced, boxes.
use super::{HOPPER, WIDE};
use crate::broken::{Broken, Caught};

pub(super) const ALL: &[Broken] = &[
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
        name: "loads_to_a_misaligned_place",
        edits: &[("load(s.stage[stage].A, A,", "load(s.stage[stage].A + 4, A,")],
        caught: Caught::Sanitizer {
            says: "is misaligned",
            at: "load(s.stage[stage].A",
        },
        ..HOPPER
    },
];
