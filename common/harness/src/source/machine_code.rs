//! ptxas's machine code of a kernel, as the clock reads it.
use std::process::Command;

use clock::MachineCode;

use crate::tools::{self, NVDISASM, PTXAS, output};

/// Assembles PTX for a Hopper card and reads the machine code of the kernel `name`. PTX for older targets is assembled for
/// sm_90, which runs it as well.
///
/// # Errors
/// If `ptxas` or `nvdisasm` is not found, or refuses the PTX.
pub fn assemble(ptx: &str, name: &str, target: &str) -> anyhow::Result<MachineCode> {
    let ptxas = tools::find("ptxas", PTXAS)?;
    let nvdisasm = tools::find("nvdisasm", NVDISASM)?;
    let arch = if target == "sm_90a" { target } else { "sm_90" };
    let scratch = tempfile::tempdir()?;
    let said = tools::assemble(&ptxas, scratch.path(), ptx, arch)?;
    let mut disassemble = Command::new(&nvdisasm);
    let text = output(disassemble.current_dir(scratch.path()).args([
        "--print-code",
        "--print-line-info-ptx",
        "--print-instruction-encoding",
        "kernel.cubin",
    ]))?;
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
