//! Mistakes in rungs 06 to 08, with `cp.async`: stages, groups, barriers, fragments that are loaded ahead.
use super::{Broken, Caught};

const PIPELINE: Broken = Broken {
    rung: "06_pipeline",
    size: "128x128x256",
    ..super::BASE
};

const REGISTERS: Broken = Broken {
    rung: "07_registers",
    ..PIPELINE
};

const WARP_TILE: Broken = Broken {
    rung: "08_warp_tile",
    ..PIPELINE
};

/// All of them.
pub const ALL: &[Broken] = &[
    Broken {
        name: "pipeline_without_its_barrier",
        size: "128x128x128",
        edits: &[(
            "\"n\"(STAGES - 2) : \"memory\");\n        __syncthreads();\n",
            "\"n\"(STAGES - 2) : \"memory\");\n",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Write access",
            at: "ldmatrix(regA[m]",
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
            at: "ldmatrix(regA[m]",
        },
        ..PIPELINE
    },
    Broken {
        name: "waits_for_the_wrong_number_of_groups",
        size: "128x128x128",
        edits: &[("\"n\"(STAGES - 2)", "\"n\"(STAGES - 1)")],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Write access",
            at: "ldmatrix(regA[m]",
        },
        ..PIPELINE
    },
    Broken {
        name: "commits_no_group",
        size: "128x128x128",
        edits: &[(
            "auto commit = [] { asm volatile(\"cp.async.commit_group;\" ::: \"memory\"); };",
            "auto commit = [] {};",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Write access",
            at: "ldmatrix(regA[m]",
        },
        ..PIPELINE
    },
    Broken {
        name: "fills_the_stage_that_is_read",
        edits: &[("load((stage + STAGES - 1) % STAGES)", "load(stage)")],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Write access",
            at: "            load(stage);",
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
            at: "load((stage + STAGES - 1) % STAGES)",
        },
        ..PIPELINE
    },
    Broken {
        name: "copies_a_tile_after_the_last",
        size: "128x128x128",
        edits: &[(
            "if (k0 + (STAGES - 1) * BK < K)",
            "if (k0 + (STAGES - 1) * BK <= K)",
        )],
        caught: Caught::Sanitizer {
            says: "Invalid __global__ read of size 16 bytes",
            at: "load((stage + STAGES - 1) % STAGES)",
        },
        ..PIPELINE
    },
    Broken {
        name: "reads_another_stage_than_it_waits_for",
        edits: &[(
            "const unsigned short* As = tiles + stage * STAGE;",
            "const unsigned short* As = tiles + (stage + 1) % STAGES * STAGE;",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Write access",
            at: "ldmatrix(regA[m]",
        },
        ..PIPELINE
    },
    Broken {
        name: "asks_for_a_stage_too_few",
        edits: &[(
            "THREADS, STAGES * STAGE * 2",
            "THREADS, (STAGES - 1) * STAGE * 2",
        )],
        caught: Caught::Sanitizer {
            says: "Invalid __shared__ write of size 16 bytes",
            at: "load((stage + STAGES - 1) % STAGES)",
        },
        ..PIPELINE
    },
    Broken {
        name: "copies_to_half_a_chunk",
        size: "128x128x64",
        edits: &[("copy_async(&As[row", "copy_async(&As[4 + row")],
        caught: Caught::Sanitizer {
            says: "is misaligned",
            at: "load(stage)",
        },
        ..PIPELINE
    },
    Broken {
        name: "no_barrier_between_the_two_halves_of_the_store",
        size: "128x128x64",
        edits: &[(
            "    __syncthreads();\n    #pragma unroll\n    for (int i = 0; i < BM",
            "    #pragma unroll\n    for (int i = 0; i < BM",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Write access",
            at: "*(uint4*)&C[row * N]",
        },
        ..PIPELINE
    },
    Broken {
        name: "pipeline_swizzles_on_one_side_only",
        size: "128x128x64",
        edits: &[("(aChunk ^ (row & 7))", "aChunk")],
        caught: Caught::Values,
        ..PIPELINE
    },
    Broken {
        name: "reads_past_the_last_stage",
        edits: &[("(stage + !next) % STAGES", "stage + !next")],
        caught: Caught::Sanitizer {
            says: "Invalid __shared__ read of size 16 bytes",
            at: "ldmatrix(regA[to]",
        },
        ..REGISTERS
    },
    Broken {
        name: "commits_after_it_has_waited",
        edits: &[("step == STEPS - 2", "step == STEPS - 1")],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Write access",
            at: "readB(now ^ 1, nextStage, nextN, nextK)",
        },
        ..WARP_TILE
    },
    Broken {
        // B's copies start in step 5 of the narrower tile's eight.
        name: "copies_after_the_group_is_closed",
        arguments: &["--tile", "128x128"],
        edits: &[("step == STEPS - 2", "step == STEPS - 4")],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Write access",
            at: "load((stage + STAGES - 1) % STAGES, copy)",
        },
        ..WARP_TILE
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
        ..WARP_TILE
    },
];
