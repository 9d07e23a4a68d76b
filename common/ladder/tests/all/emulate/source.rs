//! CUDA sources, which need a compiler: templates, errors, printed text, profiles.
use std::path::Path;
use std::process::Command;

use super::{Folder, json, said};
use crate::strangers::nvrtc;

#[test]
fn a_source_needs_a_compiler() {
    let folder = Folder::new();
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
    let Some(place) = place else {
        let why =
            b"skipped in part: NVRTC is not in a folder that `cargo ladder get-nvrtc` has made\n";
        let _ = std::io::Write::write_all(&mut std::io::stderr(), why);
        return;
    };
    let output = Command::new(env!("CARGO_BIN_EXE_ladder"))
        .args(["emulate", &file, "--grid", "1", "--block", "1"])
        .args(["--arg", "i32[1]"])
        .env("GEMM_NVRTC", place)
        .current_dir(folder.0.path())
        .output()
        .expect("the ladder starts");
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn templates_are_named_by_their_instances() {
    if !nvrtc() {
        return;
    }
    let folder = Folder::new();
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
            "--kernel does not name an instance of a kernel in this file; the kernels are fill, copy",
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
    let folder = Folder::new();
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
    let folder = Folder::new();
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

/// What a kernel prints and its comments are shown, whatever they contain; JSON has them exactly.
#[test]
fn a_kernel_does_not_control_the_terminal() {
    if !nvrtc() {
        return;
    }
    let folder = Folder::new();
    let source = "#include <cstdio>\n__global__ void k(int *x) {\n    printf(\"a\\033[2J\\007\\342\\200\\256b\\n\");\n\
        \x20   *x = 1;  // \u{1b}[2J\u{7}\u{202e}\n}\n";
    let file = folder.write("k.cu", source);
    let words = [&*file, "--grid", "1", "--block", "1", "--arg", "i32[1]"];
    for flag in ["--profile", "--sanitize"] {
        let (code, text) = said(&[&words[..], &[flag]].concat(), true);
        assert_eq!(code, 0, "{text}");
        assert!(text.contains("a\u{fffd}[2J\u{fffd}\u{fffd}b\n"), "{text:?}");
        let comment = "// \u{fffd}[2J\u{fffd}\u{fffd}\n";
        assert_eq!(text.contains(comment), flag == "--profile", "{text:?}");
        assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
    }
    let printed = &json(&words, true)["printed"][0]["text"];
    assert_eq!(printed, "a\u{1b}[2J\u{7}\u{202e}b\n");
    let with_cr = folder.write("cr.cu", source.replace('\n', "\r"));
    let (code, text) = said(&[&[&*with_cr], &words[1..]].concat(), true);
    assert!(code == 2 && text.contains("save it with LF"), "{text}");
}

#[test]
fn a_profile_shows_the_source() {
    if !nvrtc() {
        return;
    }
    let folder = Folder::new();
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

#[test]
fn time_contracts_to_fma_unless_fmad_is_false() {
    if !nvrtc() {
        return;
    }
    let folder = Folder::new();
    let file = folder.write(
        "k.cu",
        "__global__ void chain(float *x, float a) {\n  float s = x[threadIdx.x];\n\
         #pragma unroll\n  for (int i = 0; i < 512; i++) s = s * a + 1.0f;\n  x[threadIdx.x] = s;\n}\n",
    );
    let launch = [
        &file, "--grid", "1", "--block", "32", "--arg", "f32[32]", "--arg", "0.5",
    ];
    let clocks = |words: &[&str]| {
        let object = json(
            &[&launch[..], &["--time", "--from-ptx"], words].concat(),
            true,
        );
        object["clocks"].as_f64().expect("clocks")
    };
    let [default, contracted, apart] =
        [&[][..], &["--fmad", "true"], &["--fmad", "false"]].map(clocks);
    assert_eq!(default, contracted);
    assert!(apart > 1.5 * contracted, "{apart} {contracted}");
}
