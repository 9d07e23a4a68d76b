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
    /// Run only the microbenchmarks whose names begin with this, such as tma/few_tiles or throttled, and no ceilings
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Which GPU: its CUDA device number
    #[arg(long, value_name = "N", default_value_t = 0)]
    gpu: usize,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let out = &arguments.out;
    // Checked first, so that no time is wasted.
    fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    let mut progress = |what: &str| harness::eprintln!("measuring {what}");
    let only = &arguments.only;
    let ceilings = match only.is_empty() {
        true => Some(ceilings::measure(arguments.gpu, &mut progress).map_err(anyhow::Error::msg)?),
        false => None,
    };
    let gpu = gpu::Context::open(arguments.gpu)?;
    let nvrtc = gpu::Nvrtc::find()?;
    let microbenchmarks = microbenchmarks::measure(&gpu, &nvrtc, only, &mut progress)?;
    let mut files = vec![(
        "microbenchmarks.csv",
        microbenchmarks::csv(&microbenchmarks)?,
    )];
    if let Some(ceilings) = &ceilings {
        files.push(("ceilings.json", ceilings.json()));
        files.push(("ceilings.csv", ceilings.csv()?));
    }
    for (name, text) in files {
        let file = out.join(name);
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    for line in ceilings.iter().flat_map(|ceilings| ceilings.table()) {
        harness::println!("{line}");
    }
    harness::println!("\nwritten to {}", out.display());
    Ok(true)
}
