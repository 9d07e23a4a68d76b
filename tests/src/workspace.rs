//! The workspace's files, and how to run a rung as a reader would.
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::{env, fs};

use harness::{KernelFile, KernelOnDisk, Rung};

/// The workspace's folder: the one in which this was built, or, on another machine, the current one.
pub fn root() -> &'static Path {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    built.filter(|root| root.is_dir()).unwrap_or(Path::new("."))
}

/// The folders in `rungs/`, sorted: the list of rungs.
pub fn rungs() -> Vec<PathBuf> {
    folders(&root().join("rungs"))
}

/// The folders in `book/labs/` that have kernels, sorted.
pub fn labs() -> Vec<PathBuf> {
    let mut labs = folders(&root().join("book/labs"));
    labs.retain(|folder| !files(folder, ".cu").is_empty());
    labs
}

/// The rung of a folder, with all its kernels and no switch; its texts are leaked.
pub fn rung(name: &'static str) -> Rung {
    let kernels = KernelOnDisk::in_folder(&root().join("rungs").join(name));
    let kernels: &'static [KernelOnDisk] = kernels.unwrap_or_default().leak();
    let kernels: Vec<KernelFile> = kernels.iter().map(KernelOnDisk::kernel).collect();
    Rung {
        name,
        kernels: kernels.leak(),
        switches: &[],
        tile: None,
        host: harness::gemm,
    }
}

/// The folders in a folder, sorted.
pub fn folders(of: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = entries(of)
        .into_iter()
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    folders
}

/// The entries of a folder; empty if it cannot be read.
pub fn entries(of: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(of).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// All files below a folder with this name ending, except build outputs.
pub fn files(below: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in entries(below) {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            found.extend(files(&path, ending));
        } else if name.ends_with(ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The text of a file.
///
/// # Panics
/// If it cannot be read: a test that needs it has failed.
pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The program of a rung (`03_padded`) or of the ladder, built as `cargo run` would build it.
///
/// # Panics
/// If it cannot be built.
pub fn program(package: &str) -> Command {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let folder = BUILT.get_or_init(|| {
        // A test is in target/debug/deps, the programs one folder up.
        let test = env::current_exe().unwrap_or_default();
        let folder = test
            .ancestors()
            .nth(2)
            .unwrap_or(Path::new("."))
            .to_path_buf();
        let release = folder.ends_with("release");
        let cargo = env::var_os("CARGO").unwrap_or("cargo".into());
        let status = Command::new(cargo)
            .args(["build", "--quiet", "--bins"])
            .args(release.then_some("--release"))
            .current_dir(root())
            .status();
        assert!(
            status.is_ok_and(|status| status.success()),
            "the programs cannot be built"
        );
        folder
    });
    Command::new(folder.join(format!("{package}{}", env::consts::EXE_SUFFIX)))
}

/// Runs a rung on the emulator, with PTX that needs no compiler.
///
/// # Panics
/// If it cannot be started.
pub fn run(rung: &Path, arguments: &[&str]) -> Output {
    let name = rung.file_name().unwrap_or_default().to_string_lossy();
    let mut program = program(&format!("rung{name}"));
    program.args(["--device", "emulator"]).args(arguments);
    program
        .output()
        .unwrap_or_else(|error| panic!("rung{name}: {error}"))
}

/// Whether NVRTC was found. With `GEMM_REQUIRE_NVRTC=1`, as in CI, it must be.
///
/// # Panics
/// If NVRTC is required and missing.
pub fn has_nvrtc(found: bool) -> bool {
    let required = env::var("GEMM_REQUIRE_NVRTC").is_ok_and(|value| value == "1");
    assert!(
        found || !required,
        "GEMM_REQUIRE_NVRTC=1, but there is no NVRTC"
    );
    if !found {
        skipped("no NVRTC (`cargo ladder get-nvrtc` fetches it)");
    }
    found
}

/// Prints that a test was skipped, and why; written directly, since the test runner captures eprintln!.
pub fn skipped(why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}
