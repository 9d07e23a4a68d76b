//! `cargo ladder bits`: does C have the same bits in every run on the GPU as in every order of warps on the emulator?
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use harness::rungs::{self, Choice, Rung};

#[derive(clap::Args)]
pub struct Arguments {
    /// The sizes
    #[arg(
        long,
        value_name = "N|MxNxK,...",
        value_delimiter = ',',
        default_value = "256,512,200x136x72,328x264x136"
    )]
    sizes: Vec<harness::Size>,
    /// Number of runs on the GPU
    #[arg(long, default_value_t = 100)]
    runs: u32,
    /// Number of orders of warps and blocks on the emulator
    #[arg(long, default_value_t = 10)]
    schedules: u32,
    /// Which GPU: gpu or gpu:N
    #[arg(long, default_value = "gpu")]
    device: String,
    /// Write the result to this file as well, as CSV
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let rungs = rungs::all()?;
    rungs::build(&rungs)?;
    let mut csv = String::from(
        "rung,arch,tile,size,gpu_runs,emulator_schedules,gpu_sha256,emulator_sha256,gpu,driver,commit,date\n",
    );
    let mut equal = 0;
    let mut all = 0;
    for rung in &rungs {
        for kernel in rungs::choices(rung)? {
            let tile = kernel.tile.as_deref().unwrap_or_default();
            for size in &arguments.sizes {
                let gpu = one(rung, &kernel, size, &arguments.device, arguments.runs)?;
                let emulator = one(rung, &kernel, size, "emulator", arguments.schedules)?;
                let name = [&rung.name, &kernel.arch, tile].join(" ");
                all += 1;
                let (Some(gpu), Some(emulator)) = (gpu, emulator) else {
                    harness::println!("{name:<28} {size:<14} WRONG, see the message above");
                    continue;
                };
                let (c, theirs) = (text(&gpu["c_sha256"]), text(&emulator["c_sha256"]));
                let same = !c.is_empty() && c == theirs;
                equal += u32::from(same);
                let verdict = if same { "equal" } else { "DIFFERENT" };
                harness::println!("{name:<28} {size:<14} {verdict}  {c}");
                let Arguments {
                    runs, schedules, ..
                } = arguments;
                let provenance = ["gpu", "driver", "commit", "date"];
                let provenance = provenance
                    .map(|key| text(&gpu["provenance"][key]))
                    .join(",");
                let kernel = [&rung.name, &kernel.arch, tile].join(",");
                csv += &format!("{kernel},{size},{runs},{schedules},{c},{theirs},{provenance}\n");
            }
        }
    }
    harness::println!(
        "equal {equal} of {all}, over {} runs on the GPU and {} orders on the emulator",
        arguments.runs,
        arguments.schedules
    );
    if let Some(file) = &arguments.out {
        std::fs::write(file, csv).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(equal == all)
}

/// The JSON of one kernel's run; `None` if C is wrong or differs between launches, which the rung itself reports.
fn one(
    rung: &Rung,
    kernel: &Choice,
    size: &harness::Size,
    device: &str,
    runs: u32,
) -> Result<Option<Value>> {
    let mut command = Command::new(rung.executable()?);
    command
        .args(["--json", "--device", device, "--size", &size.to_string()])
        .args(["--runs", &runs.to_string(), "--arch", &kernel.arch])
        .args(kernel.tile.iter().flat_map(|tile| ["--tile", tile]));
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("cannot run {}", rung.package()))?;
    match (output.status.code(), serde_json::from_slice(&output.stdout)) {
        (Some(0), Ok(object)) => Ok(Some(object)),
        (Some(1), _) => Ok(None),
        _ => bail!("{} at {size} on {device} failed", rung.package()),
    }
}

/// Empty if the value is not a string.
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
