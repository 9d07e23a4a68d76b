//! `cargo ladder run-on-emulator -- PROGRAM ARGS`: runs a program that uses CUDA's driver API, with the emulator in
//! place of a GPU.
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};
use harness::rungs;

#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Look for races and other faults in each launch, as compute-sanitizer does
    #[arg(long)]
    sanitize: bool,
    /// Show each launch's source line by line, with what each line does to the memory system
    #[arg(long, conflicts_with = "sanitize")]
    profile: bool,
    /// Show how long each launch would take on an H200, according to the clock model
    #[arg(long, conflicts_with_all = ["sanitize", "profile"])]
    time: bool,
    /// The format of the reports: text, json, or csv with the names of Nsight Compute's metrics
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "json", "csv"], default_value = "text")]
    format: String,
    /// Write the reports to a file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    program: Vec<OsString>,
}

const AFTER_HELP: &str = "\
The program finds the emulator as libcuda.so.1, through LD_LIBRARY_PATH. Its kernels must be PTX.\n\
Exit code: the program's; 2 if it cannot be started.";

/// The names under which programs load the driver.
const NAMES: [&str; 2] = ["libcuda.so.1", "libcuda.so"];

/// Builds the library, starts the program, and exits with its exit code.
pub fn run(arguments: &Arguments) -> Result<bool> {
    if !cfg!(target_os = "linux") {
        bail!(
            "libcuda.so.1 is a library for Linux; on another system run a Linux container, or launch single kernels by `cargo ladder emulate`"
        );
    }
    if arguments.format == "csv" && !arguments.profile {
        bail!(
            "--format csv has counters under the names of Nsight Compute's metrics: add --profile"
        );
    }
    let folder = folder_of_library(&build()?)?;
    let [program, rest @ ..] = &arguments.program[..] else {
        bail!("which program? cargo ladder run-on-emulator -- PROGRAM ARGS");
    };
    let mut command = Command::new(program);
    command
        .args(rest)
        .env("LD_LIBRARY_PATH", before(&[&folder], "LD_LIBRARY_PATH")?);
    interpose_nvrtc(&folder, &mut command)?;
    let modes = [
        (arguments.sanitize, "sanitize"),
        (arguments.profile, "profile"),
        (arguments.time, "time"),
    ];
    if let Some((_, mode)) = modes.iter().find(|(wanted, _)| *wanted) {
        command.env("GEMM_EMULATE", mode);
        command.env("GEMM_EMULATE_FORMAT", &arguments.format);
    }
    if let Some(out) = &arguments.out {
        let out = std::path::absolute(out).context("the current folder no longer exists")?;
        command.env("GEMM_EMULATE_OUT", out);
    }
    let status = command.status();
    let status = status.with_context(|| format!("cannot start {}", program.display()))?;
    std::process::exit(code(status))
}

/// The exit code that a shell would report: 128 plus the signal's number after a signal.
fn code(status: ExitStatus) -> i32 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return 128 + signal;
    }
    status.code().unwrap_or(1)
}

/// Builds `common/driver`; returns the library's file.
fn build() -> Result<PathBuf> {
    let root = rungs::root().context(
        "the emulator's libcuda.so.1 is built from the workspace's sources, which are missing; run it in a checkout",
    )?;
    let cargo = env::var_os("CARGO").unwrap_or("cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--package", "driver", "--lib"])
        .args(["--message-format", "json-render-diagnostics"])
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot run cargo")?;
    if !built.status.success() {
        bail!("the emulator's libcuda.so.1 could not be built; see cargo's messages above");
    }
    let lines = String::from_utf8_lossy(&built.stdout).into_owned();
    let messages = lines
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let files = messages.flat_map(|message: serde_json::Value| {
        let files = message["filenames"].as_array().cloned().unwrap_or_default();
        files
            .into_iter()
            .filter_map(|file| Some(PathBuf::from(file.as_str()?)))
    });
    let mut libraries =
        files.filter(|file| file.file_name().is_some_and(|name| name == "libdriver.so"));
    libraries.next().context("cargo built no libdriver.so")
}

/// A folder that links the library under the driver's names.
fn folder_of_library(library: &Path) -> Result<PathBuf> {
    let folder = library.with_file_name("emulated-gpu");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for name in NAMES {
        link(library, &folder.join(name))?;
    }
    Ok(folder)
}

/// Creates a link to the library, unless it exists.
fn link(library: &Path, link: &Path) -> Result<()> {
    if fs::read_link(link).is_ok_and(|target| target == library) {
        return Ok(());
    }
    // Another process may create the link at the same time.
    let scratch = link.with_extension(std::process::id().to_string());
    let made = symlink(library, &scratch).and_then(|()| fs::rename(&scratch, link));
    made.with_context(|| format!("cannot create {}", link.display()))
}

/// Interposes the library on NVRTC: programs that ask NVRTC for machine code get PTX. Where no NVRTC 13 is found, programs load
/// whichever they find.
fn interpose_nvrtc(folder: &Path, command: &mut Command) -> Result<()> {
    let name = folder.join("libnvrtc.so.13");
    let nvrtc = harness::Nvrtc::find().ok();
    let nvrtc = nvrtc.filter(|nvrtc| nvrtc.version().0 == 13);
    let Some(path) = nvrtc.as_ref().and_then(|nvrtc| nvrtc.path()) else {
        let _ = fs::remove_file(name);
        return Ok(());
    };
    link(&folder.join("libcuda.so.1"), &name)?;
    // It looks for its built-in functions on the loader's path.
    let path = fs::canonicalize(path).context("NVRTC no longer exists")?;
    let folders = [folder, path.parent().unwrap_or(folder)];
    command.env("LD_LIBRARY_PATH", before(&folders, "LD_LIBRARY_PATH")?);
    command.env("GEMM_NVIDIA_NVRTC", path);
    Ok(())
}

#[cfg(unix)]
fn symlink(from: &Path, to: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(from, to)
}

#[cfg(not(unix))]
fn symlink(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::copy(from, to).map(|_| ())
}

/// A list of folders with others in front.
fn before(folders: &[&Path], variable: &str) -> Result<OsString> {
    let rest = env::var_os(variable).filter(|value| !value.is_empty());
    let rest: Vec<PathBuf> = rest.iter().flat_map(env::split_paths).collect();
    let all = folders
        .iter()
        .copied()
        .chain(rest.iter().map(PathBuf::as_path));
    env::join_paths(all).with_context(|| format!("{folders:?} cannot be in {variable}"))
}
