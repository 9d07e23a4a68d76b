//! Mistakes between a producer and its two consumers: stages that are not yet empty, not yet full, or released too
//! early; named barriers; registers; `wgmma` in flight.
use crate::broken::{BASE, Broken, Caught};

/// Four stages, which the eight steps use twice.
const SPECIALIZED: Broken = Broken {
    rung: "11_specialized",
    size: "128x256x512",
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
        size: "128x256x64",
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
        size: "128x256x64",
        edits: &[(
            "mbarrier_wait(&s.full[stage], phase);",
            "mbarrier_wait(&s.full[stage], phase ^ 1);",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "wgmma(acc, a + ",
        },
        ..SPECIALIZED
    },
    Broken {
        name: "empty_counts_threads_in_place_of_warpgroups",
        edits: &[(
            "mbarrier_init(&s.empty[i], CONSUMERS)",
            "mbarrier_init(&s.empty[i], 128 * CONSUMERS)",
        )],
        caught: Caught::Sanitizer {
            says: "254 of 256 arrivals pending",
            at: "mbarrier_wait(&s.empty[stage]",
        },
        ..SPECIALIZED
    },
    Broken {
        name: "barrier_for_a_hundred_threads",
        size: "128x256x64",
        edits: &[("named_barrier(1, 128 * CONSUMERS)", "named_barrier(1, 100)")],
        caught: Caught::Sanitizer {
            says: "100 threads are not a multiple of 32",
            at: "named_barrier(1, 100)",
        },
        ..SPECIALIZED
    },
    Broken {
        name: "empty_counts_one_consumer_only",
        edits: &[(
            "mbarrier_init(&s.empty[i], CONSUMERS)",
            "mbarrier_init(&s.empty[i], 1)",
        )],
        caught: Caught::Sanitizer {
            says: "phase overrun: this ended phase 1",
            at: "mbarrier_arrive(&s.empty[previous])",
        },
        ..SPECIALIZED
    },
    Broken {
        name: "epilogue_does_not_wait_for_wgmma",
        size: "128x256x64",
        edits: &[("    wgmma_wait<0>();\n", "")],
        caught: Caught::Sanitizer {
            says: "this reads a register of the wgmma",
            at: "float2_to_half2(acc[",
        },
        ..SPECIALIZED
    },
    Broken {
        name: "releases_a_step_too_early",
        edits: &[("wgmma_wait<1>", "wgmma_wait<2>")],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "wgmma(acc, a + ",
        },
        ..SPECIALIZED
    },
    Broken {
        name: "releases_the_stage_that_wgmma_reads",
        edits: &[(
            "        if (thread == 0 && previous >= 0)\n            mbarrier_arrive(&s.empty[previous]);\n",
            "        if (thread == 0)\n            mbarrier_arrive(&s.empty[stage]);\n",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "wgmma(acc, a + ",
        },
        ..SPECIALIZED
    },
    Broken {
        name: "releases_without_a_wait",
        edits: &[("        wgmma_wait<1>();\n", "")],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "wgmma(acc, a + ",
        },
        ..SPECIALIZED
    },
    Broken {
        name: "waits_before_it_commits",
        edits: &[(
            "        wgmma_commit();\n\n        // While these are in flight, those of the previous step complete, and its stage is free.\n        wgmma_wait<1>();\n",
            "        wgmma_wait<1>();\n        wgmma_commit();\n",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "wgmma(acc, a + ",
        },
        ..SPECIALIZED
    },
    Broken {
        name: "producer_keeps_its_registers",
        size: "128x256x64",
        edits: &[(
            "        if (CONSUMERS > 1)\n            setmaxnreg_dec<32>();\n",
            "",
        )],
        caught: Caught::Sanitizer {
            says: "wait for registers",
            at: "setmaxnreg_inc",
        },
        ..SPECIALIZED
    },
    Broken {
        name: "consumers_want_too_many_registers",
        size: "128x256x64",
        edits: &[("CONSUMERS == 2 ? 232", "CONSUMERS == 2 ? 248")],
        caught: Caught::Sanitizer {
            says: "wait for registers",
            at: "setmaxnreg_inc",
        },
        ..SPECIALIZED
    },
    Broken {
        name: "registers_not_by_eight",
        size: "128x256x64",
        edits: &[("CONSUMERS == 2 ? 232", "CONSUMERS == 2 ? 236")],
        caught: Caught::Refused {
            says: "setmaxnreg takes multiples of 8",
        },
        ..SPECIALIZED
    },
];
