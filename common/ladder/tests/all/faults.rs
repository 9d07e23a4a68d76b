//! Planted faults, each beside a correct twin: `tests/faults/CLASS/NAME.cu` and `NAME_ok.cu`, or `.ptx` if a compiler
//! would remove the fault. `sanitize` must report exactly the findings that are annotated in the faulty file, and
//! none in its twin.
//!
//! A line that ends with `//~ ERROR words` expects a finding with these words, `//~ NOTE words` a note. For a race,
//! either of its two lines may be annotated. Code that a launch never executes is checked only where it is annotated.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::thread;

use serde_json::Value;

/// The least number of faults of each class.
const MEMBERS: usize = 3;
/// The schedules in which each is launched.
const SCHEDULES: [&str; 2] = ["0", "1"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/faults")
}

/// The kernels of each class: sources, and PTX without a source.
fn classes() -> BTreeMap<String, Vec<PathBuf>> {
    let entries = |path: &Path| {
        let entries = std::fs::read_dir(path).expect("a folder");
        let mut paths: Vec<PathBuf> = entries.map(|one| one.expect("an entry").path()).collect();
        paths.sort();
        paths
    };
    let is_kernel = |path: &PathBuf| match path.extension().and_then(|ending| ending.to_str()) {
        Some("cu") => true,
        Some("ptx") => !path.with_extension("cu").exists(),
        _ => false,
    };
    let classes = entries(&folder()).into_iter().filter(|path| path.is_dir());
    let named = classes.map(|path| {
        let name = path.file_name().expect("a name").to_string_lossy();
        let kernels = entries(&path).into_iter().filter(is_kernel).collect();
        (name.into_owned(), kernels)
    });
    named.collect()
}

/// The annotations of a kernel: (line, severity, words).
fn expected(text: &str) -> Vec<(u64, String, String)> {
    let lines = (1..).zip(text.lines());
    let marked = lines.filter_map(|(line, text)| {
        let (severity, words) = text.split_once("//~")?.1.trim().split_once(' ')?;
        Some((line, severity.to_lowercase(), words.to_owned()))
    });
    marked.collect()
}

/// Whether a finding names this line.
fn is_at(said: &str, path: &Path, line: u64) -> bool {
    let file = path.file_name().expect("a name").to_string_lossy();
    let at = match path.extension().is_some_and(|ending| ending == "ptx") {
        true => format!("PTX line {line}"),
        false => format!("{file}:{line}"),
    };
    let mut behind = said.split(&at).skip(1);
    behind.any(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
}

/// The findings of `sanitize`: (severity, text).
fn said(path: &Path, schedule: &str) -> Result<Vec<(String, String)>, String> {
    let output = Command::new(env!("CARGO_BIN_EXE_ladder"))
        .args(["emulate", "--sanitize", "--json", "--schedule", schedule])
        .arg(path)
        .env("GEMM_NVRTC", std::env::temp_dir().join("no-nvrtc-here"))
        .output()
        .map_err(|error| error.to_string())?;
    let report: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())?;
    let text = |one: &Value| one["text"].as_str().unwrap_or_default().to_owned();
    let list = |key: &str| report[key].as_array().cloned().unwrap_or_default();
    let findings = list("findings");
    let clean = findings.is_empty();
    if (output.status.code() == Some(0)) != clean {
        return Err(format!("exit code {:?}", output.status.code()));
    }
    let findings = findings.iter().map(|one| ("error".to_owned(), text(one)));
    let remarks = list("remarks");
    let remarks = remarks.iter().map(|one| {
        let severity = one["severity"].as_str().unwrap_or_default();
        (severity.to_owned(), text(one))
    });
    Ok(findings.chain(remarks).collect())
}

/// Whether the findings are exactly those annotated.
fn check(path: &Path, schedule: &str) -> Result<(), String> {
    let source = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let mut expected = expected(&source);
    let is_twin = path
        .file_stem()
        .is_some_and(|stem| stem.to_string_lossy().ends_with("_ok"));
    if expected.is_empty() != is_twin {
        return Err("a fault says what is expected, and its twin expects nothing".into());
    }
    let asks_for_unseen = source.contains("Never executed");
    for (severity, text) in said(path, schedule)? {
        let known = expected.iter().position(|(line, wanted, words)| {
            *wanted == severity && text.contains(words.as_str()) && is_at(&text, path, *line)
        });
        match known {
            Some(index) => drop(expected.remove(index)),
            None if text.starts_with("Never executed") && !asks_for_unseen && !is_twin => {}
            None => return Err(format!("unexpected {severity}: {text}")),
        }
    }
    match expected.first() {
        Some((line, severity, words)) => Err(format!("line {line}: no {severity} says {words:?}")),
        None => Ok(()),
    }
}

#[test]
fn every_planted_fault_is_found_and_no_twin() {
    let classes = classes();
    assert!(classes.len() >= 20, "{:?}", classes.keys());
    let mut kernels = Vec::new();
    for (class, members) in classes {
        let faults: Vec<&PathBuf> = members
            .iter()
            .filter(|path| !path.with_extension("").to_string_lossy().ends_with("_ok"))
            .collect();
        assert!(faults.len() >= MEMBERS, "{class} has {}", faults.len());
        for fault in faults {
            let ending = fault.extension().expect("one").to_string_lossy();
            let stem = fault.with_extension("");
            let twin = format!("{}_ok.{ending}", stem.display());
            assert!(members.contains(&PathBuf::from(&twin)), "no {twin}");
        }
        kernels.extend(members);
    }
    let (next, failed) = (Mutex::new(kernels.into_iter()), Mutex::new(Vec::new()));
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let Some(path) = next.lock().expect("no panic").next() else {
                        return;
                    };
                    for schedule in SCHEDULES {
                        if let Err(why) = check(&path, schedule) {
                            let shown = path.strip_prefix(folder()).unwrap_or(&path).display();
                            let text = format!("{shown}, schedule {schedule}: {why}");
                            failed.lock().expect("no panic").push(text);
                            break;
                        }
                    }
                }
            });
        }
    });
    let mut failed = failed.into_inner().expect("no panic");
    failed.sort();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[test]
fn a_launch_that_executes_the_rest_is_proposed() {
    for (name, by) in [
        ("fence_of_the_last_block", "--grid 2,1,1"),
        ("wait_of_a_tail", "argument 1 as 33"),
    ] {
        let path = folder().join(format!("never_executed/{name}.cu"));
        let said = said(&path, "0").expect("a report");
        let proposed = format!("a launch with {by} executes it");
        let notes = said.iter().filter(|(severity, _)| severity == "note");
        let count = notes.clone().filter(|(_, text)| text.ends_with(&proposed));
        assert!(count.count() > 0, "{said:?}");
    }
}
