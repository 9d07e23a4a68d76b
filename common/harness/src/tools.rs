//! Finds CUDA's programs.
use std::env;
use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::rungs;

#[cfg(not(target_family = "wasm"))]
pub(crate) use tempfile::tempdir;

/// WebAssembly cannot create folders; no program that needs one is found there either.
#[cfg(target_family = "wasm")]
pub(crate) fn tempdir() -> std::io::Result<NoFolder> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// A folder for temporary files, which WebAssembly does not have.
#[cfg(target_family = "wasm")]
pub(crate) enum NoFolder {}

#[cfg(target_family = "wasm")]
impl NoFolder {
    pub(crate) fn path(&self) -> &Path {
        match *self {}
    }
}

/// The package that has `ptxas`.
pub const PTXAS: &str = "nvidia-cuda-nvcc==13.0.88";

/// The package that has `nvdisasm`. It disassembles the pinned ptxas's code, although its version differs.
pub const NVDISASM: &str = "nvidia-cuda-nvdisasm==13.2.51";

/// Finds `ptxas` or `nvdisasm`: in PATH, CUDA_HOME, .cuda/ and VIRTUAL_ENV, in this order.
pub fn find(name: &str, wheel: &str) -> Result<PathBuf> {
    locate(name).with_context(|| {
        format!(
            "{name} was not found in PATH, CUDA_HOME, .cuda/ or VIRTUAL_ENV; it comes with the CUDA toolkit, or by\n  \
             python3 -m pip install --no-deps --target .cuda {wheel}"
        )
    })
}

/// The version in a package's name and version.
pub fn version(wheel: &str) -> &str {
    wheel.rsplit("==").next().unwrap_or_default()
}

/// Finds the pinned version of `ptxas`, whose machine code is used to compare clocks: the first one found with that
/// version.
///
/// # Errors
/// If it is not found; the error names the command that fetches it.
pub fn pinned(name: &str, wheel: &str) -> Result<PathBuf> {
    let version = version(wheel);
    let is_it = |file: &PathBuf| {
        let said = output(Command::new(file).arg("--version"));
        said.is_ok_and(|said| said.contains(&format!("V{version}")))
    };
    files(name).find(is_it).with_context(|| {
        format!(
            "{name} {version} was not found in PATH, CUDA_HOME, .cuda/ or VIRTUAL_ENV: clocks are compared by its machine code; \
             `cargo ladder get-nvrtc --ptxas` fetches it"
        )
    })
}

/// The first file of this name in those folders.
pub fn locate(name: &str) -> Option<PathBuf> {
    files(name).next()
}

fn files(name: &str) -> impl Iterator<Item = PathBuf> {
    let file = format!("{name}{EXE_SUFFIX}");
    let files = folders().into_iter().map(move |folder| folder.join(&file));
    files.filter(|file| file.is_file())
}

fn folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = env::var_os("PATH")
        .map(|path| env::split_paths(&path).collect())
        .unwrap_or_default();
    folders.extend(env::var_os("CUDA_HOME").map(|home| Path::new(&home).join("bin")));
    let packages = rungs::root()
        .map(|root| root.join(".cuda"))
        .into_iter()
        .chain(site_packages());
    folders.extend(
        packages.flat_map(|packages| [packages.join("nvidia/cu13/bin"), packages.join("bin")]),
    );
    folders
}

/// The package folders of an active Python environment.
fn site_packages() -> Vec<PathBuf> {
    let Some(environment) = env::var_os("VIRTUAL_ENV").map(PathBuf::from) else {
        return Vec::new();
    };
    let versions = std::fs::read_dir(environment.join("lib"))
        .into_iter()
        .flatten()
        .flatten();
    let unix = versions.map(|version| version.path().join("site-packages"));
    unix.chain([environment.join("Lib/site-packages")])
        .collect()
}

/// Assembles `kernel.cubin` in a folder; returns the output of `ptxas`.
///
/// # Errors
/// If the folder cannot be written to, or `ptxas` refuses the PTX.
pub fn assemble(ptxas: &Path, scratch: &Path, ptx: &str, arch: &str) -> Result<String> {
    fs::write(scratch.join("kernel.ptx"), ptx).context("cannot write the PTX")?;
    let mut assemble = Command::new(ptxas);
    assemble
        .current_dir(scratch)
        .args(["--gpu-name", arch, "--verbose", "--generate-line-info"]);
    output(assemble.args(["kernel.ptx", "--output-file", "kernel.cubin"]))
}

/// Registers per thread, as `ptxas` allocates them.
///
/// # Errors
/// If `ptxas` is not found, or refuses the PTX.
pub fn registers(ptx: &str, kernel: &str, target: &str) -> Result<u32> {
    let ptxas = find("ptxas", PTXAS)?;
    let arch = if target == "sm_90a" { target } else { "sm_90" };
    let scratch = tempdir()?;
    let said = assemble(&ptxas, scratch.path(), ptx, arch)?;
    registers_said(&said, kernel).context("ptxas does not say how many registers it uses")
}

/// Parses `Used 168 registers` after the line that names the kernel.
pub(crate) fn registers_said(said: &str, name: &str) -> Option<u32> {
    let of = said.split_once(&format!("'{name}'"))?.1;
    let used = of.split_once("Used ")?.1;
    used.split_once(" registers")?.0.trim().parse().ok()
}

/// Runs a program; returns its output, both streams.
///
/// # Errors
/// If it cannot be run, or fails; the error includes its output.
pub fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output();
    let output = output.with_context(|| format!("cannot run {program}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{program} failed:\n{}", said.trim_end());
    }
    Ok(said)
}
