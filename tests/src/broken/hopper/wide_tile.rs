//! Mistakes of two consumers: registers, `wgmma` in flight, stages released too early.
use super::WIDE_TILE;
use crate::broken::{Broken, Caught};

pub(super) const ALL: &[Broken] = &[
    Broken {
        name: "empty_counts_one_consumer_only",
        size: "128x256x512",
        edits: &[(
            "mbarrier_init(&s.empty[i], CONSUMERS)",
            "mbarrier_init(&s.empty[i], 1)",
        )],
        caught: Caught::Sanitizer {
            says: "phase overrun: this ended phase 1",
            at: "mbarrier_arrive(&s.empty[previous])",
        },
        ..WIDE_TILE
    },
    Broken {
        name: "epilogue_does_not_wait_for_wgmma",
        edits: &[("    wgmma_wait<0>();\n", "")],
        caught: Caught::Sanitizer {
            says: "this reads a register of the wgmma",
            at: "float2_to_half2(acc[",
        },
        ..WIDE_TILE
    },
    Broken {
        name: "releases_a_step_too_early",
        size: "128x256x512",
        edits: &[("wgmma_wait<1>", "wgmma_wait<2>")],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "wgmma(acc, a + ",
        },
        ..WIDE_TILE
    },
    Broken {
        name: "releases_the_stage_that_wgmma_reads",
        size: "128x256x512",
        edits: &[(
            "        if (thread == 0 && previous >= 0)\n            mbarrier_arrive(&s.empty[previous]);\n",
            "        if (thread == 0)\n            mbarrier_arrive(&s.empty[stage]);\n",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "wgmma(acc, a + ",
        },
        ..WIDE_TILE
    },
    Broken {
        name: "releases_without_a_wait",
        size: "128x256x512",
        edits: &[("        wgmma_wait<1>();\n", "")],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "wgmma(acc, a + ",
        },
        ..WIDE_TILE
    },
    Broken {
        name: "waits_before_it_commits",
        size: "128x256x512",
        edits: &[(
            "        wgmma_commit();\n\n        // While these are in flight, those of the step before complete, and its stage is free.\n        wgmma_wait<1>();\n",
            "        wgmma_wait<1>();\n        wgmma_commit();\n",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Read access",
            at: "wgmma(acc, a + ",
        },
        ..WIDE_TILE
    },
    Broken {
        name: "producer_keeps_its_registers",
        edits: &[(
            "        if (CONSUMERS > 1)\n            setmaxnreg_dec<32>();\n",
            "",
        )],
        caught: Caught::Sanitizer {
            says: "wait for registers",
            at: "setmaxnreg_inc",
        },
        ..WIDE_TILE
    },
    Broken {
        name: "consumers_want_too_many_registers",
        edits: &[("CONSUMERS == 2 ? 232", "CONSUMERS == 2 ? 248")],
        caught: Caught::Sanitizer {
            says: "wait for registers",
            at: "setmaxnreg_inc",
        },
        ..WIDE_TILE
    },
    Broken {
        name: "registers_not_by_eight",
        edits: &[("CONSUMERS == 2 ? 232", "CONSUMERS == 2 ? 236")],
        caught: Caught::Refused {
            says: "setmaxnreg takes multiples of 8",
        },
        ..WIDE_TILE
    },
];
