//! Mistakes in rungs 01 to 05: values, bounds, barriers.
use super::{BASE, Broken, Caught};

const STORE: &str = "C[row * N + col] = float_to_half(acc);";

/// All of them.
pub const ALL: &[Broken] = &[
    Broken {
        name: "writes_nothing",
        rung: "01_naive",
        edits: &[(STORE, "if (acc == 12345.678f) C[0] = 1;")],
        caught: Caught::Values,
        ..BASE
    },
    Broken {
        name: "writes_nan",
        rung: "01_naive",
        edits: &[(STORE, "C[row * N + col] = 0x7fff;")],
        caught: Caught::Values,
        ..BASE
    },
    Broken {
        name: "skips_the_last_k_tile",
        rung: "03_padded",
        edits: &[("k0 < K; k0 += BK", "k0 < K - BK; k0 += BK")],
        caught: Caught::Values,
        ..BASE
    },
    Broken {
        name: "wrong_in_one_element",
        rung: "01_naive",
        edits: &[(
            STORE,
            "C[row * N + col] = float_to_half(row == M / 2 + 3 && col == N / 2 + 5 ? acc * 1.02f + 0.1f : acc);",
        )],
        caught: Caught::Values,
        ..BASE
    },
    Broken {
        name: "reads_past_the_end_of_b",
        rung: "01_naive",
        edits: &[("k < K; ++k", "k <= K; ++k")],
        caught: Caught::Sanitizer {
            says: "Invalid __global__ read of size 2 bytes",
            at: "half_to_float(B[",
        },
        ..BASE
    },
    Broken {
        name: "misaligned_float4",
        rung: "03_padded",
        edits: &[
            ("LDA = 128 + 4;", "LDA = 128 + 1;"),
            (" && LDA % 4 == 0", ""),
        ],
        caught: Caught::Sanitizer {
            says: "is misaligned",
            at: "&As[k * LDA",
        },
        ..BASE
    },
    Broken {
        name: "no_barrier_after_the_copy",
        rung: "02_smem",
        edits: &[(
            "        // Wait until the whole tile has been copied.\n        __syncthreads();\n",
            "",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Write access",
            at: "regA[0]",
        },
        ..BASE
    },
    Broken {
        name: "no_barrier_before_the_next_copy",
        rung: "02_smem",
        edits: &[(
            "        B += BK * N;\n        __syncthreads();\n",
            "        B += BK * N;\n",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between",
            at: "As[(aCol + 0)",
        },
        ..BASE
    },
    Broken {
        name: "copies_half_of_b",
        rung: "02_smem",
        edits: &[(
            "        *(float4*)&Bs[bRow * BN + bCol] =",
            "        if (bRow < 4) *(float4*)&Bs[bRow * BN + bCol] =",
        )],
        caught: Caught::Sanitizer {
            says: "Uninitialized __shared__ memory read of size 16 bytes",
            at: "regB[0]",
        },
        ..BASE
    },
    Broken {
        name: "half_a_warp_at_the_barrier",
        rung: "02_smem",
        edits: &[(
            "        // Wait until the whole tile has been copied.\n        __syncthreads();",
            "        if (lane < 16) __syncthreads();",
        )],
        caught: Caught::Sanitizer {
            says: "Divergent thread(s) in warp",
            at: "if (lane < 16)",
        },
        ..BASE
    },
    Broken {
        name: "half_the_block_at_the_barrier",
        rung: "02_smem",
        edits: &[(
            "        // Wait until the whole tile has been copied.\n        __syncthreads();",
            "        if (warp < 4 || k0 > 0) __syncthreads();",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported",
            at: "As[(aCol",
        },
        ..BASE
    },
    Broken {
        name: "waits_for_a_warp_that_never_comes",
        rung: "02_smem",
        edits: &[(
            "        // Wait until the whole tile has been copied.\n        __syncthreads();",
            "        if (warp > 0) asm volatile(\"bar.sync 1, 256;\");\n        __syncthreads();",
        )],
        caught: Caught::Sanitizer {
            says: "wait at barrier 1",
            at: "bar.sync 1, 256",
        },
        ..BASE
    },
    Broken {
        name: "does_not_wait_for_its_copies",
        rung: "05_swizzle",
        edits: &[(
            "        asm volatile(\"cp.async.wait_all;\" ::: \"memory\");\n",
            "",
        )],
        caught: Caught::Sanitizer {
            says: "Race reported between Asynchronous Write access",
            at: "ldmatrix(regA[m]",
        },
        ..BASE
    },
    Broken {
        name: "swizzles_on_one_side_only",
        rung: "05_swizzle",
        edits: &[(
            "ldmatrix(regA[m], &As[row * BK + (chunk ^ (row & 7)) * CHUNK])",
            "ldmatrix(regA[m], &As[row * BK + chunk * CHUNK])",
        )],
        caught: Caught::Values,
        ..BASE
    },
];
