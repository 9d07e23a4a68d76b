//! `cargo ladder` as a reader calls it: its output and its exit codes.
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
    assert!(!text.contains('\u{1b}'), "color only on a terminal");
    let same = ladder(&["diff", "2", "2"]);
    assert_eq!((code(&same), same.stdout.len()), (Some(0), 0));
}

/// Not a file's name, nor an argument of which clap or a command complains; nor does it matter if there are colors.
#[test]
fn what_an_argument_contains_does_not_control_the_terminal() {
    let others = "\u{1b}[2J\u{7}\u{202e}";
    let flag = format!("--sec{others}");
    for arguments in [
        &["grade", &flag][..],
        &["diff", "1", others],
        &["emulate", others],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_ladder"))
            .args(arguments)
            .env("CLICOLOR_FORCE", "1")
            .output()
            .expect("the ladder starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(code(&output), Some(2), "{arguments:?}: {said}");
        assert!(said.contains("\u{1b}[31merror:"), "{said:?}");
        let shown = "\u{fffd}[2J\u{fffd}\u{fffd}";
        assert!(said.contains(shown), "{arguments:?}: {said:?}");
        let bad = ["\u{1b}[2J", "\u{7}", "\u{202e}"];
        assert!(!bad.iter().any(|bad| said.contains(bad)), "{said:?}");
    }
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
        (&["exam"], "--seed"),
        (&["exam", "--seed", "1", "--questions", "101"], "1..=100"),
        (
            &["exam", "--seed", "1", "--student", "ada"],
            "cannot be used with",
        ),
        (&["exam", "--student", "ada"], "--secret"),
        (
            &["exam", "--secret", "nowhere", "--student", "ada"],
            "names a file",
        ),
        (
            &["exam", "--seed", "1", "--out", "Cargo.toml"],
            "cannot create Cargo.toml",
        ),
    ] {
        let output = ladder(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(code(&output), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(remedy), "{arguments:?}: {said}");
    }
}

#[test]
fn an_exam_needs_no_compiler_and_its_key_is_right() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    let output = ladder(&["exam", "--seed", "20", "--out", &at("")]);
    assert_eq!(code(&output), Some(0));
    let said = String::from_utf8_lossy(&output.stdout);
    for name in ["questions.md", "answers.toml", "key.toml", "key.md"] {
        assert!(said.contains(name) && std::path::Path::new(&at(name)).is_file());
    }
    // The public questions of 00 are those of this seed.
    let assignment = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../course/assignments/00_predict"
    );
    for (answers, expected) in [("key.toml", 0), ("answers.toml", 1)] {
        let output = ladder(&["grade", assignment, &at(answers)]);
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(code(&output), Some(expected), "{answers}: {text}");
    }
}
