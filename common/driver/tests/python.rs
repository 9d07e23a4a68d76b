//! Programs on NVIDIA's Python packages, run with this library for the driver.
//!
//! The packages are in the environment `target/python`, or in that of the interpreter that `GEMM_PYTHON` names:
//! `python3 -m venv target/python && target/python/bin/pip install -r common/driver/tests/python/requirements.txt`.
//! Without them these tests say that they were skipped, or fail if `GEMM_REQUIRE_PYTHON=1`.
#![cfg(target_os = "linux")]

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder in which the library of this build is called `libcuda.so.1`.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let test = env::current_exe().expect("a path");
        let library = test.with_file_name("libdriver.so");
        assert!(library.is_file(), "{} is not there", library.display());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("emulated-gpu");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        symlink(library, folder.join("libcuda.so.1")).expect("a link");
        folder
    })
}

/// The interpreter, if it has the packages.
fn python() -> Option<PathBuf> {
    let python = env::var_os("GEMM_PYTHON").map(PathBuf::from);
    let python = python.unwrap_or_else(|| root().join("target/python/bin/python"));
    let has = Command::new(&python)
        .args([
            "-c",
            "import cuda.bindings.nvrtc, cuda.core, numpy, numba_cuda",
        ])
        .output();
    if has.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    let how = "python3 -m venv target/python && target/python/bin/pip install -r common/driver/tests/python/requirements.txt";
    assert!(
        env::var_os("GEMM_REQUIRE_PYTHON").is_none(),
        "cuda-python is needed: {how}"
    );
    eprintln!("skipped: no cuda-python; {how}");
    None
}

fn run(script: &str, mode: &str) -> Option<Output> {
    let output = Command::new(python()?)
        .arg(root().join("common/driver/tests/python").join(script))
        .env("LD_LIBRARY_PATH", folder())
        .env("GEMM_EMULATE", mode)
        .output();
    Some(output.expect("it was started before"))
}

#[track_caller]
fn prints(script: &str, what: &str) {
    let Some(output) = run(script, "") else {
        return;
    };
    let (out, errors) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success() && out.contains(what),
        "{out}{errors}"
    );
}

#[test]
fn cuda_bindings_call_by_call() {
    prints("saxpy.py", "saxpy: every element is right");
}

#[test]
fn cuda_core_with_pools_events_and_graphs() {
    prints("reduction.py", "twice more by a graph");
}

#[test]
fn cuda_core_launches_clusters() {
    prints(
        "cluster.py",
        "each block has read its neighbour's shared memory",
    );
}

#[test]
fn numba_compiles_python() {
    prints("numba_sum.py", "numba: the sum is right");
}

#[test]
fn the_race_of_the_book_is_found_at_its_line() {
    let Some(output) = run("race.py", "sanitize") else {
        return;
    };
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(
        said.contains("Race reported between Write access at reverse.cu:4"),
        "{said}"
    );
    let file = root().join("book/recorded/race_in_python.txt");
    if env::var_os("GEMM_RECORD").is_some() {
        fs::write(&file, &said).expect("written");
    }
    let recorded = fs::read_to_string(&file).expect("recorded");
    assert_eq!(said, recorded, "GEMM_RECORD=1 writes it again");
}

#[test]
fn profile_and_time_report_each_launch() {
    let Some(output) = run("race.py", "profile") else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("wavefronts / ideal") && said.contains("reverse: 1 block"),
        "{said}"
    );
    let wrong = run("race.py", "profil").expect("Python is there");
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(
        !wrong.status.success() && said.contains("expected one of profile, sanitize, time"),
        "{said}"
    );
}
