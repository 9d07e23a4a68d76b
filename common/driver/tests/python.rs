//! Programs that use NVIDIA's Python packages, run with this library as the driver.
//!
//! The packages are in the environment `target/python`, or in that of the interpreter that `GEMM_PYTHON` names:
//! `python3 -m venv target/python && target/python/bin/pip install -r common/driver/tests/python/requirements.txt`.
//! Without them these tests print that they were skipped, or fail if `GEMM_REQUIRE_PYTHON=1`.
#![cfg(target_os = "linux")]

use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder that contains this build's library under the name `libcuda.so.1`.
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

/// The interpreter, if the packages are installed.
fn python() -> Option<PathBuf> {
    let python = env::var_os("GEMM_PYTHON").map(PathBuf::from);
    let python = python.unwrap_or_else(|| root().join("target/python/bin/python"));
    let has = Command::new(&python)
        .args([
            "-c",
            "import cuda.bindings.nvrtc, cuda.core, filecheck, numpy, numba_cuda, pytest",
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

/// Runs a script with arguments; `mode` is the value of `GEMM_EMULATE`, optionally followed by a format.
fn run(command: &[&str], mode: &str) -> Option<Output> {
    let [script, arguments @ ..] = command else {
        panic!("no script");
    };
    let (mode, format) = mode.split_once(' ').unwrap_or((mode, ""));
    let output = Command::new(python()?)
        .args(["-W", "ignore"])
        .arg(root().join("common/driver/tests/python").join(script))
        .args(arguments)
        .env("LD_LIBRARY_PATH", folder())
        .env("GEMM_EMULATE", mode)
        .env("GEMM_EMULATE_FORMAT", format)
        .output();
    Some(output.expect("it was started before"))
}

#[track_caller]
fn prints(script: &str, what: &str) {
    let Some(output) = run(&[script], "") else {
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
    let program = script.trim_end_matches(".py");
    let digests = out.lines().filter_map(|line| line.strip_prefix("digest "));
    let here: Vec<String> = digests.map(str::to_owned).collect();
    assert_eq!(here, digests_of_a_gpu(program), "{program}: as on a GPU");
}

/// The results of a program on a GPU, a name and a SHA-256 for each of its buffers: results/h100-80gb-hbm3/driver.csv.
fn digests_of_a_gpu(program: &str) -> Vec<String> {
    let record =
        fs::read_to_string(root().join("results/h100-80gb-hbm3/driver.csv")).expect("the record");
    let rows = record.lines().filter_map(|line| {
        let mut cells = line.split(',');
        let [of, name, sha256] = [cells.next()?, cells.next()?, cells.next()?];
        (of == program).then(|| format!("{name} {sha256}"))
    });
    rows.collect()
}

#[test]
fn cuda_bindings_call_by_call() {
    prints("saxpy.py", "saxpy: every element is right");
}

#[test]
fn cuda_core_with_pools_events_and_graphs() {
    prints("reduction.py", "twice more by a graph");
}

/// With this library interposed on NVRTC, as by `cargo ladder run-on-emulator`; without it, machine code is refused.
#[test]
fn a_program_that_asks_for_machine_code_gets_ptx() {
    let Some(alone) = run(&["cubin.py"], "") else {
        return;
    };
    let said = String::from_utf8_lossy(&alone.stderr).into_owned();
    assert!(said.contains("PTX is needed"), "{said}");

    let python = python().expect("it was there");
    let found = Command::new(&python)
        .args(["-c", "import nvidia.cu13.lib as lib; print(*lib.__path__)"])
        .output()
        .expect("it was started before");
    let found = String::from_utf8_lossy(&found.stdout).into_owned();
    let nvidia = Path::new(found.trim());
    let front = tempfile::tempdir().expect("a folder");
    for name in ["libcuda.so.1", "libnvrtc.so.13"] {
        let library = fs::canonicalize(folder().join("libcuda.so.1")).expect("a library");
        symlink(library, front.path().join(name)).expect("a link");
    }
    let output = Command::new(&python)
        .arg(root().join("common/driver/tests/python/cubin.py"))
        .env(
            "LD_LIBRARY_PATH",
            env::join_paths([front.path(), nvidia]).expect("paths"),
        )
        .env("GEMM_NVIDIA_NVRTC", nvidia.join("libnvrtc.so.13"))
        .output()
        .expect("it was started before");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(
        output.status.success() && said.contains("cubin: 42"),
        "{said}"
    );
}

#[test]
fn cuda_core_launches_clusters() {
    prints(
        "cluster.py",
        "each block has read its neighbor's shared memory",
    );
}

#[test]
fn the_examples_of_numbas_manual_are_right() {
    prints("numba_examples.py", "numba: every example is right");
}

/// The tests of Numba's manual that come with its package, as they are; those left out take longer, or need other packages.
#[test]
fn numbas_own_tests_of_its_manual_pass() {
    let Some(python) = python() else {
        return;
    };
    let found = Command::new(python)
        .args(["-c", "import numba_cuda; print(*numba_cuda.__path__)"])
        .output()
        .expect("it was started before");
    let package = String::from_utf8_lossy(&found.stdout).into_owned();
    let folder = Path::new(package.trim()).join("numba/cuda/tests/doc_examples");
    let examples = [
        "cpointer",
        "cpu_gpu_compat",
        "globals",
        "reduction",
        "ufunc",
        "vecadd",
    ];
    let files = examples.map(|name| folder.join(format!("test_{name}.py")).display().to_string());
    let command: Vec<&str> = ["compare.py"]
        .into_iter()
        .chain(files.iter().map(String::as_str))
        .collect();
    let Some(output) = run(&command, "") else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let passed = said.matches(": exit code 0, ").count();
    assert!(
        output.status.success() && passed == examples.len(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn cuda_bindings_encode_tensor_maps() {
    prints("tensor_map.py", "tensor map: transposed");
}

/// Lines that end in the word `race`, numbered within the script or within the CUDA source that its `SOURCE` contains.
fn marked(script: &str) -> Vec<usize> {
    let path = root().join("common/driver/tests/python").join(script);
    let text = fs::read_to_string(path).expect("a script");
    let first = text.lines().position(|line| line.starts_with("SOURCE = "));
    let lines = text.lines().skip(first.unwrap_or(0)).enumerate();
    let marked = lines.filter(|(_, line)| line.ends_with("# race") || line.ends_with("// race"));
    marked.map(|(at, _)| at + 1).collect()
}

#[test]
fn planted_races_are_named_at_their_lines() {
    let programs: [(&[&str], &str, usize); 4] = [
        (&["numba_races.py"], "numba_races.py", 4),
        (&["dot.py"], "dot.cu", 1),
        (&["cluster.py", "race"], "cluster.cu", 1),
        (&["tensor_map.py", "race"], "transpose.cu", 1),
    ];
    for (command, file, races) in programs {
        let Some(output) = run(command, "sanitize") else {
            return;
        };
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let lines = marked(command[0]);
        assert_eq!(lines.len(), races);
        for line in lines {
            // A finding has two lines; the first says what it is.
            let at = format!(" access at {file}:{line} ");
            assert!(
                said.contains("Race reported") && said.contains(&at),
                "{at}: {said}"
            );
        }
    }
}

/// Answers that differ from a GPU's: of textures, sharing and peers, which are not supported, and where this library is
/// stricter.
const OTHER_ANSWERS: [&str; 15] = [
    "pointer_attribute_device_10",
    "pointer_attribute_device_15",
    "pointer_attribute_device_inside_10",
    "pointer_attribute_device_inside_15",
    "pointer_attribute_registered_3", // registered memory has a device address of its own
    "pointer_attributes_registered",
    "pointer_attributes_unknown", // Linux's HMM lets a GPU read any memory of the host
    "link_complete_of_nothing",
    "alloc_host_0",
    "free_host_null",
    "module_text",
    "module_wrong_ptx", // an unknown instruction is refused when its kernel is asked for
    "alloc_async_0",
    "proc_address_unknown",
    "proc_address_old",
];

#[test]
fn wrong_calls_are_answered_as_by_a_gpu() {
    let Some(output) = run(&["probe.py"], "") else {
        return;
    };
    let record = root().join("results/h100-80gb-hbm3/driver_answers.csv");
    let record = fs::read_to_string(record).expect("the record");
    let here = String::from_utf8_lossy(&output.stdout).into_owned();
    let here: Vec<String> = here
        .lines()
        .filter_map(|line| Some(line.strip_prefix("answer ")?.replace(' ', ",")))
        .collect();
    assert_eq!(here.len(), record.lines().count() - 1, "one for each row");
    for (here, gpu) in here.iter().zip(record.lines().skip(1)) {
        let name = here.split(',').next().unwrap_or_default();
        // Attributes of unsupported features are 0.
        let absent = *here == format!("{name},0,0") && name.starts_with("device_attribute");
        let other = OTHER_ANSWERS.contains(&name);
        assert!(
            absent || (here == gpu) != other,
            "{here}, and on a GPU {gpu}"
        );
    }
}

#[test]
fn a_killed_client_leaves_nothing_behind() {
    let Some(python) = python() else {
        return;
    };
    let scratch = tempfile::tempdir().expect("a folder");
    let mut client = Command::new(python)
        .arg(root().join("common/driver/tests/python/killed.py"))
        .env("LD_LIBRARY_PATH", folder())
        .env("TMPDIR", scratch.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut said = String::new();
    let out = client.stdout.take().expect("piped");
    BufReader::new(out).read_line(&mut said).expect("a line");
    assert_eq!(said, "launched\n");
    std::thread::sleep(Duration::from_millis(200));
    assert!(client.try_wait().expect("a state").is_none(), "it runs");
    client.kill().expect("killed");
    client.wait().expect("ended");
    let left = fs::read_dir(scratch.path()).expect("read").count();
    assert_eq!(left, 0, "files in TMPDIR");
    // The next client starts with a fresh emulator.
    prints("saxpy.py", "saxpy: every element is right");
}

#[test]
fn the_runtime_library_is_refused_with_the_remedy() {
    let Some(output) = run(&["runtime.py"], "") else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("cuGetExportTable") && said.contains("driver API"),
        "{said}"
    );
    assert!(output.status.success(), "{said}");
}

#[test]
fn a_forked_process_is_refused_and_not_hung() {
    prints(
        "forked.py",
        "forked: CUDA_ERROR_NOT_INITIALIZED, and the parent goes on",
    );
}

#[test]
fn memory_constants_streams_and_approximate_functions() {
    prints("image_filter.py", "image filter: every element is right");
}

#[test]
fn templates_cooperative_launches_and_forked_graphs() {
    prints("templates.py", "templates: every element is right");
}

#[test]
fn numba_kernels_on_streams_and_tiles() {
    prints("numba_kernels.py", "numba kernels: every result is right");
}

#[test]
fn numba_compiles_python() {
    prints("numba_sum.py", "numba: the sum is right");
}

#[test]
fn the_race_of_the_book_is_found_at_its_line() {
    let Some(output) = run(&["race.py"], "sanitize") else {
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
    let Some(output) = run(&["race.py"], "profile") else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("wavefronts / ideal") && said.contains("reverse: 1 block"),
        "{said}"
    );
    for mode in ["sanitize json", "profile json", "time json"] {
        let output = run(&["race.py"], mode).expect("Python is there");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let objects = said.lines().map(serde_json::from_str);
        let objects: Result<Vec<serde_json::Value>, _> = objects.collect();
        let kernels = objects.expect("an object a line");
        assert!(
            kernels.iter().all(|one| one["kernel"] == "reverse"),
            "{said}"
        );
    }
    let wrong = run(&["race.py"], "profil").expect("Python is there");
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(
        !wrong.status.success() && said.contains("expected one of profile, sanitize, time"),
        "{said}"
    );
}
