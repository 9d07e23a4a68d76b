//! Mistakes in rung 06 with `cp.async`: stages, groups, barriers.
use super::{Broken, Caught};

const PIPELINE: Broken = Broken {
    rung: "06_pipeline",
    arguments: &["--arch", "sm_80"],
    size: "128x128x256",
    ..super::BASE
};

/// All of them.
pub const ALL: &[Broken] = &[
    Broken {
        name: "pipeline_without_its_barrier",
        size: "128x128x128",
        edits: &[(
            "        asm volatile(\"cp.async.wait_group %0;\" :: \"n\"(STAGES - 2) : \"memory\");\n        __syncthreads();\n",
            "        asm volatile(\"cp.async.wait_group %0;\" :: \"n\"(STAGES - 2) : \"memory\");\n",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Write access",
            at: "readA(0, m, 0)",
        },
        ..PIPELINE
    },
    Broken {
        name: "pipeline_without_its_wait",
        size: "128x128x128",
        edits: &[(
            "        asm volatile(\"cp.async.wait_group %0;\" :: \"n\"(STAGES - 2) : \"memory\");\n",
            "",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Write access",
            at: "readA(0, m, 0)",
        },
        ..PIPELINE
    },
    Broken {
        name: "waits_for_the_wrong_number_of_groups",
        size: "128x128x128",
        edits: &[("\"n\"(STAGES - 2)", "\"n\"(STAGES - 1)")],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Write access",
            at: "readA(0, m, 0)",
        },
        ..PIPELINE
    },
    Broken {
        name: "commits_no_group",
        size: "128x128x128",
        edits: &[(
            "        asm volatile(\"cp.async.commit_group;\" ::: \"memory\");\n",
            "",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Write access",
            at: "readA(0, m, 0)",
        },
        ..PIPELINE
    },
    Broken {
        name: "commits_after_it_has_waited",
        edits: &[("step == STEPS - 2", "step == STEPS - 1")],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Write access",
            at: "readB(now ^ 1, nextStage, nextN, nextK)",
        },
        ..PIPELINE
    },
    Broken {
        // Of the narrower tile's eight copies, one in each of its eight steps.
        name: "copies_after_the_group_is_closed",
        arguments: &["--arch", "sm_80", "--tile", "128x128"],
        edits: &[(
            "(COPIES + STEPS - 2) / (STEPS - 1)",
            "(COPIES + STEPS - 1) / STEPS",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Write access",
            at: "load((stage + STAGES - 1) % STAGES, copy)",
        },
        ..PIPELINE
    },
    Broken {
        name: "fills_the_stage_that_is_read",
        edits: &[(
            "load((stage + STAGES - 1) % STAGES, copy)",
            "load(stage, copy)",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Read access",
            at: "load(stage, copy)",
        },
        ..PIPELINE
    },
    Broken {
        name: "starts_one_tile_too_many",
        edits: &[(
            "for (int stage = 0; stage < STAGES - 1; ++stage)",
            "for (int stage = 0; stage < STAGES; ++stage)",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Write access",
            at: "load((stage + STAGES - 1) % STAGES, copy)",
        },
        ..PIPELINE
    },
    Broken {
        name: "copies_a_tile_after_the_last",
        size: "128x128x128",
        edits: &[("multiply(stage, stage == 0,", "multiply(stage, stage <= 1,")],
        caught: Caught::Sanitizer {
            says: "Invalid __global__ read of size 16 bytes",
            at: "copy_async(bTo + stage",
        },
        ..PIPELINE
    },
    Broken {
        name: "reads_another_stage_than_it_waits_for",
        edits: &[("readA(0, m, 0);", "readA(1, m, 0);")],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Write access",
            at: "readA(1, m, 0)",
        },
        ..PIPELINE
    },
    Broken {
        name: "reads_past_the_last_stage",
        edits: &[("(stage + !next) % STAGES", "stage + !next")],
        caught: Caught::Sanitizer {
            says: "Invalid __shared__ read of size 16 bytes",
            at: "ldmatrix_trans(regB[to]",
        },
        ..PIPELINE
    },
    Broken {
        name: "asks_for_a_stage_too_few",
        edits: &[("STAGES * STAGE, 1}", "(STAGES - 1) * STAGE, 1}")],
        caught: Caught::Sanitizer {
            says: "Invalid __shared__ write of size 16 bytes",
            at: "multiply(stage,",
        },
        ..PIPELINE
    },
    Broken {
        name: "copies_to_half_a_chunk",
        size: "128x128x64",
        edits: &[("copy_async(aTo + stage", "copy_async(aTo + 8 + stage")],
        caught: Caught::Sanitizer {
            says: "is misaligned",
            at: "load(stage, copy)",
        },
        ..PIPELINE
    },
    Broken {
        name: "stores_where_others_still_read",
        size: "128x192x128",
        edits: &[
            ("Cs = tiles;", "Cs = tiles + STAGE / 2;"),
            ("<= (STAGES - 1) * STAGE", "<= STAGES * STAGE"),
        ],
        caught: Caught::Sanitizer {
            says: "Race reported between Read access",
            at: "*(unsigned*)&Cs[",
        },
        ..PIPELINE
    },
    Broken {
        name: "no_barrier_between_the_two_halves_of_the_store",
        size: "128x128x64",
        edits: &[("    __syncthreads();\n    for (int row", "    for (int row")],
        caught: Caught::Sanitizer {
            says: "Race reported between Write access",
            at: "*(uint4*)&C[row * N + panel]",
        },
        ..PIPELINE
    },
    Broken {
        name: "pipeline_swizzles_on_one_side_only",
        size: "128x128x64",
        edits: &[("(aChunk ^ aRow / 2 % 4)", "aChunk")],
        caught: Caught::Values,
        ..PIPELINE
    },
];
