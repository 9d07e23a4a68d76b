//! ptxas's machine code of a kernel, as the clock reads it.
use std::fs;
use std::path::Path;
use std::process::Command;

use clock::MachineCode;

use crate::tools;

/// The packages that have the programs.
const PTXAS: &str = "nvidia-cuda-nvcc==13.0.88";
const NVDISASM: &str = "nvidia-cuda-nvdisasm==13.2.51";

/// Assembles PTX for a Hopper card and reads the machine code of the kernel `name`. PTX for older targets is assembled for
/// sm_90, which runs it as well.
///
/// # Errors
/// If `ptxas` or `nvdisasm` is not found, or refuses the PTX.
pub fn assemble(ptx: &str, name: &str, target: &str) -> anyhow::Result<MachineCode> {
    let (ptxas, nvdisasm) = (
        tools::find("ptxas", PTXAS)?,
        tools::find("nvdisasm", NVDISASM)?,
    );
    let arch = if target == "sm_90a" { target } else { "sm_90" };
    let scratch = tempfile::tempdir()?;
    let place = scratch.path();
    fs::write(place.join("kernel.ptx"), ptx)?;
    let said = output(
        &ptxas,
        place,
        &[
            "--gpu-name",
            arch,
            "--verbose",
            "--generate-line-info",
            "kernel.ptx",
            "--output-file",
            "kernel.cubin",
        ],
    )?;
    let text = output(
        &nvdisasm,
        place,
        &[
            "--print-code",
            "--print-line-info-ptx",
            "--print-instruction-encoding",
            "kernel.cubin",
        ],
    )?;
    let mut code = MachineCode::of_nvdisasm(&text, name)?;
    code.registers = registers(&said, name).unwrap_or(255);
    Ok(code)
}

/// `Used 168 registers`, behind the line that names the kernel.
fn registers(said: &str, name: &str) -> Option<u32> {
    let of = said.split_once(&format!("'{name}'"))?.1;
    let used = of.split_once("Used ")?.1;
    used.split_once(" registers")?.0.trim().parse().ok()
}

fn output(program: &Path, place: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(program)
        .current_dir(place)
        .args(arguments)
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        anyhow::bail!("{} failed:\n{}", program.display(), said.trim_end());
    }
    Ok(said)
}
