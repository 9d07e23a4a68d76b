//! What is reported of PTX kernels: buffers, counters, findings.
use serde_json::Value;

use super::{Folder, PTX, SAXPY, json, said};

#[test]
fn ptx_needs_no_compiler() {
    let folder = Folder::new();
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

/// With or without a GPU, the command reports which in words.
#[test]
fn a_gpu_runs_the_same_command() {
    let folder = Folder::new();
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
fn findings_and_limits_exit_with_1() {
    let folder = Folder::new();
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
    let folder = Folder::new();
    let file = folder.write("k.ptx", PTX);
    let output = super::ladder(&[&[&*file], &SAXPY[..], &["--csv"]].concat(), false);
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
