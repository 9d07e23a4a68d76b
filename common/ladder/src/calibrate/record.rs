//! `cargo ladder calibrate --record DIR`: what a GPU makes of the kernels that recordings consist of. Results are
//! read from its memory; counters are Nsight Compute's, which watches this program launch the kernels once more.
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use emulator::calibrate::{Experiment, Failure, Hardware, experiments, is_known, record};
use harness::Laboratory;
use owo_colors::OwoColorize;

use super::Recording;
use super::ncu::{self, RawPage};
use super::rungs;

/// Which GPU, as on the command line: `gpu` or `gpu:1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ordinal(usize);

impl FromStr for Ordinal {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let number = match text.strip_prefix("gpu") {
            Some("") => Some(0),
            Some(rest) => rest.strip_prefix(':').and_then(|n| n.parse().ok()),
            None => None,
        };
        number.map(Self).ok_or("expected gpu or gpu:N")
    }
}

impl fmt::Display for Ordinal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gpu:{}", self.0)
    }
}

/// What can be recorded on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    /// Accesses of a warp, one a kernel; ncu
    Patterns,
    /// Products of matrices
    Tensor,
    /// Results of instructions, and where TMA and wgmma find their data
    Layouts,
    /// Every rung's bits, and its accesses by line; ncu
    Rungs,
    /// Why every rung's warps waited at 4096, and its time; ncu
    Stalls,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Patterns,
        Self::Tensor,
        Self::Layouts,
        Self::Rungs,
        Self::Stalls,
    ];

    /// That which a recording of single instructions belongs to.
    pub fn of(name: &str) -> Self {
        match name.split('_').next().unwrap_or_default() {
            "shared" | "global" => Self::Patterns,
            "mma" => Self::Tensor,
            _ if name.starts_with("tensor") || name.starts_with("wgmma_m64") => Self::Tensor,
            _ => Self::Layouts,
        }
    }
}

/// Launches the kernels of one recording, for Nsight Compute to watch.
#[derive(clap::Args)]
pub struct LaunchArguments {
    /// The recording
    file: PathBuf,
    /// Which GPU: gpu or gpu:N
    #[arg(long, default_value = "gpu")]
    device: Ordinal,
}

pub fn launch(arguments: &LaunchArguments) -> Result<bool> {
    let file = arguments.file.display();
    let name = arguments.file.file_name().unwrap_or_default();
    let bytes = std::fs::read(&arguments.file).with_context(|| format!("cannot read {file}"))?;
    let made = experiments(&name.to_string_lossy(), &bytes)
        .with_context(|| format!("no recording is named like {file}"))?;
    let laboratory = open(arguments.device)?;
    for experiment in made.with_context(|| file.to_string())? {
        let made = laboratory.make(&experiment);
        made.map_err(|error| anyhow!("{error}"))?;
    }
    Ok(true)
}

/// Its message says all: the error below it would only repeat it.
fn open(device: Ordinal) -> Result<Laboratory> {
    Laboratory::open(device.0).map_err(|error| anyhow!("{error}"))
}

/// That there is a GPU, if one of these parts has it opened by this program; the rungs open it themselves.
pub fn probe(device: Ordinal, parts: &[Part]) -> Result<()> {
    let own = [Part::Patterns, Part::Tensor, Part::Layouts];
    match own.iter().any(|part| parts.contains(part)) {
        true => open(device).map(drop),
        false => Ok(()),
    }
}

/// Measures these parts of the recordings anew and writes them to `folder`, of the rungs all or those that are named;
/// whether all could be.
pub fn anew(
    recordings: &[Recording],
    folder: &Path,
    device: Ordinal,
    parts: &[Part],
    of_rungs: &[String],
) -> Result<bool> {
    let is_wanted = |name: &str| parts.contains(&Part::of(name));
    let wanted: Vec<&Recording> = recordings
        .iter()
        .filter(|(name, _)| is_known(name) && is_wanted(name))
        .collect();
    let mut all = true;
    if !wanted.is_empty() {
        let laboratory = open(device)?;
        make(folder)?;
        for recording in wanted {
            all &= one(recording, folder, device, &laboratory)?;
        }
        let text = laboratory.provenance(ncu::version().ok());
        let path = folder.join(rungs::OF_INSTRUCTIONS);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if [Part::Rungs, Part::Stalls]
        .iter()
        .any(|part| parts.contains(part))
    {
        make(folder)?;
        all &= rungs::anew(folder, device, parts, of_rungs)?;
    }
    Ok(all)
}

fn make(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

/// Measures one recording; whether it could be.
fn one(
    (name, bytes): &Recording,
    folder: &Path,
    device: Ordinal,
    laboratory: &Laboratory,
) -> Result<bool> {
    let start = Instant::now();
    let mut gpu = Gpu {
        laboratory,
        device,
        name,
        bytes,
    };
    match record(name, bytes, &mut gpu) {
        Some(Ok(new)) => {
            let path = folder.join(name);
            std::fs::write(&path, &new)
                .with_context(|| format!("cannot write {}", path.display()))?;
            let seconds = start.elapsed().as_secs_f64();
            anstream::println!("{name:<26} recorded in {seconds:.1} s");
            Ok(true)
        }
        Some(Err(why)) => {
            anstream::eprintln!("{} {name}: {why}", "not recorded:".red().bold());
            Ok(false)
        }
        None => Ok(true),
    }
}

/// A GPU and the recording that is made on it.
struct Gpu<'a> {
    laboratory: &'a Laboratory,
    device: Ordinal,
    name: &'a str,
    bytes: &'a [u8],
}

impl Hardware for Gpu<'_> {
    fn outputs(&mut self, experiments: &[Experiment]) -> Result<Vec<Vec<u8>>, Failure> {
        let make = |experiment| Ok(self.laboratory.make(experiment)?);
        experiments.iter().map(make).collect()
    }

    fn counts(&mut self, metrics: &[[&'static str; 2]]) -> Result<Vec<[u64; 2]>, Failure> {
        let mut all: Vec<&str> = metrics.iter().flatten().copied().collect();
        all.sort_unstable();
        all.dedup();
        Ok(chosen(&self.watched(&all)?, metrics)?)
    }
}

impl Gpu<'_> {
    /// What Nsight Compute prints while the recording's kernels are launched.
    fn watched(&self, metrics: &[&str]) -> Result<String> {
        // A file of the recording's own name, by which its kind is known.
        let folder = tempfile::tempdir().context("no folder for temporary files")?;
        let (recording, log) = (folder.path().join(self.name), folder.path().join("log"));
        std::fs::write(&recording, self.bytes).context("cannot write a temporary file")?;
        let mut command = ncu::command()?;
        command
            .args(["--csv", "--page", "raw", "--clock-control", "none"])
            // What is counted does not depend on what the caches hold, and flushing them takes longer than the kernel.
            .args(["--cache-control", "none", "--print-units", "base"])
            .args(["--kernel-name", Experiment::ENTRY])
            .args(["--metrics", &metrics.join(",")])
            .arg("--log-file")
            .arg(&log)
            .arg(std::env::current_exe().context("this program has no path")?)
            .arg("launch-recording")
            .arg(&recording)
            .args(["--device", &self.device.to_string()]);
        ncu::watch(&mut command, &log)?;
        std::fs::read_to_string(&log).context("ncu wrote no log")
    }
}

/// Two metrics of each kernel.
fn chosen(log: &str, metrics: &[[&str; 2]]) -> Result<Vec<[u64; 2]>> {
    let page = RawPage::of(log)?;
    if page.kernels() > metrics.len() {
        let wanted = metrics.len();
        bail!("ncu saw more than the {wanted} kernels of this recording");
    }
    let pair = |kernel: usize| -> Result<[u64; 2]> {
        let [first, second] = metrics[kernel];
        Ok([page.count(kernel, first)?, page.count(kernel, second)?])
    };
    (0..page.kernels()).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "==PROF== Connected to process 7\n\
        ==PROF== Profiling \"k\" - 0: 0%....100% - 1 pass\n\
        \"ID\",\"Kernel Name\",\"Block Size\",\"a.sum\",\"b.sum\"\n\
        \"\",\"\",\"\",\"\",\"sector\"\n\
        \"0\",\"k\",\"(32, 1, 1)\",\"1,024\",\"3\"\n\
        \"1\",\"k\",\"(32, 1, 1)\",\"5\",\"6\"\n\
        ==PROF== Disconnected from process 7\n";

    #[test]
    fn each_kernel_has_its_metrics() {
        let counts = chosen(LOG, &[["b.sum", "a.sum"], ["a.sum", "a.sum"]]);
        assert_eq!(counts.expect("a table"), [[3, 1024], [5, 5]]);
    }

    #[test]
    fn what_ncu_lacks_is_named() {
        let error = |log: &str, metrics: &[[&str; 2]]| {
            format!("{:#}", chosen(log, metrics).expect_err("an error"))
        };
        assert!(error(LOG, &[["a.sum", "b.sum"]]).contains("more than the 1 kernels"));
        assert!(error(LOG, &[["a.sum", "c.sum"]; 2]).contains("measured no c.sum"));
        let strange = LOG.replace("\"5\"", "\"n/a\"");
        assert!(error(&strange, &[["a.sum"; 2]; 2]).contains("\"n/a\" as a.sum"));
        assert!(
            chosen("==ERROR== no", &[["a.sum"; 2]])
                .expect("no rows")
                .is_empty()
        );
    }

    #[test]
    fn gpus_are_numbered() {
        assert_eq!("gpu".parse(), Ok(Ordinal(0)));
        assert_eq!("gpu:3".parse(), Ok(Ordinal(3)));
        for text in ["", "3", "gpu:", "gpu:x", "gpu3", "emulator"] {
            assert!(text.parse::<Ordinal>().is_err(), "{text}");
        }
    }
}
