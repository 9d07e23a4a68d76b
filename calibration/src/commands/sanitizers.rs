//! `cargo ladder sanitizers`: the findings of the emulator and compute-sanitizer in the broken kernels, from the
//! recorded table.
use anyhow::Result;

use crate::sanitizers;

#[derive(clap::Args)]
pub struct Arguments {
    /// Name the kernels in which only one of the two finds something
    #[arg(long)]
    missed: bool,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    harness::print!("{}", sanitizers::report(arguments.missed)?);
    Ok(true)
}
