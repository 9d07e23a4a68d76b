//! `cargo ladder grade` cannot be fooled: solutions get all points, and whoever cheats or errs loses those that the
//! mistake costs, with the right complaint. The kernels are compiled here, so NVRTC is needed.
use std::path::{Path, PathBuf};
use std::{env, fs};

use ladder::grade::{Grade, grade, starter};
use ladder_tests::workspace::{folders, has_nvrtc, read, root};

const RIGHT: &str = "plain = 4\nrow_and_3 = 2\npadded = 1\n";

fn assignment() -> PathBuf {
    root().join("assignments/05_swizzle")
}

fn solution() -> String {
    read(&assignment().join("solution/kernel.cu"))
}

/// Grades a text, with all predictions right; every kernel has a folder of its own.
fn graded(name: &str, text: &str) -> Grade {
    graded_with(name, text, Some((b"a secret of the tests", "student")))
}

fn graded_with(name: &str, text: &str, secret: Option<(&[u8], &str)>) -> Grade {
    let folder = env::temp_dir().join(format!("ladder-grade-{}-{name}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("prediction.toml"), RIGHT).expect("a file");
    let kernel = folder.join("kernel.cu");
    fs::write(&kernel, text).expect("a file");
    let grade = grade(&assignment(), &kernel, secret).expect("a grade");
    fs::remove_dir_all(&folder).expect("it was made above");
    grade
}

/// Points for: values at public sizes, at hidden ones, mechanism, sanitizer.
fn points(grade: &Grade) -> [f64; 4] {
    let of = |name| {
        let mut tests = grade.tests().iter();
        tests
            .find(|test| test.name == name)
            .map_or(f64::NAN, |test| test.points)
    };
    [
        of("values at public sizes"),
        of("values at hidden sizes"),
        of("mechanism"),
        of("sanitizer"),
    ]
}

const ALL: [f64; 4] = [20.0, 20.0, 35.0, 15.0];
const NONE: [f64; 4] = [0.0; 4];

/// A submission that must lose points.
struct Mutation {
    name: &'static str,
    /// Text of the solution, and what stands there instead.
    edits: &'static [(&'static str, &'static str)],
    points: [f64; 4],
    /// In one of the complaints: what it says, and the mistake that it links to.
    says: &'static str,
    mistake: &'static str,
}

const FORMULA: &str = "(chunk ^ (row >> 1 & 3)) * CHUNK";
const STORE: &str = "*(uint4*)&C[row * N] = *(const uint4*)&Cs[place(row, myChunk)];";
const TILES: &str = "__shared__ __align__(128) unsigned short tiles[BM * BK + BK * BN];";
const LAUNCH: &str = "extern \"C\" __constant__ int gemm_launch[]";
const START: &str = "    float acc[WM / 16][WN / 8][4] = {};";
const WAIT: &str =
    "        asm volatile(\"cp.async.wait_all;\" ::: \"memory\");\n        __syncthreads();";

const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "writes_nothing",
        edits: &[(STORE, "")],
        points: NONE,
        says: "NaN where",
        mistake: "c-is-nan",
    },
    Mutation {
        name: "writes_nan",
        edits: &[(
            STORE,
            "*(uint4*)&C[row * N] = make_uint4(~0u, ~0u, ~0u, ~0u);",
        )],
        points: NONE,
        says: "NaN where",
        mistake: "c-is-nan",
    },
    Mutation {
        name: "writes_zeros",
        edits: &[(STORE, "*(uint4*)&C[row * N] = make_uint4(0, 0, 0, 0);")],
        points: NONE,
        says: "C[0][0], 0 where",
        mistake: "swizzle-on-one-side",
    },
    Mutation {
        name: "right_for_public_sizes_only",
        edits: &[(
            START,
            "    if (K != 32 && K != 160 && K != 128) return;\n    float acc[WM / 16][WN / 8][4] = {};",
        )],
        points: [20.0, 0.0, 0.0, 0.0],
        says: "hidden size",
        mistake: "wrong-for-other-sizes",
    },
    Mutation {
        // A of seed 0 begins with -1.477, at every size.
        name: "right_for_the_public_seed_only",
        edits: &[(
            START,
            "    const bool known = *(volatile const unsigned short*)(A - tileRow * K - myChunk * CHUNK) == 0xbde9;\n    if (!known) return;\n    float acc[WM / 16][WN / 8][4] = {};",
        )],
        points: [20.0, 0.0, 0.0, 0.0],
        says: "hidden size",
        mistake: "wrong-for-other-sizes",
    },
    Mutation {
        name: "only_the_first_block",
        edits: &[(
            START,
            "    if (blockIdx.x > 0) return;\n    float acc[WM / 16][WN / 8][4] = {};",
        )],
        points: [20.0 / 3.0, 0.0, 0.0, 0.0],
        says: "NaN where",
        mistake: "c-is-nan",
    },
    Mutation {
        name: "no_swizzle",
        edits: &[(FORMULA, "chunk * CHUNK")],
        points: [20.0, 20.0, 0.0, 15.0],
        says: "lanes 0 and 2 are served together",
        mistake: "conflicts-on-ldmatrix",
    },
    Mutation {
        name: "two_way",
        edits: &[(FORMULA, "(chunk ^ (row & 3)) * CHUNK")],
        points: [20.0, 20.0, 14.0, 15.0],
        says: "lanes 0 and 4 are served together",
        mistake: "conflicts-on-ldmatrix",
    },
    Mutation {
        name: "the_rungs_own_formula",
        edits: &[(FORMULA, "(chunk ^ (row & 7)) * CHUNK")],
        points: NONE,
        says: "out of bounds",
        mistake: "out-of-bounds",
    },
    Mutation {
        name: "swizzled_on_one_side",
        edits: &[("&As[place(row, chunk)]", "&As[row * ROW + chunk * CHUNK]")],
        points: NONE,
        says: "elements of C are wrong",
        mistake: "swizzle-on-one-side",
    },
    Mutation {
        name: "padded",
        edits: &[
            (
                "return row * ROW + (chunk ^ (row >> 1 & 3)) * CHUNK;",
                "return row * (ROW + 8) + chunk * CHUNK;",
            ),
            ("tiles + BM * BK;", "tiles + BM * (ROW + 8);"),
            (
                TILES,
                "__shared__ __align__(128) unsigned short tiles[(BM + BK) * (ROW + 8)];",
            ),
        ],
        points: [20.0, 20.0, 0.0, 15.0],
        says: "1,536 more than allowed",
        mistake: "over-padding",
    },
    Mutation {
        name: "more_shared_memory_than_it_uses",
        edits: &[(
            "{BM, BN, BK, THREADS, 0, 1}",
            "{BM, BN, BK, THREADS, 16, 1}",
        )],
        points: [20.0, 20.0, 0.0, 15.0],
        says: "16 more than allowed",
        mistake: "over-padding",
    },
    Mutation {
        name: "no_barrier_after_the_copy",
        edits: &[(
            WAIT,
            "        asm volatile(\"cp.async.wait_all;\" ::: \"memory\");",
        )],
        points: NONE,
        says: "Race reported",
        mistake: "race-after-the-copy",
    },
    Mutation {
        // Works on hardware as long as no warp is a step ahead: C may be right, the race stays.
        name: "no_barrier_before_the_store",
        edits: &[(
            "            }\n    __syncthreads();\n    C +=",
            "            }\n    C +=",
        )],
        points: NONE,
        says: "Race reported",
        mistake: "race-after-the-copy",
    },
    Mutation {
        name: "no_wait",
        edits: &[(WAIT, "        __syncthreads();")],
        points: NONE,
        says: "Race reported",
        mistake: "cp-async-wait",
    },
    Mutation {
        name: "out_of_bounds_by_one",
        edits: &[(
            START,
            "    if (blockIdx.x == 0 && threadIdx.x == 0) C[M * N] = 0;\n    float acc[WM / 16][WN / 8][4] = {};",
        )],
        points: NONE,
        says: "out of bounds",
        mistake: "out-of-bounds",
    },
    Mutation {
        name: "reads_what_nobody_wrote",
        edits: &[(
            START,
            "    if (*(volatile unsigned short*)&tiles[threadIdx.x] == 1) __nanosleep(1);\n    float acc[WM / 16][WN / 8][4] = {};",
        )],
        points: [20.0, 20.0, 35.0, 0.0],
        says: "ninitialized",
        mistake: "uninitialised",
    },
    Mutation {
        name: "endless_loop",
        edits: &[(
            START,
            "    for (volatile int i = 0; i < 1; ) {}\n    float acc[WM / 16][WN / 8][4] = {};",
        )],
        points: NONE,
        says: "Deadlock",
        mistake: "deadlock",
    },
    Mutation {
        name: "nearly_endless_loop",
        edits: &[(
            START,
            "    for (volatile unsigned i = 1; i; i += 2) {}\n    float acc[WM / 16][WN / 8][4] = {};",
        )],
        points: NONE,
        says: "was stopped after",
        mistake: "deadlock",
    },
    Mutation {
        name: "huge_allocation",
        edits: &[
            (
                LAUNCH,
                "__device__ char huge[1ull << 42];\nextern \"C\" __constant__ int gemm_launch[]",
            ),
            (
                START,
                "    huge[threadIdx.x] = 1;\n    float acc[WM / 16][WN / 8][4] = {};",
            ),
        ],
        points: NONE,
        says: "is larger than",
        mistake: "none-of-these",
    },
    Mutation {
        name: "another_tile",
        edits: &[("BM = 64,", "BM = 128,"), ("WM = 32,", "WM = 64,")],
        points: NONE,
        says: "this assignment's is 64x32x32",
        mistake: "none-of-these",
    },
    Mutation {
        name: "does_not_compile",
        edits: &[(FORMULA, "chunk ^^ CHUNK")],
        points: NONE,
        says: "does not compile",
        mistake: "none-of-these",
    },
];

/// One thread an element, straight from global memory: no conflict, and no shared memory.
const NO_SHARED_MEMORY: &str = r#"
#include <cuda_fp16.h>
extern "C" __constant__ int gemm_launch[] = {64, 32, 32, 128, 0, 1};
extern "C" __global__ void gemm(const __half* A, const __half* B, __half* C, int M, int N, int K)
{
    const int tileRow = blockIdx.x % (M / 64) * 64, tileCol = blockIdx.x / (M / 64) * 32;
    for (int i = threadIdx.x; i < 64 * 32; i += 128) {
        const int row = tileRow + i / 32, col = tileCol + i % 32;
        float sum = 0;
        for (int k = 0; k < K; ++k)
            sum = fmaf(__half2float(A[row * K + k]), __half2float(B[k * N + col]), sum);
        C[row * N + col] = __float2half_rn(sum);
    }
}
"#;

fn mutated(mutation: &Mutation) -> String {
    mutation.edits.iter().fold(solution(), |text, (from, to)| {
        assert!(
            text.contains(from),
            "{}: {from:?} is not in the solution",
            mutation.name
        );
        text.replace(from, to)
    })
}

fn close(a: [f64; 4], b: [f64; 4]) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6)
}

/// What is wrong with a grade, if anything.
fn differs(
    name: &str,
    grade: &Grade,
    points_of: [f64; 4],
    says: &str,
    mistake: &str,
) -> Option<String> {
    let found = grade.complaints().iter();
    let complains = found.clone().any(|complaint| complaint.what.contains(says))
        && found.clone().any(|complaint| complaint.mistake == mistake);
    let good = close(points(grade), points_of) && complains && !grade.passed();
    (!good).then(|| format!("{name}: {:?}\n{}", points(grade), grade.text("book")))
}

#[test]
fn wrong_and_cheating_kernels_lose_points_for_the_right_reason() {
    if !has_nvrtc(gpu::Nvrtc::find().is_ok()) {
        return;
    }
    let mut failed: Vec<String> = MUTATIONS
        .iter()
        .filter_map(|one| {
            let grade = graded(one.name, &mutated(one));
            differs(one.name, &grade, one.points, one.says, one.mistake)
        })
        .collect();
    let grade = graded("no_shared_memory", NO_SHARED_MEMORY);
    let points_of = [20.0, 20.0, 0.0, 15.0];
    failed.extend(differs(
        "no_shared_memory",
        &grade,
        points_of,
        "too few ldmatrix",
        "none-of-these",
    ));
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[test]
fn right_kernels_get_all_points() {
    if !has_nvrtc(gpu::Nvrtc::find().is_ok()) {
        return;
    }
    // Another permutation of the chunks: a sum in place of an XOR.
    let rotated = solution().replace(FORMULA, "((chunk + (row >> 1)) % CHUNKS) * CHUNK");
    for (name, text) in [("solution", solution()), ("rotated", rotated)] {
        let grade = graded(name, &text);
        assert!(close(points(&grade), ALL), "{name}: {}", grade.text("book"));
        assert!(grade.passed() && grade.complaints().is_empty());
        assert!(grade.text("book").contains("Why it worked"));
    }
}

#[test]
fn a_grade_is_the_same_again_and_names_what_it_rests_on() {
    if !has_nvrtc(gpu::Nvrtc::find().is_ok()) {
        return;
    }
    let two_way = solution().replace(FORMULA, "(chunk ^ (row & 3)) * CHUNK");
    let [one, other] = ["once", "again"].map(|name| graded_with(name, &two_way, None));
    assert_eq!(one.text("book"), other.text("book"));
    assert_eq!(one.json("book"), other.json("book"));
    let results: serde_json::Value = serde_json::from_str(&one.json("book")).expect("JSON");
    assert_eq!(results["score"], 79.0);
    let extra = &results["extra_data"];
    assert!(
        extra["compiler"]
            .as_str()
            .is_some_and(|name| name.starts_with("NVRTC 1"))
    );
    assert_eq!(extra["rubric_sha256"].as_str().map(str::len), Some(64));
    assert_eq!(extra["grader"], "1");
    let tests = results["tests"].as_array().expect("tests");
    let sum: f64 = tests.iter().filter_map(|test| test["score"].as_f64()).sum();
    assert!((sum - 79.0).abs() < 1e-9);
    let hidden = tests
        .iter()
        .filter(|test| test["visibility"] == "after_published");
    assert_eq!(hidden.count(), 1);
}

/// Hidden sizes stay hidden, whoever fails at them.
#[test]
fn hidden_sizes_are_not_told() {
    if !has_nvrtc(gpu::Nvrtc::find().is_ok()) {
        return;
    }
    let only_public = MUTATIONS
        .iter()
        .find(|one| one.name == "right_for_public_sizes_only");
    let grade = graded("hidden", &mutated(only_public.expect("it is in the list")));
    let text = grade.text("book") + &grade.json("book");
    let sizes: Vec<&str> = text
        .split(|c: char| !c.is_ascii_digit() && c != 'x')
        .filter(|word| word.matches('x').count() == 2 && word.len() >= 5)
        .collect();
    assert!(sizes.is_empty(), "{sizes:?} in {text}");
}

#[test]
fn starters_are_their_solutions_without_the_answer() {
    let mut found = 0;
    for assignment in folders(&root().join("assignments")) {
        let solution = read(&assignment.join("solution/kernel.cu"));
        let made = starter::of_solution(&solution).expect("markers");
        let starter = read(&assignment.join("kernel.cu")).replace("\r\n", "\n");
        let name = assignment.display();
        assert!(
            starter == made,
            "{name}: `cargo ladder starters` writes its kernel.cu"
        );
        assert!(
            !starter.contains("//:") && !starter.contains("row >> 1"),
            "{name}"
        );
        found += 1;
    }
    assert!(found > 0);
}

/// Every page that a complaint links to is there.
#[test]
fn complaints_link_to_mistakes_of_the_book() {
    let book = read(&root().join("book/src/mistakes.md"));
    let grader = root().join("common/ladder/src/grade");
    let mut found = 0;
    for file in ["judge.rs", "mechanism.rs"] {
        for word in quoted(&grader.join(file)) {
            if word.contains('-') && word.chars().all(|c| c.is_ascii_lowercase() || c == '-') {
                assert!(
                    book.contains(&format!("{{#{word}}}")),
                    "{file}: no {word} in mistakes.md"
                );
                found += 1;
            }
        }
    }
    assert!(found > 8, "{found}");
}

fn quoted(path: &Path) -> Vec<String> {
    read(path)
        .split('"')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}
