//! Kernels that the book runs. Their PTX is committed in `book/kernels/`, so that a reader needs no compiler. Of their
//! source only the lines that differ from the rung's are ([`EDITS`]), for the page that steps through them.
//!
//! Some are [broken](super::all), for the page of mistakes. [`EXPERIMENTS`] are correct for at least one size, and
//! test statements of the page of claims.
use diffy::{DiffOptions, Line};
use harness::{KernelFile, ptx_file};
use serde_json::{Value, json};

use super::{BASE, Broken, Caught, KERNEL, all};
use crate::workspace::{read, root};

/// The file of `book/kernels/` that says how each kernel's source differs from its rung's.
pub const EDITS: &str = "edits.json";

/// The broken kernels that the book shows.
const MISTAKES: &[&str] = &[
    "writes_nothing",
    "reads_past_the_end_of_b",
    "misaligned_float4",
    "no_barrier_after_the_copy",
    "no_barrier_before_the_next_copy",
    "copies_half_of_b",
    "half_a_warp_at_the_barrier",
    "does_not_wait_for_its_copies",
    "swizzles_on_one_side_only",
    "producer_waits_for_the_other_parity",
    "does_not_wait_for_tma",
    "epilogue_does_not_wait_for_wgmma",
    "no_proxy_fence_before_the_store",
];

/// Rungs with one change. The expected result of each is in `book/claims.toml` or on the page that runs it.
pub const EXPERIMENTS: &[Broken] = &[
    // `ldmatrix` from padded rows: 144 and 272 bytes long, where 04 has 128 and 256.
    Broken {
        name: "padded_ldmatrix",
        rung: "04_mma",
        edits: &[
            ("[BM * BK + BK * BN];", "[BM * LDA + BK * LDB];"),
            ("tiles + BM * BK;", "tiles + BM * LDA;"),
            (
                "constexpr int CHUNK = 8; ",
                "constexpr int LDA = BK + 8, LDB = BN + 8;              // elements from one row to the next\n\
                 constexpr int CHUNK = 8; ",
            ),
            (
                "static_assert(BM * BN <= BM * BK + BK * BN",
                "static_assert(BM * LDB <= BM * LDA + BK * LDB",
            ),
            ("As[row * BK", "As[row * LDA"),
            ("Bs[row * BN", "Bs[row * LDB"),
            ("Cs[row * BN", "Cs[row * LDB"),
        ],
        ..BASE
    },
    // A thread's eight columns in one run, where 02 has two runs of four.
    Broken {
        name: "b_in_one_run",
        rung: "02_smem",
        edits: &[
            ("threadCol * 4]", "threadCol * 8]"),
            ("threadCol * 4 + 64]", "threadCol * 8 + 4]"),
            (
                "threadRow * TM) * N + tileCol + threadCol * 4;",
                "threadRow * TM) * N + tileCol + threadCol * 8;",
            ),
            ("C[m * N + n * 16]", "C[m * N + n]"),
        ],
        ..BASE
    },
    // Lane 0 of each warp waits for a value from lane 1: forever, if lanes ran in lockstep.
    Broken {
        name: "lanes_wait_for_lanes",
        rung: "01_naive",
        edits: &[(
            "    // Unrolled, so",
            "    // Lane 0 waits for lane 1 of its own warp.\n    \
             __shared__ volatile int said[THREADS / 32];\n    \
             const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;\n    \
             if (lane == 0)\n        said[warp] = 0;\n    \
             __syncwarp();\n    \
             if (lane == 0)\n        while (said[warp] == 0)\n            ;\n    \
             else if (lane == 1)\n        said[warp] = 1;\n    \
             __syncwarp();\n\n    \
             // Unrolled, so",
        )],
        ..BASE
    },
    // Correct if N equals K.
    Broken {
        name: "takes_k_for_n",
        rung: "01_naive",
        size: "128x256x64",
        edits: &[("B[k * N + col]", "B[k * K + col]")],
        caught: Caught::ValuesAtSize,
        ..BASE
    },
    // Free of conflicts like 03, with rows nine times as long.
    Broken {
        name: "pads_too_much",
        rung: "03_padded",
        edits: &[("LDA = 128 + 4;", "LDA = 128 + 4 + 1024;")],
        ..BASE
    },
    // Blocks of 256 threads that declare the shared memory of a 128x128 tile of f32, without and with one float of
    // padding in each row. They leave it unused: the experiment is how many of them fit on an SM.
    Broken {
        name: "asks_for_a_tile",
        rung: "01_naive",
        edits: &[
            ("BM = 16;", "BM = 4; "),
            ("THREADS, 0, 1}", "THREADS, 128 * 128 * 4, 1}"),
        ],
        ..BASE
    },
    Broken {
        name: "asks_for_a_padded_tile",
        rung: "01_naive",
        edits: &[
            ("BM = 16;", "BM = 4; "),
            ("THREADS, 0, 1}", "THREADS, 128 * 129 * 4, 1}"),
        ],
        ..BASE
    },
    // Rung 11 with two stages, where shared memory has space for four.
    Broken {
        name: "two_stages",
        rung: "11_specialized",
        edits: &[("STAGES = 226 * 1024 / (int)sizeof(Stage);", "STAGES = 2;")],
        ..BASE
    },
    // Rung 11 with barriers of cluster scope, which take longer without changing a counter.
    Broken {
        name: "barriers_of_cluster_scope",
        rung: "11_specialized",
        // ANCHOR: cluster_scope
        edits: &[
            ("mbarrier_arrive(", "arrive_for_cluster("),
            ("mbarrier_wait(", "wait_for_cluster("),
            (
                "#include \"hopper.cuh\"\n",
                r#"#include "hopper.cuh"

__device__ void arrive_for_cluster(unsigned long long* barrier)
{
    asm volatile("mbarrier.arrive.release.cluster.shared::cta.b64 _, [%0];"
                 :: "r"(address(barrier)) : "memory");
}

__device__ void wait_for_cluster(unsigned long long* barrier, int parity)
{
    asm volatile("{.reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;}" :: "r"(address(barrier)), "r"(parity) : "memory");
}
"#,
            ),
        ],
        // ANCHOR_END: cluster_scope
        ..BASE
    },
    // Rung 16 without the shuffle that lets the compiler keep descriptors in uniform registers.
    Broken {
        name: "consumer_by_thread",
        rung: "16_stream_k",
        arguments: &["--tile", "128x256"],
        edits: &[("__shfl_sync(~0u, warpgroup - 1, 0)", "warpgroup - 1")],
        ..BASE
    },
];

/// All of them.
pub fn shown() -> impl Iterator<Item = &'static Broken> {
    let mistakes = all().filter(|broken| MISTAKES.contains(&broken.name));
    mistakes.chain(EXPERIMENTS)
}

/// What [`EDITS`] holds: by kernel, its rung, and the lines of the rung's source that are replaced, from the first to the
/// last: where they begin, counted from 0, how many they are, and the text in their place.
pub fn edits() -> String {
    let kernels = shown().map(|broken| {
        let of_rung = read(&root().join("rungs").join(broken.rung).join(KERNEL));
        let edits = replaced(&of_rung, &broken.source());
        (
            broken.name.to_owned(),
            json!({ "rung": broken.rung, "edits": edits }),
        )
    });
    format!("{:#}\n", Value::Object(kernels.collect()))
}

fn replaced(before: &str, after: &str) -> Vec<Value> {
    let mut options = DiffOptions::new();
    options.set_context_len(0);
    let patch = options.create_patch(before, after);
    let hunks = patch.hunks().iter().map(|hunk| {
        let (at, count) = (hunk.old_range().start(), hunk.old_range().len());
        let inserted = hunk.lines().iter().map(|line| match line {
            Line::Insert(text) => *text,
            Line::Context(_) | Line::Delete(_) => "",
        });
        // Where nothing is removed, a patch names the line before.
        let at = if count == 0 { at } else { at - 1 };
        json!([at, count, inserted.collect::<String>()])
    });
    hunks.collect()
}

impl Broken {
    /// Its file's name.
    pub fn file(&self) -> String {
        format!("{}.cu", self.name)
    }

    /// The kernel, from this text and with this PTX.
    pub fn kernel_file<'a>(
        &'a self,
        file: &'a str,
        source: &'a str,
        ptx: &'a str,
    ) -> KernelFile<'a> {
        let tile = self
            .arguments
            .iter()
            .skip_while(|&&word| word != "--tile")
            .nth(1);
        KernelFile {
            file,
            source,
            configuration: tile.copied().unwrap_or_default(),
            ptx,
            sass: "",
            arch: ptx_file::arch_of(KERNEL, source),
        }
    }
}
