//! `cargo ladder ptx`: makes every rung's PTX from its kernels.
use std::fs;

use anyhow::{Context, Result};
use harness::{KernelOnDisk, ptx_file};
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
        for kernel in rung.kernels()? {
            current &= one(&rung.name, &kernel, arguments.check)?;
        }
    }
    if arguments.check && !current {
        anstream::println!("`cargo ladder ptx` makes them current");
    }
    Ok(current || !arguments.check)
}

/// Makes or checks one file; whether it was current.
fn one(rung: &str, on_disk: &KernelOnDisk, check: bool) -> Result<bool> {
    let kernel = on_disk.kernel();
    let (target, old) = (&on_disk.ptx_path, kernel.ptx);
    let new = kernel.committed_ptx(rung)?;
    let shown = format!(
        "rungs/{rung}/{}",
        ptx_file::name(kernel.file, kernel.configuration)
    );
    if new == old {
        anstream::println!("{shown} is current");
    } else if check {
        let (then, now) = (ptx_file::compiler_of(old), ptx_file::compiler_of(&new));
        let compilers = if then == now {
            String::new()
        } else {
            format!(": made by {then}, and here is {now}")
        };
        anstream::println!("{shown} {}{compilers}", "is not current".red());
    } else {
        fs::write(target, &new).with_context(|| format!("cannot write {}", target.display()))?;
        anstream::println!(
            "{shown} {} by {}",
            "written".green(),
            ptx_file::compiler_of(&new)
        );
    }
    Ok(new == old)
}
