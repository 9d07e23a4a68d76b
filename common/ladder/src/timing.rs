//! Timings by the rungs' own `bench`, each in a process of its own, with progress on standard error.
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, bail, ensure};
use harness::Size;
use serde_json::Value;

use harness::rungs::Variant;

/// A timing to make.
pub struct Timing {
    pub variant: Variant,
    /// One of the kernel's tiles [default: the host's choice].
    pub tile: Option<String>,
    /// A kernel in place of the rung's own.
    pub kernel: Option<PathBuf>,
    pub size: Size,
    /// Whether a second of comparison with cuBLAS suffices.
    pub quick: bool,
}

impl Timing {
    /// Such as `06_pipeline sm_90a at 512x512x512 with 64x128`.
    fn name(&self) -> String {
        let tile = self.tile.iter().map(|tile| format!(" with {tile}"));
        let name = format!("{} at {}", self.variant.label(), self.size);
        name + &tile.collect::<String>()
    }

    /// The output of `bench --json`, which has one size.
    fn run(&self, device: &str) -> Result<Value> {
        let size = self.size.to_string();
        let mut words = vec!["bench", "--json", "--device", device, "--size", &size];
        let kernel = self.kernel.as_ref().map(|path| path.display().to_string());
        words.extend(kernel.iter().flat_map(|path| ["--kernel", path]));
        words.extend(self.tile.iter().flat_map(|tile| ["--tile", tile]));
        words.extend(self.quick.then_some("--quick"));
        let bench = serde_json::from_slice(&printed(&self.variant, &words)?);
        let failed = || format!("{} could not be timed", self.name());
        bench.ok().with_context(failed)
    }
}

/// A rung's output for these words; the rung reports its own errors.
pub fn printed(variant: &Variant, words: &[&str]) -> Result<Vec<u8>> {
    let mut command = variant.command()?;
    let output = command.args(words).stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("cannot run {}", variant.label()))?;
    ensure!(
        !output.stdout.is_empty(),
        "{} could not be run; see its message above",
        variant.label()
    );
    Ok(output.stdout)
}

/// The results of timings, in their order.
pub struct Timed {
    /// The output of `bench --json` for each timing that succeeded.
    pub made: Vec<(usize, Value)>,
    /// The number of timings that failed.
    pub failed: usize,
}

/// Makes all timings, and continues after a failure: a GPU's time is expensive.
///
/// # Errors
/// If the first timing fails: then there is no GPU, or no program.
pub fn all(timings: &[Timing], device: &str) -> Result<Timed> {
    let mut timed = Timed {
        made: Vec::new(),
        failed: 0,
    };
    for (index, timing) in timings.iter().enumerate() {
        let number = index + 1;
        harness::eprintln!("timing {number} of {}: {}", timings.len(), timing.name());
        match timing.run(device) {
            Ok(bench) => {
                harness::eprintln!("  {}", said(&bench));
                timed.made.push((index, bench));
            }
            Err(error) if index == 0 => return Err(error),
            Err(error) => {
                harness::eprintln!("  {error:#}");
                timed.failed += 1;
            }
        }
    }
    Ok(timed)
}

/// A timing's text in a line of progress.
fn said(bench: &Value) -> String {
    let time = &bench["sizes"][0]["time"];
    match (time["tflops"].as_f64(), time["of_cublas"].as_f64()) {
        (Some(tflops), Some(ratio)) => {
            format!("{tflops:.1} TFLOP/s, {:.1}% of cuBLAS f16", 100.0 * ratio)
        }
        (Some(tflops), None) => format!("{tflops:.1} TFLOP/s"),
        (None, _) => "WRONG, and so not timed".into(),
    }
}

impl Timed {
    /// Checks that every timing succeeded.
    ///
    /// # Errors
    /// If one failed; the others have been written by then.
    pub fn complete(&self) -> Result<()> {
        let all = self.made.len() + self.failed;
        match self.failed {
            0 => Ok(()),
            failed => bail!("{failed} of {all} could not be timed; see the reasons above"),
        }
    }
}
