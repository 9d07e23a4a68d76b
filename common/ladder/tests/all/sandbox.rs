//! Untrusted kernels in the sandbox. To show that these tests can fail, the same sources are compiled in this
//! process, which has no sandbox. On Linux with GEMM_REQUIRE_NVRTC=1 (as in CI) there must be a sandbox; elsewhere
//! the tests print that they are skipped.
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use std::{env, fs};

use grader::sandbox::{Limits, Sandboxed};
use harness::{Compile, Error, KernelOnDisk, Nvrtc, Source};

const LADDER: &str = env!("CARGO_BIN_EXE_ladder");

/// A text that only this machine's files contain.
const SECRET: &str = "the_hosts_own_words";

/// A kernel that compiles, appended to a test's own beginning.
const KERNEL: &str = "extern \"C\" __global__ void gemm(int *x) { x[0] = 1; }\n";

fn locked(limits: Limits) -> Option<Sandboxed> {
    let required = env::var("GEMM_REQUIRE_NVRTC").is_ok_and(|value| value == "1");
    match grader::sandboxed(Path::new(LADDER), limits) {
        Ok(locked) => Some(locked),
        Err(error) => {
            assert!(!required || !cfg!(target_os = "linux"), "{error}");
            let error = error.to_string();
            assert!(
                ["cargo ladder get-nvrtc", "Linux 5.13"]
                    .iter()
                    .any(|remedy| error.contains(remedy)),
                "{error}"
            );
            let said = format!("skipped: {error}\n");
            let _ = std::io::Write::write_all(&mut std::io::stderr(), said.as_bytes());
            None
        }
    }
}

/// All that a student sees of a compilation: PTX or messages.
fn all(compiler: &dyn Compile, text: &str) -> String {
    match Source::compiled("kernel.cu", text, "sm_80", &[], compiler) {
        Ok(source) => source.ptx,
        Err(error @ Error::Compile { .. }) => error.to_string(),
        Err(error) => panic!("{error}"),
    }
}

/// Removes spaces: their number before a caret depends on the length of a path.
fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

/// A folder of this test's own, with a file `secret` in it.
struct Host(PathBuf);

impl Host {
    fn new(name: &str) -> Self {
        let folder = env::temp_dir().join(format!("locked-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("secret"), format!("{SECRET}\n")).expect("a file");
        Self(folder)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// An `#include` of this file in every spelling, each with a name, and whether NVRTC opens it outside the sandbox.
fn spellings(file: &Path) -> Vec<(&'static str, String, bool)> {
    let path = file.display().to_string();
    let bare = path.trim_start_matches('/').to_owned();
    let up = format!("/usr/..{path}");
    let middle = path.len() / 2;
    let (left, right) = path.split_at(middle);
    let root = format!("/proc/self/root{path}");
    vec![
        ("absolute", format!("#include \"{path}\"\n"), true),
        ("in angles", format!("#include <{path}>\n"), true),
        ("relative", format!("#include \"{bare}\"\n"), true),
        ("up and down", format!("#include \"{up}\"\n"), true),
        (
            "above the root",
            format!("#include \"../../..{path}\"\n"),
            true,
        ),
        ("next", format!("#include_next \"{path}\"\n"), true),
        ("through /proc", format!("#include \"{root}\"\n"), true),
        (
            "a macro",
            format!("#define P \"{path}\"\n#include P\n"),
            true,
        ),
        (
            "a word made text",
            format!("#define P {bare}\n#define S(x) #x\n#define T(x) S(x)\n#include T(/P)\n"),
            true,
        ),
        ("a digraph", format!("%:include \"{path}\"\n"), true),
        (
            "lines spliced",
            format!("#inc\\\nlude \"{left}\\\n{right}\"\n"),
            true,
        ),
        (
            "a comment between",
            format!("#/**/include/**/\"{path}\"\n"),
            true,
        ),
        (
            "asked first",
            format!("#if __has_include(\"{path}\")\n#include \"{path}\"\n#endif\n"),
            true,
        ),
        (
            "from a line elsewhere",
            format!("#line 1 \"{path}\"\n#include \"{path}\"\n"),
            true,
        ),
        ("a trigraph", format!("??=include \"{path}\"\n"), false),
        (
            "embedded",
            format!("__device__ char x[] = {{\n#embed \"{path}\"\n}};\n"),
            false,
        ),
        ("imported", format!("#import \"{path}\"\n"), false),
        ("as a module", format!("import \"{path}\";\n"), false),
        (
            "as a line's file",
            format!("#line 1 \"{path}\"\nint y = z;\n"),
            false,
        ),
        (
            "by the assembler",
            format!(
                "__device__ void f() {{ asm(\".include \\\"{path}\\\"\"); asm(\".file 9 \\\"{path}\\\"\"); }}\n"
            ),
            false,
        ),
        (
            "by a pragma",
            format!(
                "#pragma message(\"{path}\")\n#pragma include_alias(\"a\", \"{path}\")\n#include \"a\"\n"
            ),
            false,
        ),
    ]
}

#[test]
#[cfg(target_os = "linux")]
fn no_spelling_of_an_include_shows_a_file() {
    let Some(locked) = locked(Limits::default()) else {
        return;
    };
    let open = Nvrtc::find().expect("the lock has one");
    let host = Host::new("spellings");
    let link = host.0.join("link");
    std::os::unix::fs::symlink(host.0.join("secret"), &link).expect("a link");
    let mut wrong = String::new();
    for (file, what) in [(host.0.join("secret"), ""), (link, ", by a link")] {
        for (name, include, opens) in spellings(&file) {
            let text = include + KERNEL;
            let (inside, outside) = (all(&locked, &text), all(&open, &text));
            if inside.contains(SECRET) {
                let _ = writeln!(wrong, "{name}{what} shows the file:\n{inside}");
            }
            // Nothing was redacted, but the kernel's own message is about another file.
            if inside.contains("omitted") && !text.contains("#line") {
                let _ = writeln!(wrong, "{name}{what} opens the file:\n{inside}");
            }
            if outside.contains(SECRET) != opens {
                let _ = writeln!(
                    wrong,
                    "{name}{what} without a lock: expected {opens}\n{outside}"
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Files that exist on every machine, and the text that a compilation outside the sandbox reveals of them.
#[test]
#[cfg(target_os = "linux")]
fn nothing_about_the_machine_is_revealed() {
    let Some(locked) = locked(Limits::default()) else {
        return;
    };
    let open = Nvrtc::find().expect("the lock has one");
    let nowhere = all(&locked, &format!("#include \"/no/such/file\"\n{KERNEL}"));
    assert!(
        nowhere.contains("cannot open source file \"/no/such/file\""),
        "{nowhere}"
    );
    let mut told = 0;
    for file in [
        "/etc/passwd",
        "/etc/hostname",
        "/etc/shadow",
        "/proc/self/environ",
        "/proc/self/maps",
        "/proc/self/cmdline",
        "/proc/self/fd/0",
        "/proc/self/fd/1",
        "/proc/self/exe",
        "/dev/stdin",
        "/dev/zero",
        "/dev/urandom",
        "/dev/tty",
        "/",
        "/proc",
        LADDER,
    ] {
        // It might never end.
        if !file.starts_with("/dev") && !file.contains("/fd/") && file != LADDER {
            let text = format!("#include \"{file}\"\n{KERNEL}");
            let outside = all(&open, &text);
            told += u32::from(words(&outside) != words(&nowhere.replace("/no/such/file", file)));
        }
        let text = format!("#include \"{file}\"\n{KERNEL}");
        let inside = all(&locked, &text);
        assert_eq!(
            words(&inside),
            words(&nowhere.replace("/no/such/file", file))
        );
        // Nor does the message reveal whether a file exists.
        let asked = format!("#if __has_include(\"{file}\")\n#error it is there\n#endif\n{KERNEL}");
        assert!(all(&locked, &asked).contains(".entry gemm("), "{file}");
    }
    assert!(
        told >= 5,
        "without a lock {told} files differ from one that is not there"
    );
    let asked = "#if __has_include(\"/etc/passwd\")\n#error it is there\n#endif\n";
    assert!(all(&open, asked).contains("it is there"));
}

/// The environment of this process cannot be read in the sandboxed process, nor is it passed on.
#[test]
#[cfg(target_os = "linux")]
fn the_locked_process_gets_the_environment_that_it_needs() {
    let mut child = Command::new(LADDER)
        .args(["compile-locked", "--seconds=10", "--mebibytes=2048"])
        .env_clear()
        .env("GEMM_NVRTC", "/nowhere")
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("the ladder starts");
    let status = child.wait().expect("it ends");
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().expect("piped"), &mut said)
        .expect("text");
    assert!(
        status.success() && said.starts_with("{\"Cannot\":"),
        "{said}"
    );
    assert!(said.contains("cargo ladder get-nvrtc"), "{said}");
}

/// Sources that would compile forever, exhaust memory, or print without limit.
fn bombs() -> Vec<(&'static str, String)> {
    let mut macros = String::from("#define M0 x + x\n");
    for i in 1..60 {
        let _ = writeln!(macros, "#define M{i} M{} + M{}", i - 1, i - 1);
    }
    let deep =
        |open: &str, close: &str, count: usize| open.repeat(count) + "1" + &close.repeat(count);
    vec![
        (
            "instantiations without end",
            "template <int N> struct T { static const int v = T<N + 1>::v; };\n__device__ int x = T<0>::v;\n".into(),
        ),
        (
            "instantiations without number",
            "template <int N, long M> struct T { static const int v = T<N - 1, 2 * M>::v + T<N - 1, 2 * M + 1>::v; };\n\
             template <long M> struct T<0, M> { static const int v = 1; };\n__device__ int x = T<60, 0>::v;\n".into(),
        ),
        (
            "instantiations that grow",
            "template <class A, class B> struct P {};\n\
             template <int N, class A> struct T { using t = typename T<N - 1, P<A, A>>::t; };\n\
             template <class A> struct T<0, A> { using t = A; };\n\
             template <class A> __global__ void gemm(A) {}\ntemplate __global__ void gemm(T<60, int>::t);\n".into(),
        ),
        (
            "a constant that takes for ever",
            "__device__ constexpr long f(long n) { long s = 0; for (long i = 0; i < n; ++i) for (long j = 0; j < n; ++j) s += j; return s; }\n\
             __device__ char x[f(1000000) + 1];\n".into(),
        ),
        (
            "a constant that calls itself",
            "__device__ constexpr long f(long n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\n__device__ char x[f(90)];\n".into(),
        ),
        ("macros", macros + "__device__ int f(int x) { return M59; }\n"),
        ("an array full of zeros", format!("__device__ int x[400000000] = {{1, 2}};\n{KERNEL}")),
        (
            "a loop unrolled",
            "extern \"C\" __global__ void gemm(volatile int *x) {\n#pragma unroll\nfor (int i = 0; i < 3000000; ++i) x[i] = x[i + 1];\n}\n".into(),
        ),
        ("braces", format!("__device__ int f() {{ {} }}\n", deep("{", ";}", 200_000))),
        ("parentheses", format!("__device__ int x = {};\n", deep("(", ")", 200_000))),
        ("brackets", format!("__device__ int f(int **x) {{ return x{}; }}\n", deep("[x", "]", 100_000))),
        ("conditions", "#if 1\n".repeat(100_000)),
        ("itself, with a message", "#pragma message \"again\"\n#include \"/kernel.cu\"\n".into()),
        ("itself, by its name", "#warning again\n#include __FILE__\n".into()),
        ("itself, twice", "#pragma message \"again\"\n#if __INCLUDE_LEVEL__ < 60\n#include \"kernel.cu\"\n#include \"kernel.cu\"\n#endif\n".into()),
        ("messages", "#pragma message \"on and on and on and on and on\"\n".repeat(19_000)),
    ]
}

#[test]
fn bombs_are_stopped_and_named() {
    let limits = Limits {
        seconds: 2,
        mebibytes: 1024,
    };
    let Some(locked) = locked(limits) else { return };
    let mut stopped = Vec::new();
    let mut told = String::new();
    for (name, text) in bombs() {
        let started = Instant::now();
        let said = all(&locked, &text);
        let took = started.elapsed();
        let _ = writeln!(
            told,
            "{name}: {took:.1?}, {} bytes: {:.300}",
            said.len(),
            said
        );
        assert!(took < Duration::from_secs(60), "{name} takes {took:?}");
        // Which of the two limits is reached first depends on the machine; the compiler itself may report lack of
        // memory.
        if said.contains("compilation was stopped") || said.contains("error: out of memory") {
            stopped.push(name);
        } else {
            // The compiler's own limits; or the source is valid, and the emulator has its limits.
            assert!(said.len() < 40 << 20, "{name}: {} bytes", said.len());
        }
    }
    for name in [
        "instantiations without number",
        "macros",
        "an array full of zeros",
    ] {
        assert!(stopped.contains(&name), "{name} is not stopped:\n{told}");
    }
    // After any failure, the next source is compiled.
    assert!(all(&locked, KERNEL).contains(".entry gemm("), "{told}");
}

#[test]
fn memory_is_bounded() {
    let limits = Limits {
        seconds: 20,
        mebibytes: 400,
    };
    let Some(locked) = locked(limits) else {
        return;
    };
    assert!(all(&locked, KERNEL).contains(".entry gemm("));
    let said = all(&locked, "__device__ int x[100000000] = {1, 2};");
    assert!(
        said.contains("out of its stack or of its 400 MiB"),
        "{said}"
    );
}

#[test]
fn a_long_log_is_cut_and_a_long_source_refused() {
    let Some(locked) = locked(Limits::default()) else {
        return;
    };
    let said = all(
        &locked,
        &("#pragma message \"on and on\"\n".repeat(9000) + "#error"),
    );
    assert!(
        said.len() < 70 << 10 && said.ends_with("…and more"),
        "{} bytes",
        said.len()
    );
    let said = all(&locked, &" ".repeat((1 << 20) + 1));
    assert!(
        said.contains("1048577 bytes, but only 1048576 are allowed"),
        "{said}"
    );
    let said = all(&locked, "int x;\0");
    assert!(said.contains("NUL"), "{said}");
}

/// The sandbox changes no bit of any kernel here. Without `GEMM_WHOLE_SUITE=1`, one tile of every other folder is compiled.
#[test]
fn ptx_is_the_same_with_and_without_the_lock() {
    let Some(locked) = locked(Limits::default()) else {
        return;
    };
    let open = Nvrtc::find().expect("the lock has one");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let is_whole = std::env::var_os("GEMM_WHOLE_SUITE").is_some();
    let (mut compared, mut folders) = (0, 0);
    for folder in ["rungs", "course/assignments", "book/labs"] {
        for folder in fs::read_dir(root.join(folder)).expect("a folder").flatten() {
            for folder in [folder.path(), folder.path().join("solution")] {
                let mut kernels = KernelOnDisk::in_folder(&folder).unwrap_or_default();
                folders += usize::from(!kernels.is_empty());
                if !is_whole {
                    kernels.truncate(folders % 2);
                }
                for kernel in kernels {
                    let kernel = kernel.kernel();
                    let tile = kernel.configuration.split_once('x');
                    let defines = tile.map(|(m, n)| [format!("TILE_M={m}"), format!("TILE_N={n}")]);
                    let defines = defines.iter().flatten().cloned().collect::<Vec<_>>();
                    let [inside, outside] = [&locked as &dyn Compile, &open].map(|compiler| {
                        let (text, arch) = (kernel.source, kernel.arch);
                        let source =
                            Source::compiled("/a/kernel.cu", text, arch, &defines, compiler);
                        source.expect("it compiles").ptx
                    });
                    assert!(inside == outside, "{}/{}", folder.display(), kernel.file);
                    compared += 1;
                }
            }
        }
    }
    assert!(compared >= 10, "{compared} kernels");
}

#[test]
fn ordinary_messages_are_the_same_with_and_without_the_lock() {
    let Some(locked) = locked(Limits::default()) else {
        return;
    };
    let open = Nvrtc::find().expect("the lock has one");
    for text in [
        "__global__ void f() { int x = y; }",
        "__global__ void f() { g(1)\n}",
        "static_assert(1 == 2, \"a tile has\\nto fit\");",
        "#error no\n",
        "#warning yes\nint host;\n",
        "template <class T> __device__ T f(T x) { return x.y; }\n__device__ int z = f(3);\n",
        "#include <cuda_fp16.h>\n__global__ void f(__half *x) { x->y = 1; }\n",
    ] {
        let (inside, outside) = (all(&locked, text), all(&open, text));
        assert_eq!(inside, outside);
        assert!(
            inside.starts_with("kernel.cu does not compile:\nkernel.cu("),
            "{inside}"
        );
    }
}

#[test]
fn headers_are_there() {
    let Some(locked) = locked(Limits::default()) else {
        return;
    };
    if Nvrtc::find().is_ok_and(|open| open.include_dirs().is_empty()) {
        return;
    }
    for header in [
        "cuda_fp16.h",
        "cuda_bf16.h",
        "mma.h",
        "cuda_pipeline_primitives.h",
        "cooperative_groups/details/info.h",
    ] {
        let asked =
            format!("#if !__has_include(<{header}>)\n#error it is not there\n#endif\n{KERNEL}");
        assert!(all(&locked, &asked).contains(".entry gemm("), "{header}");
    }
    let half = "#include <cuda_fp16.h>\nextern \"C\" __global__ void gemm(__half *x) { *x = __hmul(*x, __half(0.5f)); }";
    assert!(all(&locked, half).contains("mul"), "{}", all(&locked, half));
}

/// A program that answers nothing, or answers wrongly, gets nothing compiled.
#[test]
#[cfg(unix)]
fn another_program_does_not_count_as_a_lock() {
    for program in [
        "/bin/true",
        "/bin/echo",
        "/bin/false",
        "/no/such/program",
        env!("CARGO_MANIFEST_DIR"),
    ] {
        let error = grader::sandboxed(Path::new(program), Limits::default()).err();
        assert!(matches!(error, Some(Error::Locked(_))), "{program}");
    }
}
