//! Where things are, and which tests run.
use std::any::Any;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::{env, fs};

use harness::Nvrtc;
use harness::tools::{self, PTXAS};
use rayon::prelude::*;

/// The workspace's folder.
pub fn root() -> &'static Path {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    folder.ancestors().nth(2).expect("course/grader")
}

/// What students start with: for a kernel with a bug, the broken one.
pub fn starter(assignment: &Path) -> String {
    let broken = assignment.join(grader::grade::BROKEN);
    match broken.is_file() {
        true => read(&broken),
        false => read(&assignment.join("kernel.cu")),
    }
}

/// The folder of each assignment, sorted.
pub fn assignments() -> Vec<PathBuf> {
    let all = folders(&root().join("course/assignments"));
    assert!(!all.is_empty());
    all
}

/// The folders in a folder, sorted.
pub fn folders(of: &Path) -> Vec<PathBuf> {
    let mut all = entries(of);
    all.retain(|path| path.is_dir());
    all
}

/// The entries of a folder, sorted; none if it does not exist.
pub fn entries(of: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(of).into_iter().flatten().flatten();
    let mut all: Vec<_> = entries.map(|entry| entry.path()).collect();
    all.sort();
    all
}

/// The kernels in a folder.
pub fn kernels(folder: &Path) -> Vec<PathBuf> {
    let mut all = entries(folder);
    all.retain(|path| path.extension().is_some_and(|ending| ending == "cu"));
    all
}

pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The last component of a path.
pub fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Whether NVRTC is available. With `GEMM_REQUIRE_NVRTC=1`, as in CI, it must be.
pub fn has_nvrtc() -> bool {
    let found = Nvrtc::find().is_ok();
    let required = env::var("GEMM_REQUIRE_NVRTC").is_ok_and(|value| value == "1");
    assert!(
        found || !required,
        "GEMM_REQUIRE_NVRTC=1, but there is no NVRTC"
    );
    if !found {
        say("skipped: no NVRTC (`cargo ladder get-nvrtc` fetches it)");
    }
    found
}

/// Whether an assignment's points depend on predicted clocks, which needs ptxas.
pub fn is_timed(assignment: &Path) -> bool {
    let rubric = fs::read_to_string(assignment.join("rubric.toml")).unwrap_or_default();
    rubric.contains("\ntimed = ")
}

/// Whether the pinned ptxas is available. With `GEMM_REQUIRE_PTXAS=1`, as in CI, it must be.
pub fn has_ptxas() -> bool {
    let found = tools::pinned("ptxas", PTXAS).is_ok() && tools::locate("nvdisasm").is_some();
    let required = env::var("GEMM_REQUIRE_PTXAS").is_ok_and(|value| value == "1");
    assert!(
        found || !required,
        "GEMM_REQUIRE_PTXAS=1, but there is no ptxas"
    );
    if !found {
        say("an assignment was left out: no ptxas (`cargo ladder get-nvrtc --ptxas` fetches it)");
    }
    found
}

/// What `f` makes of each of these, on all cores. A panic is repeated in the test's own thread: the runner shows only what that one
/// prints.
pub fn on_all_cores<T: Sync, R: Send>(all: &[T], f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let caught = |one| catch_unwind(AssertUnwindSafe(|| f(one)));
    let done: Vec<_> = all.par_iter().map(caught).collect();
    let done = done.into_iter();
    done.map(|one| one.unwrap_or_else(|panic| panic!("{}", message(&*panic))))
        .collect()
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a message")
}

#[test]
#[should_panic(expected = "the second of them")]
fn panics_on_other_cores_are_reported() {
    on_all_cores(&[1, 2], |number| {
        assert!(*number != 2, "the second of them")
    });
}

/// Says what was left out; not by eprintln!, which the test runner keeps to itself.
pub fn say(what: &str) {
    let _ = writeln!(std::io::stderr(), "{what}");
}
