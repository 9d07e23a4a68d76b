//! `cargo ladder grade --untrusted` on submissions of any kind: it ends with a grade or a reason, and reveals nothing
//! of the machine. Skipped without NVRTC or a sandbox; `sandbox.rs` reports that.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use grader::sandbox::Limits;

const LADDER: &str = env!("CARGO_BIN_EXE_ladder");

/// The time limit of a submission; honest ones take a tenth.
const LONGEST: Duration = Duration::from_secs(120);

fn skipped() -> bool {
    grader::sandboxed(Path::new(LADDER), Limits::default()).is_err()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn grade(kernel: &Path, more: &[&str]) -> Output {
    let started = Instant::now();
    let output = Command::new(LADDER)
        .current_dir(root())
        .args(["grade", "course/assignments/05_swizzle"])
        .arg(kernel)
        .args(more)
        .output()
        .expect("the ladder starts");
    let took = started.elapsed();
    assert!(took < LONGEST, "{} takes {took:?}", kernel.display());
    output
}

/// All output.
fn said(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{out}{err}")
}

#[test]
fn the_grade_is_the_same_with_and_without_the_lock() {
    if skipped() {
        return;
    }
    let folder = root().join("course/assignments/05_swizzle");
    for file in ["kernel.cu", "solution/kernel.cu"] {
        let [open, locked] = [&["--json"][..], &["--json", "--untrusted"]]
            .map(|more| grade(&folder.join(file), more));
        assert_eq!(said(&open), said(&locked));
        assert_eq!(open.status.code(), locked.status.code());
        assert!(said(&open).contains("\"score\""));
    }
}

/// The beginning of a kernel that may do anything.
const HEAD: &str = "#ifndef TILE_M\n#define TILE_M 64\n#define TILE_N 32\n#define TILE_K 32\n#endif\n\
    extern \"C\" __constant__ int gemm_launch[] = {TILE_M, TILE_N, TILE_K, 128, 0, 1};\n";

/// A kernel with this body, after these declarations.
fn kernel(before: &str, body: &str) -> String {
    format!(
        "{HEAD}{before}\nextern \"C\" __global__ void gemm(const unsigned short* A, const unsigned short* B, \
         unsigned short* C, int M, int N, int K)\n{{\n{body}\n}}\n"
    )
}

/// Sources that compile, and would exhaust the machine that runs them; and a word of the expected message.
fn hostile() -> Vec<(&'static str, String, &'static str)> {
    let many =
        |count: usize, line: &dyn Fn(usize) -> String| (0..count).map(line).collect::<String>();
    let launch = |numbers: &str| {
        kernel("", "C[0] = 1;").replace("{TILE_M, TILE_N, TILE_K, 128, 0, 1}", numbers)
    };
    vec![
        (
            "a loop",
            kernel("", "while (*(volatile int*)A != 1 || true) C[0] = 1;"),
            "was stopped",
        ),
        (
            "an array",
            kernel("__device__ char big[1ull << 40];", "C[0] = big[K];"),
            "larger than",
        ),
        (
            "many arrays",
            kernel(
                &many(60, &|i| format!("__device__ char big{i}[1 << 28];\n")),
                &many(60, &|i| format!("C[{i}] = big{i}[K];\n")),
            ),
            "memory",
        ),
        (
            "local memory",
            kernel("", "volatile char own[1 << 24]; own[K] = 1; C[0] = own[M];"),
            "",
        ),
        (
            "shared memory",
            kernel(
                "__shared__ volatile char big[1 << 27];",
                "big[K] = 1; C[0] = big[M];",
            ),
            "does not fit its memory",
        ),
        (
            "printf",
            kernel(
                "extern \"C\" int printf(const char*, ...);",
                "for (;;) printf(\"on and on %d\", K);",
            ),
            "more than 64 MiB were printed",
        ),
        (
            "malloc",
            kernel("", "for (;;) C[0] = *(new char[1 << 20]);"),
            "",
        ),
        (
            "a call to itself",
            kernel(
                "__device__ __noinline__ int f(volatile int* x, int n) { return n + x[n] + f(x, n + 1) * x[1]; }",
                "C[0] = f((volatile int*)A, K);",
            ),
            "",
        ),
        (
            "two that call each other twice",
            kernel(
                &many(24, &|i| {
                    format!(
                        "__device__ __noinline__ int f{}(volatile int* x) {{ return {}; }}\n",
                        i,
                        match i {
                            0 => "x[0]".into(),
                            _ => format!("f{0}(x) + f{0}(x + 1)", i - 1),
                        }
                    )
                }),
                "C[0] = f23((volatile int*)A);",
            ),
            "",
        ),
        (
            "braces",
            kernel(
                "",
                &format!(
                    "asm volatile(\"{}{}\");",
                    "{".repeat(50_000),
                    "}".repeat(50_000)
                ),
            ),
            "braces",
        ),
        (
            "brackets",
            kernel(
                "",
                &format!(
                    "asm volatile(\"mov.u32 %0, {}0{};\" : : \"r\"(K));",
                    "[".repeat(50_000),
                    "]".repeat(50_000)
                ),
            ),
            "",
        ),
        (
            "vectors",
            kernel(
                "",
                &format!(
                    "asm volatile(\"mov.b64 %0, {}0{};\" : : \"r\"(K));",
                    "{".repeat(50_000),
                    "}".repeat(50_000)
                ),
            ),
            "",
        ),
        (
            "signs",
            kernel(
                "",
                &format!(
                    "asm volatile(\"mov.u32 %0, {}1;\" : : \"r\"(K));",
                    "-".repeat(50_000)
                ),
            ),
            "",
        ),
        (
            "parentheses",
            kernel(
                "",
                &format!(
                    "asm volatile(\"mov.u32 %0, {}1{};\" : : \"r\"(K));",
                    "(".repeat(50_000),
                    ")".repeat(50_000)
                ),
            ),
            "",
        ),
        (
            "declared registers",
            kernel("", "asm volatile(\"{ .reg .b32 r<4000000000>; }\");"),
            "registers",
        ),
        (
            "a file to include",
            kernel("", "asm volatile(\".include \\\"/etc/passwd\\\"\");"),
            "",
        ),
        (
            "labels",
            kernel(
                "",
                &format!(
                    "asm volatile(\"{}\");",
                    many(20_000, &|i| format!("L{i}: bra L{i};\\n"))
                ),
            ),
            "",
        ),
        (
            "instructions",
            kernel(
                "",
                &format!(
                    "volatile int* x = (volatile int*)A;\n{}",
                    "x[0] = x[1];\n".repeat(60_000)
                ),
            ),
            "",
        ),
        (
            "threads",
            launch("{TILE_M, TILE_N, TILE_K, 2147483647, 0, 1}"),
            "threads",
        ),
        (
            "no threads",
            launch("{TILE_M, TILE_N, TILE_K, 0, 0, 1}"),
            "",
        ),
        (
            "dynamic shared memory",
            launch("{TILE_M, TILE_N, TILE_K, 128, 2147483647, 1}"),
            "",
        ),
        (
            "clusters",
            launch("{TILE_M, TILE_N, TILE_K, 128, 0, 2147483647}"),
            "",
        ),
        (
            "blocks that stay",
            launch("{TILE_M, TILE_N, TILE_K, 128, 0, 1, 2147483647}"),
            "",
        ),
        (
            "a tile",
            launch("{2147483647, 2147483647, 2147483647, 128, 0, 1}"),
            "",
        ),
        ("a tile of nothing", launch("{0, 0, 0, 128, 0, 1}"), ""),
        (
            "another size",
            launch("{-1, -1, -1, -1, -1, -1, -1, -1, -1}"),
            "gemm_launch",
        ),
        ("nothing", String::new(), "gemm"),
        (
            "no text",
            String::from_utf8_lossy(&[0xff, 0xfe, 0x80, 0x41]).into_owned(),
            "",
        ),
    ]
}

#[test]
fn every_submission_ends_with_a_grade() {
    if skipped() {
        return;
    }
    let submissions = Mutex::new(hostile().into_iter());
    let next = || submissions.lock().expect("no panic").next();
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let folder = tempfile::tempdir().expect("a folder");
                let path = folder.path().join("kernel.cu");
                while let Some((name, text, word)) = next() {
                    fs::write(&path, text).expect("a file");
                    let output = grade(&path, &["--untrusted"]);
                    let (status, said) = (output.status, said(&output));
                    // 101 is the exit code of a panic.
                    if status.code() != Some(1) || !said.contains(word) || said.len() > 100 << 10 {
                        let text = format!("{name}, {status}: {said:.2000}");
                        wrong.lock().expect("no panic").push(text);
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("no panic");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// The grader reads submissions outside the sandbox, so it checks what kind of file each is.
#[test]
#[cfg(unix)]
fn a_link_to_a_file_of_the_teachers_is_not_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("secret");
    fs::write(&secret, "the_teachers_own_words\n").expect("a file");
    for (name, kernel) in [("kernel.cu", true), ("prediction.toml", false)] {
        let submission = tempfile::tempdir().expect("a folder");
        let write = |name: &str| fs::write(submission.path().join(name), "int x;").expect("a file");
        if !kernel {
            write("kernel.cu");
        }
        std::os::unix::fs::symlink(&secret, submission.path().join(name)).expect("a link");
        for more in [&[][..], &["--untrusted"]] {
            let output = grade(&submission.path().join("kernel.cu"), more);
            let said = said(&output);
            assert!(!said.contains("the_teachers_own_words"), "{said}");
            assert_eq!(output.status.code(), Some(2), "{said}");
            // Without a compiler, the message is about that.
            assert!(said.contains("not a plain file") || skipped(), "{said}");
        }
    }
}

/// A whole class with one attacker.
#[test]
fn a_class_is_compiled_in_the_sandbox() {
    if skipped() {
        return;
    }
    let class = tempfile::tempdir().expect("a folder");
    let secret = class.path().join(".secret");
    fs::write(&secret, "sixteen_bytes_or_more\n").expect("a file");
    let include = format!("#include \"{}\"\n", secret.display());
    for (student, text) in [
        ("ada", include),
        (
            "bob",
            fs::read_to_string(root().join("course/assignments/05_swizzle/kernel.cu"))
                .expect("a starter"),
        ),
    ] {
        fs::create_dir(class.path().join(student)).expect("a folder");
        fs::write(class.path().join(student).join("kernel.cu"), text).expect("a file");
    }
    let graded = |more: &[&str]| {
        let mut command = Command::new(LADDER);
        command
            .current_dir(root())
            .args(["grade", "course/assignments/05_swizzle", "--class"])
            .arg(class.path());
        let output = command.args(more).output().expect("the ladder starts");
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let read = |student: &str| {
            fs::read_to_string(class.path().join(student).join("grade.json")).expect("a grade")
        };
        (read("ada"), read("bob"))
    };
    let (ada, bob) = graded(&["--trusted"]);
    assert!(
        ada.contains("sixteen_bytes_or_more"),
        "without the lock it would be shown: {ada}"
    );
    let (locked_ada, locked_bob) = graded(&[]);
    assert!(
        !locked_ada.contains("sixteen_bytes_or_more"),
        "{locked_ada}"
    );
    assert_eq!(bob, locked_bob);
}
