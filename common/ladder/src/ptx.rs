//! `cargo ladder ptx`: compiles the committed PTX of the rungs, of the book's experiments, of the planted faults and of rung 06
//! with other numbers of stages, and assembles the machine code that the clock model reads: that of the rungs and of these stages.
use std::fs;

use anyhow::{Context, Result};
use harness::{KernelOnDisk, ptx_file};
use owo_colors::OwoColorize;

use harness::rungs;

use crate::clock::experiments;

#[derive(clap::Args)]
pub struct Arguments {
    /// Write nothing; exit with 1 if a file is not NVRTC's output for its source, byte for byte
    #[arg(long)]
    check: bool,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let mut current = true;
    let of_rung = |rung: &rungs::Rung| Ok((rung.place(), rung.kernels()?));
    let rungs: Result<Vec<_>> = rungs::all()?.iter().map(of_rung).collect();
    for (place, kernels) in rungs?
        .into_iter()
        .chain(rungs::labs()?)
        .chain(rungs::faults()?)
    {
        for kernel in kernels {
            current &= one(&place, &kernel, arguments.check)?;
            if place.starts_with("rungs/") {
                current &= machine_code(&place, &kernel, arguments.check)?;
            }
        }
    }
    for (place, file, source) in experiments::committed()? {
        let kernel = KernelOnDisk::of_text(
            &rungs::root().unwrap_or_default().join(&place),
            file,
            source,
        );
        current &= one(&place, &kernel, arguments.check)?;
        current &= machine_code(&place, &kernel, arguments.check)?;
    }
    if arguments.check && !current {
        harness::println!("`cargo ladder ptx` regenerates them");
    }
    Ok(current || !arguments.check)
}

/// Writes or checks one file; returns whether it was current.
fn one(place: &str, on_disk: &KernelOnDisk, check: bool) -> Result<bool> {
    let kernel = on_disk.kernel();
    let (target, old) = (&on_disk.ptx_path, kernel.ptx);
    let new = kernel.committed_ptx(place)?;
    let shown = format!(
        "{place}/{}",
        ptx_file::name(kernel.file, kernel.configuration)
    );
    if new == old {
        harness::println!("{shown} is current");
    } else if check {
        let (then, now) = (ptx_file::compiler_of(old), ptx_file::compiler_of(&new));
        let compilers = if then == now {
            String::new()
        } else {
            format!(": made by {then}, this is {now}")
        };
        harness::println!("{shown} {}{compilers}", "is not current".red());
    } else {
        fs::write(target, &new).with_context(|| format!("cannot write {}", target.display()))?;
        harness::println!(
            "{shown} {} by {}",
            "written".green(),
            ptx_file::compiler_of(&new)
        );
    }
    Ok(new == old)
}

/// Writes or checks the machine code beside a kernel's PTX; returns whether it was current. Without ptxas it is only
/// checked.
fn machine_code(place: &str, on_disk: &KernelOnDisk, check: bool) -> Result<bool> {
    let kernel = on_disk.kernel();
    let ptx = fs::read_to_string(&on_disk.ptx_path).unwrap_or_default();
    let target = on_disk.ptx_path.with_extension("sass");
    let name = ptx_file::name(kernel.file, kernel.configuration);
    let shown = format!("{place}/{}", name.replace(".ptx", ".sass"));
    let current = kernel.has_sass_of(&ptx);
    if current {
        harness::println!("{shown} is current");
    } else if check {
        harness::println!("{shown} {}", "is not current".red());
    } else {
        let text = kernel.committed_sass(&ptx)?;
        fs::write(&target, text).with_context(|| format!("cannot write {}", target.display()))?;
        harness::println!("{shown} {}", "written".green());
    }
    Ok(current)
}
