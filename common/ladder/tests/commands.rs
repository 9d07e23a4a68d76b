//! `cargo ladder` as a reader calls it: what it prints, and its exit codes.
use std::process::{Command, Output};

/// Runs it as on a machine without NVRTC.
fn ladder(arguments: &[&str]) -> Output {
    let nowhere = std::env::temp_dir().join("no-nvrtc-here");
    Command::new(env!("CARGO_BIN_EXE_ladder"))
        .args(arguments)
        .env("GEMM_NVRTC", nowhere)
        .output()
        .expect("the ladder starts")
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

#[test]
fn diff_shows_what_changed_and_nothing_else() {
    let output = ladder(&["diff", "2", "03_padded"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(code(&output), Some(0));
    assert!(
        text.starts_with("--- rungs/02_smem/kernel.cu\n+++ rungs/03_padded/kernel.cu\n"),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'), "colour only on a terminal");
    let same = ladder(&["diff", "2", "2"]);
    assert_eq!((code(&same), same.stdout.len()), (Some(0), 0));
}

#[test]
fn what_is_missing_exits_with_2_and_names_the_remedy() {
    for (arguments, remedy) in [
        (&["diff", "1", "99"][..], "there are 01_naive"),
        (&["ptx", "--check"], "cargo ladder get-nvrtc"),
        (&["ptx"], "cargo ladder get-nvrtc"),
        (&["frobnicate"], "--help"),
        (&["bench", "--sizes", "0"], "at least 1"),
        (&["bound", "--against", "nowhere"], "cargo ladder bench"),
        (&["ceilings"], "--out"),
    ] {
        let output = ladder(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(code(&output), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(remedy), "{arguments:?}: {said}");
    }
}
