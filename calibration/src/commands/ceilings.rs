//! `cargo ladder ceilings`: measures the peak rate of each resource of this GPU per clock, and the clocks of single
//! instructions.
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::{ceilings, microbenchmarks};

#[derive(clap::Args)]
pub struct Arguments {
    /// Where ceilings.json, ceilings.csv and microbenchmarks.csv are written
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Which GPU: its CUDA device number
    #[arg(long, value_name = "N", default_value_t = 0)]
    gpu: usize,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let out = &arguments.out;
    // Checked first, so that no time is wasted.
    fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    let mut progress = |what: &str| anstream::eprintln!("measuring {what}");
    let measured = ceilings::measure(arguments.gpu, &mut progress).map_err(anyhow::Error::msg)?;
    let gpu = gpu::Context::open(arguments.gpu)?;
    let microbenchmarks = microbenchmarks::measure(&gpu, &gpu::Nvrtc::find()?, &mut progress)?;
    for (name, text) in [
        ("ceilings.json", measured.json()),
        ("ceilings.csv", measured.csv()?),
        (
            "microbenchmarks.csv",
            microbenchmarks::csv(&microbenchmarks)?,
        ),
    ] {
        let file = out.join(name);
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    for line in measured.table() {
        anstream::println!("{line}");
    }
    anstream::println!("\nwritten to {}", out.display());
    Ok(true)
}
