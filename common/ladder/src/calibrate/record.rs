//! `cargo ladder calibrate --record DIR`: what a GPU makes of the kernels that recordings consist of. Results are
//! read from its memory; counters are Nsight Compute's, which watches this program launch the kernels once more.
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;

use anyhow::{Context, Result, anyhow, bail};
use emulator::calibrate::{Experiment, Failure, Hardware, experiments, record};
use harness::Laboratory;
use owo_colors::OwoColorize;

use super::Recording;
use crate::tools;

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

/// Measures the recordings anew and writes them to `folder`. Returns the new ones, and whether they are all.
pub fn anew(
    recordings: &[Recording],
    folder: &Path,
    device: Ordinal,
) -> Result<(Vec<Recording>, bool)> {
    let shown = folder.display();
    let laboratory = open(device)?;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {shown}"))?;
    let mut made = Vec::new();
    let mut all = true;
    for (name, bytes) in recordings {
        let mut gpu = Gpu {
            laboratory: &laboratory,
            device,
            name,
            bytes,
        };
        match record(name, bytes, &mut gpu) {
            Some(Ok(new)) => {
                std::fs::write(folder.join(name), &new)
                    .with_context(|| format!("cannot write {name} into {shown}"))?;
                anstream::println!("{name:<26} recorded");
                made.push((name.clone(), new.into()));
            }
            Some(Err(why)) => {
                all = false;
                anstream::eprintln!("{} {name}: {why}", "not recorded:".red().bold());
            }
            None => {}
        }
    }
    Ok((made, all))
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
        let ncu = tools::locate("ncu")
            .context("ncu was not found in PATH or CUDA_HOME; it is part of Nsight Compute")?;
        // A file of the recording's own name, by which its kind is known.
        let folder = tempfile::tempdir().context("no folder for temporary files")?;
        let (recording, log) = (folder.path().join(self.name), folder.path().join("log"));
        std::fs::write(&recording, self.bytes).context("cannot write a temporary file")?;
        let output = Command::new(&ncu)
            .args(["--csv", "--page", "raw", "--clock-control", "none"])
            .args(["--kernel-name", Experiment::ENTRY])
            .args(["--metrics", &metrics.join(",")])
            .arg("--log-file")
            .arg(&log)
            .arg(std::env::current_exe().context("this program has no path")?)
            .arg("launch-recording")
            .arg(&recording)
            .args(["--device", &format!("gpu:{}", self.device.0)])
            .output()
            .with_context(|| format!("cannot run {}", ncu.display()))?;
        let log = std::fs::read_to_string(&log).unwrap_or_default();
        if !output.status.success() {
            let errors = log.lines().filter(|line| line.starts_with("==ERROR=="));
            bail!(
                "{} failed: {}\n{}",
                ncu.display(),
                errors.collect::<Vec<_>>().join("\n"),
                String::from_utf8_lossy(&output.stderr).trim()
            );
        }
        Ok(log)
    }
}

/// From the log of `ncu --csv --page raw`, where each kernel is a row and each metric a column: two metrics of each
/// kernel.
fn chosen(log: &str, metrics: &[[&str; 2]]) -> Result<Vec<[u64; 2]>> {
    // Its own messages lie between the rows.
    let rows: Vec<&str> = log.lines().filter(|line| line.starts_with('"')).collect();
    let rows = rows.join("\n");
    let mut reader = csv::ReaderBuilder::new().from_reader(rows.as_bytes());
    let header = reader.headers().context("ncu printed no table")?.clone();
    let column = |name: &str| {
        let at = header.iter().position(|column| column == name);
        at.with_context(|| format!("ncu measured no {name}; it printed {}", log.trim()))
    };
    let mut counts = Vec::with_capacity(metrics.len());
    for row in reader.records() {
        let row = row.context("ncu printed a table that cannot be read")?;
        // Below the names stand the units, in a row without a number of its own.
        if row.get(0).is_none_or(str::is_empty) {
            continue;
        }
        let Some(pair) = metrics.get(counts.len()) else {
            bail!(
                "ncu saw more than the {} kernels of this recording",
                metrics.len()
            );
        };
        let value = |name| -> Result<u64> {
            let text = row.get(column(name)?).unwrap_or_default().replace(',', "");
            let value = text.parse::<f64>().ok();
            let count = value.filter(|value| *value >= 0.0 && value.fract() == 0.0);
            Ok(count.with_context(|| format!("ncu gave {text:?} as {name}"))? as u64)
        };
        counts.push([value(pair[0])?, value(pair[1])?]);
    }
    Ok(counts)
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
        assert!(error(LOG, &[["a.sum", "c.sum"]]).contains("measured no c.sum"));
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
