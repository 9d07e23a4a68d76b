//! ptxas's machine code of a kernel, as the clock model reads it: committed beside the PTX, or made on demand.
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use clock::MachineCode;
use sha2::{Digest, Sha256};

use crate::tools::{self, NVDISASM, PTXAS, output};
use crate::{Source, hex};

/// Marks the hash of the PTX in a committed file.
const OF_PTX: &str = "// of PTX: ";

/// A line of the text if ptxas ignores each `setmaxnreg`, because some warp needs more registers than one leaves it (C7507).
pub const IGNORES_SETMAXNREG: &str = "// ptxas ignores setmaxnreg";

/// The machine code of a source's kernel: the committed one if it was made from this PTX, else ptxas's output.
///
/// # Errors
/// If `ptxas` or `nvdisasm` is not found, or refuses the PTX.
pub fn of(source: &Source, name: &str) -> anyhow::Result<MachineCode> {
    if committed_hash(&source.sass) == Some(&body_hash(&source.ptx)) {
        let mut code = MachineCode::of_text(&source.sass)?;
        let start = body(&source.ptx).0;
        for one in &mut code.instructions {
            if one.ptx_line > 0 {
                one.ptx_line += start;
            }
        }
        return Ok(code);
    }
    let programs = found()?;
    let programs = programs.each_ref().map(PathBuf::as_path);
    Ok(assemble(programs, &source.ptx, name, &source.arch)?.0)
}

/// The text to commit beside the PTX: the machine code of the kernel `name`, with lines counted from `.version`.
///
/// # Errors
/// As [`of`].
pub fn text(ptx: &str, name: &str, target: &str) -> anyhow::Result<String> {
    text_by(found()?.each_ref().map(PathBuf::as_path), ptx, name, target)
}

/// The same by this ptxas and this nvdisasm.
///
/// # Errors
/// As [`of`].
pub fn text_by(
    programs: [&Path; 2],
    ptx: &str,
    name: &str,
    target: &str,
) -> anyhow::Result<String> {
    let (mut code, said) = assemble(programs, ptx, name, target)?;
    let start = body(ptx).0;
    for one in &mut code.instructions {
        one.ptx_line = one.ptx_line.saturating_sub(start);
    }
    let version = PTXAS.rsplit("==").next().unwrap_or_default();
    let ignores = match said.contains("'setmaxnreg' ignored") {
        true => format!("{IGNORES_SETMAXNREG}\n"),
        false => String::new(),
    };
    Ok(format!(
        "// What ptxas {version} makes of the PTX beside it, as the clock needs it. Made by `cargo ladder ptx`.\n\
         {OF_PTX}{}\n\
         {ignores}\
         // A line of PTX from .version on, stall count, scoreboards that the write and the read release, those that are waited\n\
         // for, what a branch leads to, guard and opcode, operands.\n{}",
        body_hash(ptx),
        code.to_text(),
    ))
}

/// Whether a committed text was made from this PTX.
pub fn is_current(sass: &str, ptx: &str) -> bool {
    committed_hash(sass) == Some(&body_hash(ptx))
}

/// ptxas and nvdisasm.
fn found() -> anyhow::Result<[PathBuf; 2]> {
    Ok([
        tools::find("ptxas", PTXAS)?,
        tools::find("nvdisasm", NVDISASM)?,
    ])
}

fn committed_hash(sass: &str) -> Option<&str> {
    let mut lines = sass.lines().take_while(|line| line.starts_with("//"));
    lines.find_map(|line| line.strip_prefix(OF_PTX))
}

/// The number of lines before `.version`, and the lines from there on.
fn body(ptx: &str) -> (u32, impl Iterator<Item = &str>) {
    let before = ptx
        .lines()
        .take_while(|line| !line.starts_with(".version"))
        .count();
    (u32::try_from(before).unwrap_or(0), ptx.lines().skip(before))
}

/// The hash of the body; the same in a checkout with Windows line endings.
fn body_hash(ptx: &str) -> String {
    let mut hash = Sha256::new();
    for line in body(ptx).1 {
        hash.update(line.trim_end());
        hash.update("\n");
    }
    hex(&hash.finalize())
}

/// Assembles PTX for a Hopper card and reads the machine code of the kernel `name`. PTX for older targets is
/// assembled for sm_90, which also runs it. Returns also what ptxas says.
fn assemble(
    [ptxas, nvdisasm]: [&Path; 2],
    ptx: &str,
    name: &str,
    target: &str,
) -> anyhow::Result<(MachineCode, String)> {
    let arch = if target == "sm_90a" { target } else { "sm_90" };
    let scratch = tools::tempdir()?;
    let said = tools::assemble(ptxas, scratch.path(), ptx, arch)?;
    let mut disassemble = Command::new(nvdisasm);
    let text = output(disassemble.current_dir(scratch.path()).args([
        "--print-code",
        "--print-line-info-ptx",
        "--print-instruction-encoding",
        "kernel.cubin",
    ]))?;
    let mut code = MachineCode::of_nvdisasm(&text, name)?;
    code.registers = tools::registers_said(&said, name)
        .context("ptxas does not say how many registers it uses")?;
    Ok((code, said))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Origin;

    const PTX: &str = "// a head\n\n.version 8.0\n.target sm_80\n";

    fn source(ptx: &str, sass: String) -> Source {
        Source {
            file: "kernel.cu".into(),
            name: String::new(),
            text: None,
            arch: "sm_80".into(),
            origin: Origin::File,
            ptx: ptx.into(),
            sass,
        }
    }

    fn sass() -> String {
        let hash = body_hash(PTX);
        format!("// made\n{OF_PTX}{hash}\nregisters 8\n2 1 - - 00 - MOV\n0 1 - - 00 - EXIT\n")
    }

    #[test]
    fn committed_machine_code_is_read_and_its_lines_are_those_of_the_ptx() {
        let code = of(&source(PTX, sass()), "gemm").expect("committed");
        let lines: Vec<u32> = code.instructions.iter().map(|one| one.ptx_line).collect();
        assert_eq!((code.registers, lines), (8, vec![4, 0]));
        // Another head and other line endings make the same PTX.
        let other = PTX.replace("// a head\n", "").replace('\n', "\r\n");
        let code = of(&source(&other, sass()), "gemm").expect("committed");
        assert_eq!(code.instructions[0].ptx_line, 3);
    }

    #[test]
    fn machine_code_of_other_ptx_is_not_taken() {
        assert!(is_current(&sass(), PTX));
        assert!(!is_current(&sass(), &PTX.replace("sm_80", "sm_90")));
        assert!(!is_current("", PTX));
    }
}
