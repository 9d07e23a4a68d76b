//! `cargo ladder sass N`: a rung's machine code.
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use harness::KernelOnDisk;

use crate::{rungs, tools};

#[derive(clap::Args)]
pub struct Arguments {
    /// The rung: its number or name
    rung: String,
    /// What to assemble for; sm_90a takes the rung's Hopper kernel, if it has one [default: sm_90]
    #[arg(long)]
    arch: Option<String>,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let ptxas = tools::find("ptxas", "nvidia-cuda-nvcc==13.0.88")?;
    let nvdisasm = tools::find("nvdisasm", "nvidia-cuda-nvdisasm==13.2.51")?;
    let rung = rungs::find(&arguments.rung)?;
    // The kernel that is written for `--arch`, else the first.
    let kernels = rung.kernels()?;
    let wanted = |kernel: &&KernelOnDisk| Some(kernel.kernel().arch) == arguments.arch.as_deref();
    let kernel = kernels
        .iter()
        .find(wanted)
        .or(kernels.first())
        .with_context(|| format!("rung {} has no kernel.cu", rung.name))?
        .kernel();
    let arch = arguments
        .arch
        .as_deref()
        .unwrap_or(if kernel.arch == "sm_80" {
            "sm_90"
        } else {
            kernel.arch
        });

    let scratch = Scratch::new(&rung.package())?;
    fs::write(
        scratch.0.join("kernel.ptx"),
        kernel.current_ptx(&rung.name)?,
    )
    .context("cannot write the PTX")?;
    let mut assemble = Command::new(&ptxas);
    assemble.current_dir(&scratch.0).args([
        "--gpu-name",
        arch,
        "--verbose",
        "--generate-line-info",
    ]);
    let said = output(assemble.args(["kernel.ptx", "--output-file", "kernel.cubin"]))?;
    let mut disassemble = Command::new(&nvdisasm);
    let code = output(disassemble.current_dir(&scratch.0).args([
        "--print-code",
        "--print-line-info",
        "kernel.cubin",
    ]))?;
    anstream::print!("{code}");
    anstream::eprint!("{said}");
    Ok(true)
}

/// Runs a program; what it said, on both streams.
fn output(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command
        .output()
        .with_context(|| format!("cannot run {program}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        bail!("{program} failed:\n{}", said.trim_end());
    }
    Ok(said)
}

/// A folder for files that nobody keeps.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Result<Self> {
        let folder =
            std::env::temp_dir().join(format!("ladder-sass-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder left behind among the temporary files harms nobody.
        let _ = fs::remove_dir_all(&self.0);
    }
}
