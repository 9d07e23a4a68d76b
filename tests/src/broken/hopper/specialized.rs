//! Mistakes between a producer and a consumer: stages that are not yet empty, or not yet full; named barriers.
use crate::broken::{BASE, Broken, Caught};

/// Three stages, which eight steps use again.
const SPECIALIZED: Broken = Broken {
    rung: "11_specialized",
    size: "128x128x512",
    ..BASE
};

pub(super) const ALL: &[Broken] = &[
    Broken {
        name: "never_flips_the_phase",
        edits: &[("stage = 0; phase ^= 1;", "stage = 0;")],
        caught: Caught::Sanitizer {
            says: "phase overrun: 1 arrivals, but phase 0",
            at: "mbarrier_expect(&s.full[stage]",
        },
        ..SPECIALIZED
    },
    Broken {
        name: "producer_waits_for_the_other_parity",
        size: "128x128x64",
        edits: &[(
            "mbarrier_wait(&s.empty[stage], phase ^ 1);",
            "mbarrier_wait(&s.empty[stage], phase);",
        )],
        caught: Caught::Sanitizer {
            says: "Deadlock: no thread can go on",
            at: "mbarrier_wait(&s.empty[stage], phase);",
        },
        ..SPECIALIZED
    },
    Broken {
        name: "does_not_wait_for_an_empty_stage",
        edits: &[(
            "            mbarrier_wait(&s.empty[stage], phase ^ 1);\n",
            "",
        )],
        caught: Caught::Sanitizer {
            says: "phase overrun: 1 arrivals, but phase 0",
            at: "mbarrier_expect(&s.full[stage]",
        },
        ..SPECIALIZED
    },
    Broken {
        name: "a_stage_too_many",
        edits: &[("++stage == STAGES", "++stage == STAGES + 1")],
        caught: Caught::Sanitizer {
            says: "Invalid __shared__ read of size 8 bytes",
            at: "mbarrier_wait(&s.empty[stage]",
        },
        ..SPECIALIZED
    },
    Broken {
        name: "consumer_waits_for_the_other_parity",
        size: "128x128x64",
        edits: &[(
            "mbarrier_wait(&s.full[stage], phase);",
            "mbarrier_wait(&s.full[stage], phase ^ 1);",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Write access",
            at: "wgmma(acc[m], a + ",
        },
        ..SPECIALIZED
    },
    Broken {
        name: "empty_counts_threads_in_place_of_warpgroups",
        edits: &[(
            "mbarrier_init(&s.empty[i], 1)",
            "mbarrier_init(&s.empty[i], 128)",
        )],
        caught: Caught::Sanitizer {
            says: "127 of 128 arrivals pending",
            at: "mbarrier_wait(&s.empty[stage]",
        },
        ..SPECIALIZED
    },
    Broken {
        name: "barrier_for_a_hundred_threads",
        size: "128x128x64",
        edits: &[("named_barrier(1, 128)", "named_barrier(1, 100)")],
        caught: Caught::Sanitizer {
            says: "100 threads are not a multiple of 32",
            at: "named_barrier(1, 100)",
        },
        ..SPECIALIZED
    },
];
