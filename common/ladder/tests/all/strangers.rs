//! Other people's files, each with its host code: they run as their heads state, and compute the values stated there.
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Whether NVRTC was found; with GEMM_REQUIRE_NVRTC=1 it must be.
pub fn nvrtc() -> bool {
    let found = harness::Nvrtc::find().map(|nvrtc| nvrtc.has_header("cuda/barrier"));
    let required = std::env::var_os("GEMM_REQUIRE_NVRTC").is_some_and(|value| value == "1");
    match found {
        Ok(true) => true,
        found => {
            assert!(!required, "GEMM_REQUIRE_NVRTC is set: {:?}", found.err());
            let why = b"skipped: no NVRTC with CUDA's C++ library\n";
            let _ = std::io::Write::write_all(&mut std::io::stderr(), why);
            false
        }
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/strangers")
}

/// The expectations of a file, in lines such as `// expect 2: 0.5 1.5`.
fn expectations(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().take_while(|line| !line.starts_with('#'));
    let expected = lines.filter_map(|line| {
        let line = line
            .trim_start_matches(['/', '*', ' '])
            .strip_prefix("expect ")?;
        line.split_once(": ")
    });
    expected
        .map(|(what, value)| (what.to_owned(), value.trim_end().to_owned()))
        .collect()
}

#[test]
fn every_file_runs_as_its_head_says() {
    if !nvrtc() {
        return;
    }
    let files = std::fs::read_dir(folder()).expect("a folder");
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "cu"));
    files.sort();
    assert!(files.len() >= 18, "{} files", files.len());
    for file in files {
        let name = file.file_name().expect("a name").to_string_lossy();
        let output = Command::new(env!("CARGO_BIN_EXE_ladder"))
            .args(["emulate", "--json"])
            .arg(&file)
            .output()
            .expect("the ladder starts");
        let said = String::from_utf8_lossy(&output.stderr);
        let text = std::fs::read_to_string(&file).expect("a text");
        let expected = expectations(&text);
        assert!(!expected.is_empty(), "{name} expects nothing");
        let refused = expected.iter().find(|(what, _)| what == "refused");
        if let (Some((_, word)), Some(2)) = (refused, output.status.code()) {
            let quoted = format!("the emulator cannot execute `{word}");
            assert!(said.contains(&quoted), "{name}: {said}");
            continue;
        }
        assert_eq!(output.status.code(), Some(0), "{name}: {said}");
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        for (what, value) in &expected {
            check(&report, what, value)
                .unwrap_or_else(|found| panic!("{name}, {what}: {found}, not {value}"));
        }
    }
}

/// The values that differ from the expectation.
fn check(report: &Value, what: &str, expected: &str) -> Result<(), String> {
    if what == "refused" {
        return Ok(());
    }
    if what == "printed" {
        let texts = report["printed"].as_array().expect("a list").iter();
        let text: String = texts
            .map(|one| one["text"].as_str().expect("a text").replace('\n', "|"))
            .collect();
        return if text == expected { Ok(()) } else { Err(text) };
    }
    let number: u64 = what.parse().expect("the number of an argument");
    let buffers = report["buffers"].as_array().expect("a list");
    let buffer = buffers
        .iter()
        .find(|buffer| buffer["argument"] == number)
        .expect("a buffer");
    if let Some(least) = expected.strip_prefix("min ") {
        let found = buffer["min"].as_f64().expect("a number");
        return if Ok(found) == least.parse() {
            Ok(())
        } else {
            Err(found.to_string())
        };
    }
    let first = buffer["first"].as_array().expect("a list").iter();
    let first: Vec<&str> = first.map(|value| value.as_str().expect("a text")).collect();
    if first.join(" ") == expected {
        Ok(())
    } else {
        Err(first.join(" "))
    }
}
