//! Whole runs on the emulator, of a tiny kernel.
use std::path::PathBuf;

use emulator::Card;

use super::*;
use crate::Switch;

const TINY: &str = include_str!("../testdata/tiny.ptx");
const SWITCH: Switch = Switch {
    name: "half-only",
    help: "Omit the second half of K",
};
const RUNG: Rung = Rung {
    name: "00_tiny",
    kernels: &[],
    switches: &[SWITCH],
    tile: None,
    host: crate::gemm,
};

/// Runs the tiny kernel, changed by `change`, on the emulator.
fn run(name: &str, change: impl Fn(String) -> String, words: &[&str]) -> Result<bool> {
    run_into(name, change, words, &mut Vec::new())
}

/// As [`run`], and writes the report to `out`.
fn run_into(
    name: &str,
    change: impl Fn(String) -> String,
    words: &[&str],
    out: &mut Vec<u8>,
) -> Result<bool> {
    let path: PathBuf =
        std::env::temp_dir().join(format!("harness-{}-{name}.ptx", std::process::id()));
    std::fs::write(&path, change(TINY.into())).expect("a writable folder for temporary files");
    let kernel = path.display().to_string();
    let all = [
        &["rung00_tiny", "--device", "emulator", "--kernel", &kernel],
        words,
    ]
    .concat();
    let result = execute(
        &RUNG,
        &Arguments::from_words(&RUNG, &all).expect("good usage"),
        out,
    );
    std::fs::remove_file(path).expect("it was written above");
    result
}

/// The message of an error, which exits with `code`.
fn message(result: Result<bool>, code: u8) -> String {
    let error = result.expect_err("an error");
    assert_eq!(error.exit_code(), code, "{error}");
    explained(&error)
}

fn same(text: String) -> String {
    text
}

#[test]
fn a_kernel_runs_and_is_verified() {
    for size in ["1", "17x33x65", "8x16x4", "70x1x3"] {
        assert!(
            run(size, same, &["--size", size]).expect("it runs"),
            "{size}"
        );
    }
}

#[test]
fn what_a_kernel_prints_is_reported() {
    let prints = |text: String| {
        let call = "{ .reg .pred q; .reg .b64 f; setp.eq.u32 q, %r22, 5; mov.u64 f, said; cvta.global.u64 f, f;\n\
            .param .b64 p0; st.param.b64 [p0], f; .param .b64 p1; st.param.b64 [p1], 0;\n\
            .param .b32 r; @q call.uni (r), vprintf, (p0, p1); }\n\tshr.u32 \t%r23, %r22, 4;";
        let text = text.replace("shr.u32 \t%r23, %r22, 4;", call);
        let declared = ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n\
            .global .b8 said[4] = {104, 105, 10, 0};\n.visible .entry gemm(";
        text.replace(".visible .entry gemm(", declared)
    };
    let mut out = Vec::new();
    assert!(run_into("prints", prints, &["--size", "8x32x4"], &mut out).expect("it runs"));
    let text = String::from_utf8(out).expect("a text");
    assert!(
        text.starts_with("hi\nhi\n") && text.contains("00_tiny"),
        "{text}"
    );
    let mut out = Vec::new();
    let words = ["--size", "8x32x4", "--json"];
    assert!(run_into("prints-json", prints, &words, &mut out).expect("it runs"));
    let report: serde_json::Value = serde_json::from_slice(&out).expect("JSON");
    assert_eq!(report["printed"], "hi\nhi\n");
}

#[test]
fn a_wrong_kernel_fails() {
    assert!(!run("half", same, &["--size", "64", "--half-only"]).expect("it runs"));
    assert!(
        !run(
            "half-k",
            same,
            &["--size", "8x8x16384", "--half-only", "--json"]
        )
        .expect("it runs")
    );
}

#[test]
fn every_command_runs() {
    for (command, expected) in [
        ("run", "all 256 elements"),
        ("profile", "executions"),
        ("profile", "limited by"),
        ("sanitize", "ERROR SUMMARY: 0 errors"),
    ] {
        let mut out = Vec::new();
        assert!(run_into(command, same, &[command, "--size", "16"], &mut out).expect("it runs"));
        let out = String::from_utf8(out).expect("text");
        assert!(out.contains(expected), "{out}");
    }
}

#[test]
fn another_card_is_marked_in_every_output() {
    let mark = Card::A100.evidence();
    assert_eq!(mark, "from the literature, not calibrated here");
    let words = |card: &'static str| ["--size", "16", "--emulate", card];
    for (name, words) in [
        ("a-run", words("a100").to_vec()),
        ("a-json", [&words("a100")[..], &["--json"]].concat()),
        ("a-profile", [&["profile"][..], &words("a100")].concat()),
    ] {
        let mut out = Vec::new();
        assert!(run_into(name, same, &words, &mut out).expect("it runs"));
        let out = String::from_utf8(out).expect("text");
        assert!(out.contains(mark), "{out}");
        assert!(!out.contains("limited by"), "{out}");
    }
    let mut out = Vec::new();
    assert!(run_into("h-run", same, &words("h100"), &mut out).expect("it runs"));
    assert!(!String::from_utf8_lossy(&out).contains("literature"));
}

#[test]
fn a_kernel_for_hopper_is_refused_by_a_card_before_it() {
    let hopper = |text: String| text.replace(".target sm_80", ".target sm_90a");
    let words = ["--size", "16", "--emulate", "a100"];
    let text = message(run("hopper", hopper, &words), 2);
    assert_eq!(
        text,
        "a100 has compute capability 8.0, but this kernel is for sm_90a; emulate an h100, or take a kernel for sm_80 \
         (omit `--emulate`, or `--arch sm_80`)"
    );
    assert!(run("hopper-h100", hopper, &["--size", "16"]).expect("it runs"));
    let words = ["--size", "16", "--emulate", "a100", "--device", "gpu"];
    assert!(message(run("gpu", same, &words), 2).contains("omit `--device gpu` or `--emulate`"));
    let words = [
        "bench",
        "--size",
        "16",
        "--emulate",
        "a100",
        "--device",
        "auto",
    ];
    assert!(message(run("bench", same, &words), 2).contains("the emulator is not one"));
}

#[test]
fn matrices_that_do_not_fit_are_refused() {
    let words = ["--size", "45056", "--max-memory", "1G"];
    let error = message(run("large", same, &words), 2);
    assert!(
        error.contains("12180258816 bytes") && error.contains("--max-memory"),
        "{error}"
    );
}

#[test]
fn a_kernel_without_a_bound_still_has_its_counters() {
    // A tile of 4096 x 4096, most of which the kernel does not compute.
    let change = |text: String| {
        text.replace(
            "gemm_launch[24] = {8, 0, 0, 0, 16, 0, 0, 0,",
            "gemm_launch[24] = {0, 16, 0, 0, 0, 16, 0, 0,",
        )
    };
    let mut out = Vec::new();
    let words = ["profile", "--size", "16"];
    assert!(!run_into("large", change, &words, &mut out).expect("it runs"));
    let out = String::from_utf8(out).expect("text");
    assert!(
        out.contains("executions") && out.contains("no bound for 4096x4096x4096: its tile"),
        "{out}"
    );
}

#[test]
fn json_is_one_object_with_the_promised_fields() {
    for command in ["run", "profile", "sanitize"] {
        let mut out = Vec::new();
        assert!(
            run_into(
                "json",
                same,
                &[command, "--size", "16x16x8", "--json"],
                &mut out
            )
            .expect("it runs")
        );
        let json: serde_json::Value = serde_json::from_slice(&out).expect("one object");
        assert_eq!(
            (&json["rung"], &json["device"]),
            (&"00_tiny".into(), &"emulator".into())
        );
        assert_eq!(
            (&json["arch"], &json["size"]),
            (&"sm_80".into(), &"16x16x8".into())
        );
        assert_eq!(
            (&json["seed"], &json["time"]),
            (&0.into(), &serde_json::Value::Null)
        );
        assert_eq!(json["verify"]["ok"], true);
        assert_eq!(json["verify"]["checked"], 256);
        assert_eq!(json["verify"]["first_wrong"], serde_json::json!([]));
        assert!(json["verify"]["max_error"].as_f64() <= json["verify"]["bound"].as_f64());
        assert_eq!(json["c_sha256"].as_str().map(str::len), Some(64));
        assert!(json["counters"]["global_requests"].as_u64() > Some(0));
        let lines = json["counters"]["lines"].as_array().expect("a list");
        let counters = &json["counters"];
        for counter in [
            "shared_wavefronts",
            "shared_wavefronts_ideal",
            "bank_conflicts",
            "global_sectors",
            "global_requests",
        ] {
            let sum: u64 = lines.iter().filter_map(|line| line[counter].as_u64()).sum();
            assert_eq!(Some(sum), counters[counter].as_u64(), "{counter}");
        }
        assert_eq!(json.get("findings").is_some(), command == "sanitize");
        assert_eq!(json.get("bound").is_some(), command == "profile");
        assert_eq!(json.get("waits").is_some(), command == "profile");
        if command == "profile" {
            let bound = &json["bound"];
            assert_eq!(bound["size"], "4096x4096x4096");
            assert_eq!(bound["measured"], serde_json::Value::Null);
            let resources = bound["resources"].as_array().expect("a list");
            let slowest = resources
                .iter()
                .filter(|one| one["limits"] == true)
                .max_by(|a, b| {
                    a["clocks"]
                        .as_f64()
                        .partial_cmp(&b["clocks"].as_f64())
                        .expect("numbers")
                })
                .expect("a resource");
            assert_eq!(bound["limited_by"], slowest["resource"]);
            assert_eq!(bound["tflops"], slowest["tflops"]);
        }
    }
}

#[test]
fn what_is_not_ptx_is_refused() {
    for (name, text) in [
        ("empty", ""),
        ("prose", "This is not PTX.\n"),
        ("binary", "\u{0}\u{7f}ELF\u{1}"),
    ] {
        let message = message(run(name, |_| text.into(), &[]), 2);
        assert!(message.contains("PTX"), "{message}");
    }
}

#[test]
fn an_unknown_instruction_is_refused_by_name() {
    let change = |text: String| text.replace("fma.rn.f32", "frobnicate.f32");
    let message = message(run("unknown", change, &[]), 2);
    assert!(message.contains("frobnicate"), "{message}");
}

#[test]
fn a_kernel_of_another_name_is_refused() {
    let message = message(
        run(
            "name",
            |text| text.replace(".entry gemm(", ".entry gemv("),
            &[],
        ),
        2,
    );
    assert!(
        message.contains("gemm") && message.contains("gemv"),
        "{message}"
    );
}

#[test]
fn other_parameters_are_refused() {
    let change =
        |text: String| text.replace(".param .u32 gemm_param_6", ".param .u64 gemm_param_6");
    let message = message(run("parameters", change, &[]), 2);
    assert!(
        message.contains("8, 8, 8, 4, 4, 4, 8") && message.contains("int half_only"),
        "{message}"
    );
}

#[test]
fn a_kernel_that_does_not_state_its_launch_is_refused() {
    let renamed = message(
        run(
            "launch",
            |text| text.replace("gemm_launch", "gemm_lunch"),
            &[],
        ),
        2,
    );
    assert!(renamed.contains("gemm_launch[] ="), "{renamed}");
    let zero = |text: String| text.replace("gemm_launch[24] = {8,", "gemm_launch[24] = {0,");
    let zero = message(run("zero", zero, &[]), 2);
    assert!(zero.contains("BM = 0"), "{zero}");
}

#[test]
fn sizes_that_are_too_large_are_refused() {
    for (words, expected) in [
        (["--size", "2147483647"], "too large"),
        (["--size", "1x1x2147483647"], "too large"),
        (["--max-memory", "1K"], "--max-memory"),
        (["--max-blocks", "1"], "--max-blocks"),
    ] {
        let message = message(run("much", same, &words), 2);
        assert!(message.contains(expected), "{words:?}: {message}");
    }
    let stopped = message(run("stopped", same, &["--max-instructions", "10"]), 1);
    assert!(stopped.contains("--max-instructions"), "{stopped}");
}

#[test]
fn another_arch_than_the_files_is_refused() {
    let message = message(run("arch", same, &["--arch", "sm_90a"]), 2);
    assert!(
        message.contains("sm_80") && message.contains("sm_90a"),
        "{message}"
    );
}

#[test]
fn without_a_gpu_what_needs_one_is_refused_with_the_remedy() {
    let bench = message(run("bench", same, &["bench"]), 2);
    assert!(bench.contains("profile"), "{bench}");
    assert!(bench.contains("omit `--device emulator`"), "{bench}");
    let alone = message(run("alone", same, &["bench", "--alone"]), 2);
    assert_eq!(alone, bench);
    if gpu::devices().is_err() {
        let bench = message(run("bench-gpu", same, &["bench", "--device", "gpu"]), 2);
        assert!(bench.contains("profile"), "{bench}");
        assert!(!bench.contains("--device emulator"), "{bench}");
        for command in ["run", "profile"] {
            let gpu = message(run("gpu", same, &[command, "--device", "gpu"]), 2);
            assert!(gpu.contains("--device emulator"), "{gpu}");
        }
    }
    let sanitize = message(
        run("sanitize-gpu", same, &["sanitize", "--device", "gpu"]),
        2,
    );
    assert!(sanitize.contains("emulator"), "{sanitize}");
}
