//! `cargo ladder emulate` as a user calls it: PTX without a compiler, sources with one; arguments, files, errors.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::strangers::nvrtc;

/// `saxpy(int n, float a, const float *x, float *y)`, and a kernel with a struct, a half and a variable.
const PTX: &str = ".version 8.0
.target sm_80
.address_size 64
.visible .global .align 4 .f32 offset = 0f40000000;
.visible .entry _Z5saxpyifPKfPf(.param .u32 n, .param .f32 a, .param .u64 x, .param .u64 y)
{
    .reg .pred %p; .reg .b32 %i, %n; .reg .f32 %f<5>; .reg .b64 %d<7>;
    mov.u32 %i, %ctaid.x; mov.u32 %n, %ntid.x; mad.lo.u32 %i, %i, %n, 0;
    mov.u32 %n, %tid.x; add.u32 %i, %i, %n;
    ld.param.u32 %n, [n]; setp.ge.s32 %p, %i, %n; @%p ret;
    ld.param.u64 %d0, [x]; ld.param.u64 %d1, [y]; ld.param.f32 %f0, [a];
    cvta.to.global.u64 %d2, %d0; cvta.to.global.u64 %d3, %d1;
    mul.wide.s32 %d4, %i, 4; add.u64 %d5, %d2, %d4; add.u64 %d6, %d3, %d4;
    ld.global.f32 %f1, [%d5]; ld.global.f32 %f2, [%d6];
    mul.rn.f32 %f3, %f0, %f1; add.rn.f32 %f3, %f3, %f2;
    ld.global.f32 %f4, [offset]; add.rn.f32 %f3, %f3, %f4;
    st.global.f32 [%d6], %f3;
    ret;
}
.visible .entry values(.param .u64 out, .param .align 4 .b8 s[8], .param .align 2 .b8 h[2], .param .f64 d)
{
    .reg .b32 %r; .reg .b64 %d<3>; .reg .b16 %h; .reg .f64 %f;
    ld.param.u64 %d0, [out]; cvta.to.global.u64 %d1, %d0;
    ld.param.u32 %r, [s]; st.global.u32 [%d1], %r;
    ld.param.u32 %r, [s+4]; st.global.u32 [%d1+4], %r;
    ld.param.b16 %h, [h]; cvt.u32.u16 %r, %h; st.global.u32 [%d1+8], %r;
    ld.param.f64 %f, [d]; st.global.f64 [%d1+16], %f;
    ret;
}
";

/// A temporary folder, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("ladder-emulate-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).expect("a file");
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn ladder(words: &[&str], compiler: bool) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ladder"));
    command.arg("emulate").args(words);
    if !compiler {
        command.env("GEMM_NVRTC", std::env::temp_dir().join("no-nvrtc-here"));
    }
    command.output().expect("the ladder starts")
}

/// Exit code, standard output and standard error.
fn said(words: &[&str], compiler: bool) -> (i32, String) {
    let output = ladder(words, compiler);
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code().unwrap_or(-1),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

fn json(words: &[&str], compiler: bool) -> Value {
    let output = ladder(&[words, &["--json"]].concat(), compiler);
    let said = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

const SAXPY: [&str; 14] = [
    "--kernel",
    "saxpy",
    "--grid",
    "2",
    "--block",
    "32",
    "--arg",
    "50",
    "--arg",
    "0.5",
    "--arg",
    "f32[64]=iota",
    "--arg",
    "f32[64]=1",
];

#[test]
fn ptx_needs_no_compiler() {
    let folder = Folder::new("ptx");
    let file = folder.write("k.ptx", PTX);
    let report = json(&[&[&*file], &SAXPY[..]].concat(), false);
    assert_eq!(report["kernel"], "saxpy");
    assert_eq!(report["buffers"][0]["changed"], 0);
    let y = &report["buffers"][1];
    assert_eq!(
        (&y["argument"], &y["changed"]),
        (&Value::from(3), &Value::from(50))
    );
    assert_eq!(
        y["first"],
        serde_json::json!(["3", "3.5", "4", "4.5", "5", "5.5"])
    );
    let metrics = &report["metrics"];
    assert_eq!(
        metrics["l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"],
        2
    );
    assert_eq!(metrics["launch__thread_count"], 64);
    // A variable, by flags that override the head of the file.
    let headed = format!(
        "// cargo ladder emulate: {} --symbol offset=f32=100\n{PTX}",
        shell(&SAXPY)
    );
    let file = folder.write("headed.ptx", headed);
    assert_eq!(json(&[&file], false)["buffers"][1]["first"][0], "101");
    let zero = json(
        &[&file, "--symbol", "offset=f32[1]=0", "--grid", "1"],
        false,
    );
    assert_eq!(
        (
            &zero["buffers"][1]["first"][0],
            &zero["buffers"][1]["changed"]
        ),
        (&"1".into(), &31.into())
    );
}

fn shell(words: &[&str]) -> String {
    words.iter().map(|word| format!("'{word}' ")).collect()
}

#[test]
fn values_are_passed_as_their_parameters_want_them() {
    let folder = Folder::new("values");
    let file = folder.write("k.ptx", PTX);
    let words = [
        "--kernel", "values", "--grid", "1", "--block", "1", "--arg", "u32[6]", "--arg",
        "i32=1,-1", "--arg", "f16=1", "--arg", "-0.5",
    ];
    let report = json(&[&[&*file], &words[..]].concat(), false);
    assert_eq!(
        report["buffers"][0]["first"],
        serde_json::json!(["1", "4294967295", "15360", "0", "0", "3219128320"])
    );
    let mut same = words;
    (same[9], same[11]) = ("hex:01000000 ffffffff", "hex:003c");
    assert_eq!(
        json(&[&[&*file], &same[..]].concat(), false)["buffers"],
        report["buffers"]
    );
}

#[test]
fn what_does_not_fit_is_refused_with_the_remedy() {
    let folder = Folder::new("refused");
    let file = folder.write("k.ptx", PTX);
    let broken = folder.write(
        "broken.ptx",
        PTX.replace("mul.rn.f32 %f3, %f0, %f1", "mul.rn.f32 %f3, %f0, %none"),
    );
    let text = folder.write("k.txt", PTX);
    let with = |words: &[&str]| said(&[&[&*file], words].concat(), false);
    let saxpy = |from: usize, by: &[&str]| {
        let rest = [&SAXPY[..from], by].concat();
        with(&rest)
    };
    for ((code, said), why) in [
        (
            with(&["--grid", "1", "--block", "1"]),
            "there are several kernels; choose one:\n  --kernel 'saxpy(int, float, float const*, float*)'\n  --kernel 'values'",
        ),
        (
            with(&["--kernel", "gemm", "--grid", "1", "--block", "1"]),
            "there is no kernel gemm; there are:",
        ),
        (
            with(&["--kernel", "saxpy"]),
            "Give --grid and --block, or write them at the head of the file:\n  // cargo ladder emulate: --grid 8",
        ),
        (
            with(&["--kernel", "saxpy"]),
            "saxpy(int, float, float const*, float*) takes\n  parameter 0 (n, `int`), an integer of 4 bytes\n  parameter 1 (a, `float`), a float of 4 bytes\n  parameter 2 (x, `float const*`), a pointer",
        ),
        (
            saxpy(10, &[]),
            "saxpy takes 4 arguments and was given 2:\n  parameter 0 (n, `int`), an integer of 4 bytes",
        ),
        (
            saxpy(14, &["--arg", "3"]),
            "saxpy takes 4 arguments and was given 5",
        ),
        (
            saxpy(12, &["--arg", "7"]),
            "parameter 3 (y, `float*`), a pointer, takes no `7`; give it memory, as in --arg 'f32[1024]=normal', or null",
        ),
        (
            saxpy(
                6,
                &[
                    "--arg", "0.5", "--arg", "1", "--arg", "f32[1]", "--arg", "f32[1]",
                ],
            ),
            "parameter 0 (n, `int`), an integer of 4 bytes, takes no `0.5`; give it an integer",
        ),
        (
            saxpy(12, &["--arg", "@0"]),
            "parameter 3 (y, `float*`), a pointer: @0 is no buffer of an argument before it",
        ),
        (
            saxpy(12, &["--arg", "f32[99999999999]"]),
            "a buffer may have 4294967296 bytes; --max-memory allows more",
        ),
        (
            saxpy(12, &["--arg", "nowhere.npy"]),
            "parameter 3 (y, `float*`), a pointer: cannot read nowhere.npy",
        ),
        (
            saxpy(12, &["--arg", "f32[4]=random"]),
            "`random` is no fill; take zeros",
        ),
        (
            saxpy(14, &["--out", "0=c.npy"]),
            "argument 0 is no buffer; those are 2, 3, counted from 0",
        ),
        (
            saxpy(14, &["--out", "c.npy"]),
            "expected the number of an argument",
        ),
        (
            saxpy(14, &["--symbol", "none=f32=1"]),
            "there is no __device__ or __constant__ variable `none`",
        ),
        (
            saxpy(14, &["--symbol", "offset=f32[2]=1"]),
            "offset has 4 bytes, and 8 were given",
        ),
        (
            saxpy(14, &["--block", "2000"]),
            "cannot be used multiple times",
        ),
        (
            saxpy(14, &["--shared", "1M"]),
            "bytes of shared memory a block",
        ),
        (
            saxpy(14, &["--device", "gpu", "--sanitize"]),
            "omit `--device gpu`",
        ),
        (said(&["nowhere.ptx"], false), "cannot read nowhere.ptx"),
        (said(&[&text], false), "a kernel's file ends in .cu or .ptx"),
        (
            said(&[&[&*broken], &SAXPY[..]].concat(), false),
            "PTX line 15: ",
        ),
        (
            said(&[&[&*broken], &SAXPY[..]].concat(), false),
            "in `mul.rn.f32 %f3, %f0, %none`",
        ),
    ] {
        assert_eq!(code, 2, "{said}");
        assert!(said.contains(why), "no {why} in\n{said}");
    }
}

/// With or without a GPU, the command reports which in words.
#[test]
fn a_gpu_runs_the_same_command() {
    let folder = Folder::new("gpu");
    let file = folder.write("k.ptx", PTX);
    let (code, said) = said(
        &[&[&*file], &SAXPY[..], &["--device", "gpu"]].concat(),
        false,
    );
    match code {
        0 => assert!(said.contains("3 3.5 4 4.5"), "{said}"),
        code => assert!(code == 2 && said.contains("`--device emulator`"), "{said}"),
    }
}

#[test]
fn arrays_come_from_files_and_go_there() {
    let folder = Folder::new("npy");
    let file = folder.write("k.ptx", PTX);
    let at = |name: &str| folder.0.join(name).display().to_string();
    let out = format!("3={}", at("y.npy"));
    let first = [&[&*file], &SAXPY[..], &["--out", &out]].concat();
    assert_eq!(said(&first, false).0, 0);
    let expect = format!("3={}", at("y.npy"));
    let again = [&[&*file], &SAXPY[..], &["--expect", &expect]].concat();
    let (code, text) = said(&again, false);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("argument 3 is as expected: 64 elements"),
        "{text}"
    );
    // Other values.
    let mut other = again.clone();
    other[10] = "0.75";
    let (code, text) = said(&other, false);
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("argument 3 is WRONG: 49 of 64 elements differ, the worst by 1.225e1"),
        "{text}"
    );
    assert!(text.contains("[1]     3.75        3.5\n"), "{text}");
    assert_eq!(
        said(&[&other[..], &["--tolerance", "1,0"]].concat(), false).0,
        0
    );
    // A written file is read as an argument: its head has the shape and the type.
    let mut chained = first.clone();
    let y = at("y.npy");
    chained[14] = &y;
    let report = json(&chained, false);
    assert_eq!(
        (
            &report["buffers"][1]["first"][1],
            &report["buffers"][1]["type"]
        ),
        (&"6".into(), &"f32".into())
    );
    let half = format!("f16[8,8]={y}");
    chained[14] = &half;
    assert_eq!(
        json(&chained, false)["buffers"][1]["shape"],
        serde_json::json!([8, 8])
    );
    for (words, why) in [
        (format!("f32[63]={y}"), "its shape is [8, 8], not [63]"),
        (format!("i8[64]={y}"), "it holds f16, not i8"),
    ] {
        let with: Vec<&str> = chained[..14].iter().copied().chain([&*words]).collect();
        let (code, text) = said(&with, false);
        assert!(code == 2 && text.contains(why), "{text}");
    }
}

#[test]
fn findings_and_limits_exit_with_1() {
    let folder = Folder::new("findings");
    let file = folder.write("k.ptx", PTX);
    let mut short = [&[&*file], &SAXPY[..]].concat();
    short[12] = "f32[40]=iota";
    let (code, text) = said(&short, false);
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("========= Invalid __global__ read of size 4 bytes"),
        "{text}"
    );
    assert!(
        text.contains("the nearest allocation, argument 2,"),
        "{text}"
    );
    let report = json(&short, false);
    assert_eq!(
        report["findings"][0]["thread"],
        serde_json::json!([8, 0, 0])
    );
    assert_eq!(
        (&report["metrics"], &report["findings"][0]["fatal"]),
        (&Value::Null, &true.into())
    );
    let clean = [&[&*file], &SAXPY[..], &["--sanitize"]].concat();
    let (code, text) = said(&clean, false);
    assert!(
        code == 0 && text.contains("ERROR SUMMARY: 0 errors"),
        "{text}"
    );
    let few = [&[&*file], &SAXPY[..], &["--max-instructions", "10"]].concat();
    let (code, text) = said(&few, false);
    assert!(
        code == 1
            && text.contains("stopped after 10 warp instructions")
            && text.contains("`--max-instructions`"),
        "{text}"
    );
}

/// Parsers of Nsight Compute's tables can parse this output.
#[test]
#[cfg(feature = "calibration")]
fn counters_are_a_table_as_ncu_prints_it() {
    let folder = Folder::new("csv");
    let file = folder.write("k.ptx", PTX);
    let output = ladder(&[&[&*file], &SAXPY[..], &["--csv"]].concat(), false);
    let text = String::from_utf8(output.stdout).expect("a text");
    let page = calibration::RawPage::of(&text).expect("a table");
    assert_eq!(page.kernels(), 1);
    let count = |metric| page.count(0, metric).expect(metric);
    assert_eq!(
        count("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
        7 + 7 + 2
    );
    assert_eq!(count("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"), 7);
    assert_eq!(page.text(0, "Grid Size").expect("a field"), "(2, 1, 1)");
    assert!(
        text.lines()
            .nth(1)
            .is_some_and(|units| units.contains("\"sector\"")),
        "{text}"
    );
}

#[test]
fn a_source_needs_a_compiler() {
    let folder = Folder::new("source");
    let file = folder.write("k.cu", "__global__ void k(int *x) { *x = 1; }\n");
    let (code, text) = said(
        &[&file, "--grid", "1", "--block", "1", "--arg", "i32[1]"],
        false,
    );
    assert!(
        code == 2 && text.contains("cargo ladder get-nvrtc"),
        "{text}"
    );
    if !nvrtc() {
        return;
    }
    // The folder that `get-nvrtc` makes is accepted.
    let own = harness::Nvrtc::find().expect("a compiler");
    let place = own
        .path()
        .expect("a file")
        .ancestors()
        .find(|folder| folder.ends_with(".cuda"));
    if let Some(place) = place {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ladder"));
        command
            .args([
                "emulate", &file, "--grid", "1", "--block", "1", "--arg", "i32[1]",
            ])
            .env("GEMM_NVRTC", place);
        let output = command
            .current_dir(&folder.0)
            .output()
            .expect("the ladder starts");
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn templates_are_named_by_their_instances() {
    if !nvrtc() {
        return;
    }
    let folder = Folder::new("templates");
    let source = "template <typename T, int N> __global__ void fill(T *x) { x[threadIdx.x] = N; }\n\
        template <typename T> __global__ void copy(T *x, const T *y) { x[threadIdx.x] = y[threadIdx.x]; }\n";
    let file = folder.write("k.cu", source);
    let shape = ["--grid", "1", "--block", "4"];
    let with = |kernel: &str, args: &[&str]| {
        let kernel = if kernel.is_empty() {
            vec![]
        } else {
            vec!["--kernel", kernel]
        };
        said(&[&[&*file], &kernel[..], &shape[..], args].concat(), true)
    };
    let (code, text) = with("fill<float, 7>", &["--arg", "f32[4]"]);
    assert!(code == 0 && text.contains("7 7 7 7"), "{text}");
    for (kernel, why) in [
        (
            "",
            "fill, copy are templates, of which an instance has to be named",
        ),
        (
            "fill",
            "fill is a template, of which an instance has to be named",
        ),
        (
            "fill<float>",
            "--kernel names no instance of a kernel here; the kernels are fill, copy",
        ),
        ("gemm", "there is no kernel gemm"),
    ] {
        let (code, text) = with(kernel, &["--arg", "f32[4]"]);
        assert!(code == 2 && text.contains(why), "{kernel}: {text}");
    }
}

#[test]
fn errors_in_a_source_keep_their_lines_and_say_what_is_the_hosts() {
    if !nvrtc() {
        return;
    }
    let folder = Folder::new("lines");
    let source = "#include <nowhere/to/be.h>\nint host_only(int x) {\n    return x + 1;\n}\n\nint limit = 4;\n\
        __global__ void k(int *x) {\n    x[0] = host_only(x[0]) + limit;\n}\nint main() { k<<<1, 1>>>(0); }\n";
    let file = folder.write("k.cu", source);
    let (code, text) = said(
        &[&file, "--grid", "1", "--block", "1", "--arg", "i32[1]"],
        true,
    );
    assert_eq!(code, 2, "{text}");
    for part in [
        "k.cu(8): error: identifier \"host_only\" is undefined",
        "host_only (line 2) is the host's: write __device__ before a function",
        "limit (line 6) is the host's",
        "not found, and taken as empty: nowhere/to/be.h",
    ] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
}

#[test]
fn printed_text_and_assertions() {
    if !nvrtc() {
        return;
    }
    let folder = Folder::new("printed");
    let source = "#include <cassert>\n#include <cstdio>\n__global__ void k(int *x, int n) {\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n\
        \x20   if (threadIdx.x == 0) printf(\"block %d of %u: %5.2f|%-4s|%lld|%c%%\\n\", blockIdx.x, gridDim.x, x[i] / 2.0, \"ab\", 1ll << 40, 'z');\n\
        \x20   assert(i < n && \"in range\");\n    x[i] = i;\n}\n";
    let file = folder.write("k.cu", source);
    let words = |n: &'static str| {
        vec![
            "--grid",
            "3",
            "--block",
            "32",
            "--arg",
            "i32[96]=3",
            "--arg",
            n,
        ]
    };
    let (code, text) = said(&[&[&*file], &words("96")[..]].concat(), true);
    let expected = "block 0 of 3:  1.50|ab  |1099511627776|z%\nblock 1 of 3:  1.50|ab  |1099511627776|z%\n\
        block 2 of 3:  1.50|ab  |1099511627776|z%\nk(int*, int)\n";
    assert!(code == 0 && text.starts_with(expected), "{text}");
    let (code, text) = said(&[&[&*file], &words("70")[..]].concat(), true);
    assert_eq!(code, 1, "{text}");
    for part in [
        "Assertion `i < n && \"in range\"` failed\n=========     at k.cu:6 (PTX line",
        "by thread (6,0,0) in block (2,0,0)",
        "k.cu:6, in void k(int *, int)",
        "26 times in all",
    ] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    let (_, text) = said(
        &[&[&*file], &words("96")[..], &["--sanitize"]].concat(),
        true,
    );
    assert!(
        text.starts_with("block (0,0,0) thread (0,0,0): block 0 of 3:"),
        "{text}"
    );
    let report = json(&[&[&*file], &words("96")[..]].concat(), true);
    assert_eq!(report["printed"][2]["block"], serde_json::json!([2, 0, 0]));
    let refused = folder.write(
        "m.cu",
        "__global__ void k(int **x) { *x = (int *)malloc(4); }\n",
    );
    let (code, text) = said(
        &[&refused, "--grid", "1", "--block", "1", "--arg", "u64[1]"],
        true,
    );
    assert!(
        code == 2 && text.contains("there is no device-side malloc in the emulator"),
        "{text}"
    );
}

#[test]
fn a_profile_shows_the_source() {
    if !nvrtc() {
        return;
    }
    let folder = Folder::new("profile");
    let source = "__global__ void k(float *x) {\n    __shared__ float tile[32 * 32];\n    tile[threadIdx.x * 32] = x[threadIdx.x];\n    __syncthreads();\n    x[threadIdx.x] = tile[(31 - threadIdx.x) * 32];\n}\nint main() { return 0; }\n";
    let file = folder.write("k.cu", source);
    let words = [
        &*file,
        "--grid",
        "1",
        "--block",
        "32",
        "--arg",
        "f32[32]=iota",
        "--profile",
    ];
    let (code, text) = said(&words, true);
    assert_eq!(code, 0, "{text}");
    for part in [
        "2              32 / 1         31            4 / 4     3      tile[threadIdx.x * 32] = x[threadIdx.x];",
        "7  int main() { return 0; }",
        "shared stores",
    ] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
    let report = json(&words, true);
    assert_eq!(
        report["metrics"]["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"],
        31
    );
    assert_eq!(report["lines"][0]["bank_conflicts"], 31);
    assert!(Path::new(report["file"].as_str().expect("a text")).is_file());
}
