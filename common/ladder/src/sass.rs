//! `cargo ladder sass N`: a rung's machine code, or that of two rungs in numbers.
mod compare;

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use harness::KernelOnDisk;

use harness::{rungs, tools};

/// The package that has `ptxas`.
pub const PTXAS: &str = "nvidia-cuda-nvcc==13.0.88";

#[derive(clap::Args)]
pub struct Arguments {
    /// The rung: its number or name
    rung: String,
    /// Another rung: count the instructions of both instead
    other: Option<String>,
    /// What to assemble for; sm_90a takes the rung's Hopper kernel, if it has one [default: sm_90]
    #[arg(long)]
    arch: Option<String>,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let arch = arguments.arch.as_deref();
    let (name, code, said) = machine_code(&arguments.rung, arch)?;
    if let Some(other) = &arguments.other {
        let (other, others, _) = machine_code(other, arch)?;
        let kernels = [&code, &others].map(|code| compare::Census::of(code));
        anstream::print!("{}", compare::table([&name, &other], kernels.each_ref()));
    } else {
        anstream::print!("{code}");
        anstream::eprint!("{said}");
    }
    Ok(true)
}

/// A rung's name, its kernel as `nvdisasm` prints it, and what `ptxas` said of it.
fn machine_code(rung: &str, arch: Option<&str>) -> Result<(String, String, String)> {
    let ptxas = tools::find("ptxas", PTXAS)?;
    let nvdisasm = tools::find("nvdisasm", "nvidia-cuda-nvdisasm==13.2.51")?;
    let rung = rungs::find(rung)?;
    // The kernel that is written for `--arch`, else the first.
    let kernels = rung.kernels()?;
    let wanted = |kernel: &&KernelOnDisk| Some(kernel.kernel().arch) == arch;
    let kernel = kernels.iter().find(wanted).or(kernels.first());
    let no_kernel = || format!("rung {} has no kernel.cu", rung.name);
    let kernel = kernel.with_context(no_kernel)?.kernel();
    let arch = arch.unwrap_or(match kernel.arch {
        "sm_80" => "sm_90",
        own => own,
    });

    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    let said = assemble(
        &ptxas,
        scratch.path(),
        &kernel.current_ptx(&rung.place())?,
        arch,
    )?;
    let mut disassemble = Command::new(&nvdisasm);
    let code = output(disassemble.current_dir(scratch.path()).args([
        "--print-code",
        "--print-line-info",
        "kernel.cubin",
    ]))?;
    Ok((rung.name, code, said))
}

/// Makes `kernel.cubin`; what `ptxas` said of it.
fn assemble(ptxas: &Path, scratch: &Path, ptx: &str, arch: &str) -> Result<String> {
    fs::write(scratch.join("kernel.ptx"), ptx).context("cannot write the PTX")?;
    let mut assemble = Command::new(ptxas);
    assemble
        .current_dir(scratch)
        .args(["--gpu-name", arch, "--verbose", "--generate-line-info"]);
    output(assemble.args(["kernel.ptx", "--output-file", "kernel.cubin"]))
}

/// Runs a program; what it said, on both streams.
fn output(command: &mut Command) -> Result<String> {
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

#[cfg(test)]
mod tests;
