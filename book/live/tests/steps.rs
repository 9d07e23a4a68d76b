//! The steps of a rung's CTA: they are complete, with effects and operands, and show where the first mistake occurs.
use std::io::Write;
use std::process::{Command, Stdio};

use half::f16;
use serde_json::{Value, json};

/// The engine's answer, from the committed PTX.
fn ask(request: &Value) -> Value {
    let mut child = Command::new(env!("CARGO_BIN_EXE_live_native"))
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .env("GEMM_NVRTC", "/nowhere")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the engine");
    let mut input = child.stdin.take().expect("a pipe");
    writeln!(input, "{request}").expect("a request");
    drop(input);
    let output = child.wait_with_output().expect("an end");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn steps(package: &str, words: &[&str]) -> Value {
    let head = ["cargo", "run", "-p", package, "--"];
    let words: Vec<&str> = head.iter().chain(words).copied().collect();
    let answer = ask(&json!({ "ask": "steps", "words": words, "most": 50_000 }));
    assert!(answer.get("error").is_none(), "{package}: {answer}");
    answer
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

/// The PTX instruction of a step.
fn ptx<'a>(answer: &'a Value, step: &Value) -> &'a str {
    let instruction = step["i"].as_u64().expect("an index") as usize;
    let ptx = answer["instructions"][instruction]["ptx"].as_str();
    ptx.expect("PTX")
}

/// No step is lost or misnumbered relative to its effects, even in clusters, where steps of the other block are
/// interleaved.
#[test]
fn every_rung_can_be_stepped_through() {
    let rungs = ask(&json!({ "ask": "rungs" }));
    let rungs = list(&rungs, "rungs");
    assert!(rungs.len() >= 16, "{rungs:?}");
    for rung in rungs {
        let rung = rung.as_str().expect("a name");
        let answer = steps(&format!("rung{rung}"), &["--size", "128x128x16"]);
        let all = list(&answer, "steps");
        assert_eq!(json!(all.len()), answer["executed"], "{rung}");
        assert_eq!(answer["findings"], json!([]), "{rung}");
        for step in all {
            let ptx = ptx(&answer, step);
            for effect in list(step, "effects") {
                let fits = match effect.as_object().and_then(|one| one.keys().next()) {
                    Some(kind) if kind == "barrier" => ptx.starts_with("bar"),
                    Some(kind) if kind == "bulkCopy" => ptx.contains("cp.async.bulk"),
                    Some(kind) if kind == "wait" => ptx.contains("_wait"),
                    _ => true,
                };
                assert!(fits, "{rung}: {effect} of {ptx}");
            }
            for operand in list(step, "operands") {
                let bytes = operand[2].as_u64().expect("bytes") as usize;
                let digits = operand[3].as_str().expect("digits");
                assert_eq!(digits.len(), 64 * bytes, "{rung}: {operand} of {ptx}");
            }
        }
    }
}

/// mma multiplies what ldmatrix loaded, and a bulk copy lands at its destination.
#[test]
fn operands_and_copies_of_a_rung() {
    let answer = steps("rung09_tma", &["--size", "128x128x64"]);
    let all = list(&answer, "steps");
    let of_warp: Vec<&Value> = all.iter().filter(|step| step["w"] == 0).collect();
    let operands = |start: &str, role: &str| -> Vec<&Value> {
        let found = of_warp
            .iter()
            .filter(|step| ptx(&answer, step).contains(start));
        let found = found.flat_map(|step| list(step, "operands"));
        found
            .filter(|one| one[0] == role)
            .map(|one| &one[3])
            .collect()
    };
    let brought = operands("ldmatrix", "value");
    assert!(!brought.is_empty());
    for factor in operands("mma.sync", "a") {
        assert!(brought.contains(&factor), "{factor}");
    }
    let base = answer["base"].as_u64().expect("an address");
    let sent = operands("cp.async.bulk.tensor.2d.shared", "address");
    let sent = sent
        .iter()
        .filter_map(|one| u64::from_str_radix(one.as_str()?.get(..8)?, 16).ok());
    let sent: Vec<u64> = sent.map(|address| address - base).collect();
    let landed = all.iter().flat_map(|step| list(step, "landed"));
    let landed: Vec<u64> = landed.filter_map(|one| one["at"].as_u64()).collect();
    assert_eq!((landed.len(), &landed), (3, &sent));
}

/// What `wgmma.wait_group` completes is what the warp then rounds and stores, lane by lane.
#[test]
fn accumulators_that_a_wait_completes() {
    let answer = steps("rung10_wgmma", &["--size", "128x128x128"]);
    let all = list(&answer, "steps");
    let words = |operand: &Value| -> Vec<u32> {
        let digits = operand[3].as_str().expect("digits");
        let lanes = (0..32).map(|lane| &digits[8 * lane..8 * lane + 8]);
        lanes
            .map(|word| u32::from_str_radix(word, 16).expect("digits"))
            .collect()
    };
    for warp in 0..4 {
        let of_warp: Vec<&Value> = all.iter().filter(|step| step["w"] == warp).collect();
        let is_wait = |step: &&Value| ptx(&answer, step).starts_with("wgmma.wait_group");
        let wait = of_warp.iter().rposition(is_wait).expect("a wait");
        let sums: Vec<_> = list(of_warp[wait], "operands").iter().map(words).collect();
        let stores = of_warp[wait..]
            .iter()
            .filter(|step| ptx(&answer, step).starts_with("st.shared"));
        let stored: Vec<_> = stores
            .map(|step| words(&list(step, "operands")[1]))
            .collect();
        let rounded = sums.chunks(2).map(|pair| {
            let half = |word: u32| u32::from(f16::from_f32(f32::from_bits(word)).to_bits());
            let lanes = pair[0].iter().zip(&pair[1]);
            lanes
                .map(|(&low, &high)| half(low) | half(high) << 16)
                .collect::<Vec<_>>()
        });
        assert_eq!(sums.len(), 128);
        assert_eq!(rounded.collect::<Vec<_>>(), stored, "warp {warp}");
    }
}

/// The finding that is seen first has its step, at a line that it names or after it; also where it stops the launch.
#[test]
fn the_first_finding_has_its_step() {
    for (package, kernel, start, size) in [
        (
            "rung02_smem",
            "no_barrier_after_the_copy",
            "ld.shared",
            "128x128x16",
        ),
        (
            "rung02_smem",
            "no_barrier_before_the_next_copy",
            "st.shared",
            "128x128x16",
        ),
        (
            "rung02_smem",
            "half_a_warp_at_the_barrier",
            "@",
            "128x128x16",
        ),
        (
            "rung03_padded",
            "misaligned_float4",
            "ld.shared",
            "128x128x16",
        ),
        (
            "rung05_swizzle",
            "does_not_wait_for_its_copies",
            "ldmatrix",
            "128x128x128",
        ),
        (
            "rung09_tma",
            "does_not_wait_for_tma",
            "ldmatrix",
            "128x128x64",
        ),
        (
            "rung09_tma",
            "no_proxy_fence_before_the_store",
            "cp.async.bulk",
            "128x128x64",
        ),
        (
            "rung11_specialized",
            "producer_waits_for_the_other_parity",
            "",
            "128x256x64",
        ),
    ] {
        let file = format!("book/kernels/{kernel}.ptx");
        let answer = steps(package, &["--size", size, "--kernel", &file]);
        let findings = list(&answer, "findings");
        let first = findings.iter().filter_map(|one| one["step"].as_u64()).min();
        let first = first.unwrap_or_else(|| panic!("{kernel}: {findings:?}")) as usize;
        let all = list(&answer, "steps");
        let step = ptx(&answer, &all[first]);
        assert!(step.starts_with(start), "{kernel}: {step}");
        if [
            "half_a_warp_at_the_barrier",
            "misaligned_float4",
            "producer_waits_for_the_other_parity",
        ]
        .contains(&kernel)
        {
            assert_eq!(first + 1, all.len(), "{kernel} stops there");
        }
    }
}
