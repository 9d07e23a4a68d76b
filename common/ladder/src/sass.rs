//! `cargo ladder sass N`: a rung's machine code, or the instruction counts of two rungs.
mod compare;

use std::process::Command;

use anyhow::{Context, Result};

use harness::KernelOnDisk;

use harness::tools::{self, NVDISASM, PTXAS, assemble, output};

use harness::rungs;

#[derive(clap::Args)]
pub struct Arguments {
    /// The rung: its number or name
    rung: String,
    /// Another rung: count the instructions of both instead
    other: Option<String>,
    /// The target architecture; sm_90a takes the rung's Hopper kernel, if it has one [default: sm_90]
    #[arg(long)]
    arch: Option<String>,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let arch = arguments.arch.as_deref();
    let (name, code, said) = machine_code(&arguments.rung, arch)?;
    if let Some(other) = &arguments.other {
        let (other, others, _) = machine_code(other, arch)?;
        let kernels = [&code, &others].map(|code| compare::InstructionCounts::of(code));
        harness::print!("{}", compare::table([&name, &other], kernels.each_ref()));
    } else {
        harness::print!("{code}");
        harness::eprint!("{said}");
    }
    Ok(true)
}

/// A rung's name, its kernel as `nvdisasm` prints it, and the output of `ptxas`.
fn machine_code(rung: &str, arch: Option<&str>) -> Result<(String, String, String)> {
    let ptxas = tools::find("ptxas", PTXAS)?;
    let nvdisasm = tools::find("nvdisasm", NVDISASM)?;
    let rung = rungs::find(rung)?;
    // The kernel for `--arch`, else the first.
    let kernels = rung.kernels()?;
    let wanted = |kernel: &&KernelOnDisk| Some(kernel.kernel().arch) == arch;
    let kernel = kernels.iter().find(wanted).or(kernels.first());
    let no_kernel = || format!("rung {} has no kernel.cu", rung.name);
    let kernel = kernel.with_context(no_kernel)?.kernel();
    let arch = arch.unwrap_or(match kernel.arch {
        "sm_80" => "sm_90",
        own => own,
    });

    let scratch = tempfile::tempdir().context("cannot create a temporary folder")?;
    let said = assemble(
        &ptxas,
        scratch.path(),
        &kernel.current(&rung.place())?.ptx,
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

#[cfg(test)]
mod tests;
