//! `cargo ladder get-nvrtc`: installs NVRTC and CUDA's headers, as pinned wheels, into .cuda/.
use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use owo_colors::OwoColorize;

use harness::rungs;
use harness::tools::{NVDISASM, PTXAS};

#[derive(clap::Args)]
pub struct Arguments {
    /// Also install ptxas, which assembles PTX to machine code, and nvdisasm, which disassembles it
    #[arg(long)]
    ptxas: bool,
}

/// A CUDA 13.0 driver refuses the PTX of newer versions.
/// The last two wheels contain what `mma.h`, `cooperative_groups.h`, `cuda/barrier` and `cuda/std/` include.
const WHEELS: [&str; 4] = [
    "nvidia-cuda-nvrtc==13.0.88",
    "nvidia-cuda-runtime==13.0.96",
    "nvidia-cuda-crt==13.0.88",
    "nvidia-cuda-cccl==13.0.85",
];

pub fn run(arguments: &Arguments) -> Result<bool> {
    if cfg!(target_os = "macos") {
        bail!(
            "NVIDIA has no NVRTC for macOS. The emulator runs the committed kernel.ptx without it; to compile a kernel of your \
             own, open the course in its development container (.devcontainer in what `cargo ladder export-course` \
             writes), which is Linux, on ARM too"
        );
    }
    let root = rungs::root()
        .map_or_else(env::current_dir, Ok)
        .context("the current folder no longer exists")?;
    let folder = root.join(".cuda");
    let python = python()?;
    let (wheels, megabytes) = match arguments.ptxas {
        true => ([&WHEELS[..], &[PTXAS, NVDISASM]].concat(), 145),
        false => (WHEELS.to_vec(), 95),
    };
    harness::println!(
        "fetching {} into {} (about {megabytes} MB)",
        wheels.join(" and "),
        folder.display()
    );
    let status = Command::new(python)
        .args(["-m", "pip", "install", "--quiet"])
        .arg("--disable-pip-version-check")
        // As a variable, which pips before 22.1 ignore.
        .env("PIP_ROOT_USER_ACTION", "ignore")
        .args(["--no-deps", "--upgrade", "--target"])
        .arg(&folder)
        .args(&wheels)
        .status()
        .with_context(|| format!("cannot run {python}"))?;
    if !status.success() {
        bail!("pip could not fetch them; see its messages above");
    }
    if !holds_nvrtc(&folder) {
        bail!(
            "pip reported success, but there is no NVRTC in {}; remove that folder and try again",
            folder.display()
        );
    }
    harness::println!(
        "{}: programs in this folder and those below now compile a kernel.cu that was changed, and kernels of yours",
        "done".green()
    );
    Ok(true)
}

/// A Python that has pip.
fn python() -> Result<&'static str> {
    let runs = |python: &str, arguments: &[&str]| {
        let mut command = Command::new(python);
        let output = command.args(arguments).stdin(Stdio::null()).output();
        output.is_ok_and(|output| output.status.success())
    };
    let mut found = vec!["python3", "python"];
    found.retain(|python| runs(python, &["--version"]));
    let has_pip = |python: &&&str| runs(python, &["-m", "pip", "--version"]);
    match found.iter().find(has_pip) {
        Some(python) => Ok(python),
        None if found.is_empty() => bail!(
            "there is no python3, whose pip fetches NVIDIA's wheels; install Python, or install the CUDA toolkit and set CUDA_HOME"
        ),
        None => bail!(
            "{} has no pip, which fetches NVIDIA's wheels; install it (`{} -m ensurepip`, or your system's python3-pip)",
            found[0],
            found[0]
        ),
    }
}

fn holds_nvrtc(folder: &Path) -> bool {
    let names = ["lib", "bin", "bin/x86_64"].map(|name| folder.join("nvidia/cu13").join(name));
    let folders = names.iter().filter_map(|name| name.read_dir().ok());
    let mut files = folders.flatten().flatten();
    files.any(|file| file.file_name().to_string_lossy().contains("nvrtc"))
}
