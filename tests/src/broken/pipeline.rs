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
            at: "read(0, 0, 0)",
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
            at: "read(0, 0, 0)",
        },
        ..PIPELINE
    },
    Broken {
        name: "waits_for_the_wrong_number_of_groups",
        size: "128x128x128",
        edits: &[("\"n\"(STAGES - 2)", "\"n\"(STAGES - 1)")],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Write access",
            at: "read(0, 0, 0)",
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
            at: "read(0, 0, 0)",
        },
        ..PIPELINE
    },
    Broken {
        name: "fills_the_stage_that_is_read",
        edits: &[(
            "filling == (STAGES - 1) * STAGE * 2",
            "filling == (STAGES - 2) * STAGE * 2",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Read access",
            at: "load();",
        },
        ..PIPELINE
    },
    Broken {
        name: "starts_one_tile_too_many",
        edits: &[(
            "for (int i = 0; i < STAGES - 1; ++i)\n        load();",
            "for (int i = 0; i < STAGES; ++i)\n        load();",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Read access",
            at: "load();",
        },
        ..PIPELINE
    },
    Broken {
        name: "copies_a_tile_after_the_last",
        size: "128x128x128",
        edits: &[("if (left-- > 0)", "if (left-- >= 0)")],
        caught: Caught::Sanitizer {
            says: "Invalid __global__ read of size 16 bytes",
            at: "load();",
        },
        ..PIPELINE
    },
    Broken {
        name: "reads_another_stage_than_it_waits_for",
        edits: &[("read(0, 0, 0);", "read(0, STAGE * 2, 0);")],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Write access",
            at: "read(0, STAGE * 2, 0)",
        },
        ..PIPELINE
    },
    Broken {
        name: "reads_past_the_last_stage",
        edits: &[(
            "stage = stage == (STAGES - 1) * STAGE * 2",
            "stage = stage == STAGES * STAGE * 2",
        )],
        caught: Caught::Sanitizer {
            says: "Invalid __shared__ read of size 16 bytes",
            at: "ldmatrix(regA[to][m]",
        },
        ..PIPELINE
    },
    Broken {
        name: "asks_for_a_stage_too_few",
        edits: &[("STAGES * STAGE * 2, 1}", "(STAGES - 1) * STAGE * 2, 1}")],
        caught: Caught::Sanitizer {
            says: "Invalid __shared__ write of size 16 bytes",
            at: "load();",
        },
        ..PIPELINE
    },
    Broken {
        name: "copies_to_half_a_chunk",
        size: "128x128x64",
        edits: &[("copy_async(aTo + filling", "copy_async(aTo + 8 + filling")],
        caught: Caught::Sanitizer {
            says: "is misaligned",
            at: "load();",
        },
        ..PIPELINE
    },
    Broken {
        name: "stores_while_others_read",
        size: "128x128x64",
        edits: &[(
            "            if (k + 16 == BK) {\n                wait();",
            "            if (k + 16 == BK) {\n                if (k0 + BK < K) wait();",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Read access",
            at: "*(unsigned*)&Cs[",
        },
        ..PIPELINE
    },
    Broken {
        name: "no_barrier_between_the_two_halves_of_the_store",
        size: "128x128x64",
        edits: &[("    __syncthreads();\n    C +=", "    C +=")],
        caught: Caught::Sanitizer {
            says: "Race reported between Write access",
            at: "*(uint4*)&C[row * N]",
        },
        ..PIPELINE
    },
    Broken {
        name: "pipeline_swizzles_on_one_side_only",
        size: "128x128x64",
        edits: &[("(aChunk ^ aRow % 8)", "aChunk")],
        caught: Caught::Values,
        ..PIPELINE
    },
];
