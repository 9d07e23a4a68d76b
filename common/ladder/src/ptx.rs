//! `cargo ladder ptx`: makes every rung's kernel.ptx from its kernel.cu.
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use harness::{KernelFile, ptx_file};
use owo_colors::OwoColorize;

use crate::rungs;

#[derive(clap::Args)]
pub struct Arguments {
    /// Write nothing; exit 1 if a file is not what NVRTC makes of its source, byte for byte
    #[arg(long)]
    check: bool,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let mut current = true;
    for rung in rungs::all()? {
        for file in rung.kernels()? {
            current &= one(&rung.name, &file, arguments.check)?;
        }
    }
    if arguments.check && !current {
        anstream::println!("`cargo ladder ptx` makes them current");
    }
    Ok(current || !arguments.check)
}

/// Makes or checks one file; whether it was current.
fn one(rung: &str, file: &Path, check: bool) -> Result<bool> {
    let source =
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let target = file.with_extension("ptx");
    let old = fs::read_to_string(&target).unwrap_or_default();
    let name = file
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let kernel = KernelFile {
        file: name,
        source: &source,
        ptx: &old,
        arch: ptx_file::arch_of(name),
    };
    let new = kernel.committed_ptx(rung)?;
    let shown = format!("rungs/{rung}/{}", name.replace(".cu", ".ptx"));
    if new == old {
        anstream::println!("{shown} is current");
    } else if check {
        let (then, now) = (ptx_file::compiler_of(&old), ptx_file::compiler_of(&new));
        let compilers = if then == now {
            String::new()
        } else {
            format!(": made by {then}, and here is {now}")
        };
        anstream::println!("{shown} {}{compilers}", "is not current".red());
    } else {
        fs::write(&target, &new).with_context(|| format!("cannot write {}", target.display()))?;
        anstream::println!(
            "{shown} {} by {}",
            "written".green(),
            ptx_file::compiler_of(&new)
        );
    }
    Ok(new == old)
}
