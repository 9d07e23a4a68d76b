//! The repository that `cargo ladder export-course` writes, as Cargo sees it.
use std::process::Command;
use std::{env, fs};

use tempfile::TempDir;

/// Cargo finds every member, and has nothing to change in the lock file.
#[test]
fn cargo_takes_the_workspace_as_it_is() {
    let folder = TempDir::new().expect("a folder");
    let output = Command::new(env!("CARGO_BIN_EXE_ladder"))
        .arg("export-course")
        .arg(folder.path())
        .args(["--book", "https://example.org/book"])
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .output()
        .expect("the ladder starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(!String::from_utf8_lossy(&output.stdout).contains("Cargo.lock"));
    let cargo = env::var_os("CARGO").unwrap_or("cargo".into());
    let output = Command::new(cargo)
        .args([
            "tree",
            "--workspace",
            "--locked",
            "--offline",
            "--depth",
            "0",
        ])
        .current_dir(folder.path())
        .output()
        .expect("cargo");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(!said.contains("warning"), "{said}");
    let only_here = ["mdbook-driver", "tungstenite", "calibration"];
    let lock = fs::read_to_string(folder.path().join("Cargo.lock")).expect("a lock file");
    assert!(only_here.iter().all(|name| !lock.contains(name)));
    let packages = String::from_utf8_lossy(&output.stdout);
    for package in [
        "ladder v",
        "harness v",
        "grader v",
        "rung01_naive v",
        "rung16_stream_k v",
    ] {
        assert!(packages.contains(package), "{packages}");
    }
    assert!(!packages.contains("calibration"), "{packages}");
    // The header with which the harness compiles rungs 09 to 17.
    assert!(folder.path().join("rungs/hopper.cuh").is_file());
}
