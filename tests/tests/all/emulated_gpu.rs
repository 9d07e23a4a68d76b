//! The rungs' code for a GPU, with the emulator behind CUDA's driver API.
#![cfg(target_os = "linux")]
use std::path::Path;

use ladder_tests::workspace::{program, rungs};
use serde_json::Value;

/// Runs a rung's own program on the emulated GPU.
fn on_emulated_gpu(rung: &Path, arguments: &[&str]) -> std::process::Output {
    let name = rung.file_name().unwrap_or_default().to_string_lossy();
    let rung = program(&format!("rung{name}"));
    let mut command = program("ladder");
    command
        .args(["run-on-emulator", "--"])
        .arg(rung.get_program());
    command.args(["--device", "gpu"]).args(arguments);
    command.output().expect("it can be started")
}

fn digits(output: std::process::Output) -> Value {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let object: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    object["c_sha256"].clone()
}

#[test]
fn every_rung_has_the_emulators_bits_by_the_driver_api() {
    for rung in rungs() {
        let size = ["--size", "136x200x72", "--json"];
        let direct = ladder_tests::workspace::run(&rung, &size);
        let by_driver = on_emulated_gpu(&rung, &size);
        assert_eq!(digits(by_driver), digits(direct), "{rung:?}");
    }
}

#[test]
fn an_emulated_gpu_has_no_times() {
    let rungs = rungs();
    let output = on_emulated_gpu(&rungs[0], &["--size", "128"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = text.contains("not measured: this GPU is emulated");
    assert!(
        output.status.success() && said && !text.contains("TFLOP"),
        "{text}"
    );
    let output = on_emulated_gpu(&rungs[0], &["bench"]);
    let why = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(2) && why.contains("this one is emulated"),
        "{why}"
    );
}

#[test]
fn the_programs_exit_code_is_passed_on() {
    let run = |words: &[&str]| {
        let mut command = program("ladder");
        command.args(["run-on-emulator", "--"]).args(words);
        command.output().expect("it can be started").status.code()
    };
    assert_eq!(run(&["sh", "-c", "exit 7"]), Some(7));
    assert_eq!(run(&["sh", "-c", "kill -9 $$"]), Some(137));
    assert_eq!(run(&["./no-such-program"]), Some(2));
}
