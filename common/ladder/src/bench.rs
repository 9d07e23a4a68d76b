//! `cargo ladder bench`: every rung on the GPU, recorded in results/.
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::record::Record;
use crate::rungs::{self, Variant};

#[derive(clap::Args)]
pub struct Arguments {
    /// The sizes [default: each rung's, 512 to 8192 by powers of two]
    #[arg(long, value_name = "N|MxNxK,...", value_delimiter = ',')]
    sizes: Vec<harness::Size>,
    /// Only these rungs, by number or name [default: all]
    #[arg(long, value_name = "RUNG,...", value_delimiter = ',')]
    rungs: Vec<String>,
    /// Where the record's folder is made [default: results/ in the workspace]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Which GPU: gpu or gpu:N
    #[arg(long, default_value = "gpu")]
    device: String,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let rungs = match &arguments.rungs[..] {
        [] => rungs::all()?,
        some => some
            .iter()
            .map(|which| rungs::find(which))
            .collect::<Result<_>>()?,
    };
    rungs::build(&rungs)?;
    let mut benches = Vec::new();
    let mut all_right = true;
    for variant in Variant::all(&rungs)? {
        anstream::eprintln!("timing {}", variant.label());
        let (mut bench, right) = one(&variant, arguments)?;
        bench["rung"] = variant.label().into();
        benches.push(bench);
        all_right &= right;
    }
    let record = Record::new(benches)?;
    let out = arguments
        .out
        .clone()
        .unwrap_or_else(|| rungs::root().unwrap_or_default().join("results"));
    let folder = record.write(&out)?;
    anstream::print!("{}", record.table());
    anstream::println!("\nwritten to {}", folder.display());
    Ok(all_right)
}

/// Runs one bench; its JSON, and whether every C was right.
fn one(variant: &Variant, arguments: &Arguments) -> Result<(Value, bool)> {
    let mut command = variant.command()?;
    command
        .args(["bench", "--json", "--device", &arguments.device])
        .stderr(Stdio::inherit());
    if !arguments.sizes.is_empty() {
        let sizes: Vec<_> = arguments.sizes.iter().map(ToString::to_string).collect();
        command.args(["--sizes", &sizes.join(",")]);
    }
    let output = command
        .output()
        .with_context(|| format!("cannot run {}", variant.label()))?;
    match serde_json::from_slice(&output.stdout) {
        Ok(bench) => Ok((bench, output.status.success())),
        Err(_) => bail!(
            "{} could not be timed; its message stands above",
            variant.label()
        ),
    }
}
