//! `cargo ladder joules`: the tensor cores' speed and energy at the power limit, for several values of the operands.
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::joules;

#[derive(clap::Args)]
pub struct Arguments {
    /// Also write joules.csv into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Which GPU: its CUDA device number; it must be an H100 or an H200
    #[arg(long, value_name = "N", default_value_t = 0)]
    gpu: usize,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    if let Some(out) = &arguments.out {
        // Checked first, so that no time is wasted.
        fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    }
    let mut progress = |what: &str| harness::eprintln!("measuring {what}");
    let measured = joules::measure(arguments.gpu, &mut progress)?;
    for line in measured.table() {
        harness::println!("{line}");
    }
    if let Some(out) = &arguments.out {
        let file = out.join("joules.csv");
        fs::write(&file, measured.csv()?)
            .with_context(|| format!("cannot write {}", file.display()))?;
        harness::println!("\nwritten to {}", file.display());
    }
    Ok(true)
}
