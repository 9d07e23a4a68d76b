//! Makes recordings on a GPU. Results are read from its memory; counters come from Nsight Compute, which profiles
//! another process that launches the same kernels.
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Error, Result, bail};
use gpu::DeviceInfo;
use harness::{Device, OnGpu, Provenance, schema};
use serde::Serialize;

use crate::instructions::{self, Experiment, Recorder, experiments, is_known, planned};
use crate::kernels;
use crate::ncu::{self, RawPage};
use crate::recordings::{Part, Recordings};

/// What to record, and how.
pub struct Recording<'a> {
    /// Which parts.
    pub parts: &'a [Part],
    /// The rows to record; by default those of the H100's recordings, and all planned rows.
    pub rows: Option<Recordings>,
    /// The rungs; empty for all.
    pub rungs: &'a [String],
    /// Which GPU: its CUDA device number.
    pub gpu: usize,
    /// A program that calls [`launch`] with this file, to run under Nsight Compute.
    pub launcher: &'a dyn Fn(&Path) -> Result<Command>,
}

impl Recording<'_> {
    /// Records into this folder; calls `progress` with the result of each file and kernel.
    ///
    /// # Errors
    /// If the GPU, a rung's program or the folder is missing. A single failure is reported to `progress`, and
    /// recording continues.
    pub fn make(self, folder: &Path, progress: &mut dyn FnMut(&str, Result<String>)) -> Result<()> {
        let is_wanted = |name: &str| is_known(name) && self.parts.contains(&Part::of(name));
        let of_instructions = [
            Part::Patterns,
            Part::Tensor,
            Part::Layouts,
            Part::Approximate,
        ];
        if of_instructions.iter().any(|part| self.parts.contains(part)) {
            // Checked first: without a GPU nothing is planned, and no files are left behind.
            let gpu = open(self.gpu)?;
            let provenance = provenance(gpu.info());
            let mut device = Device::Gpu(gpu);
            let rows = match self.rows {
                Some(rows) => rows,
                None => plan(self.parts, self.rungs)?,
            };
            make(folder)?;
            for (name, bytes) in rows.0.iter().filter(|(name, _)| is_wanted(name)) {
                let mut recorder = GpuRecorder {
                    device: &mut device,
                    launcher: self.launcher,
                    name,
                    bytes,
                };
                progress(name, recorder.record(&folder.join(name)));
            }
            let path = folder.join(kernels::OF_INSTRUCTIONS);
            write(&path, provenance.as_bytes())?;
        }
        let of_kernels = [Part::Rungs, Part::Stalls];
        if of_kernels.iter().any(|part| self.parts.contains(part)) {
            make(folder)?;
            kernels::record(folder, self.gpu, self.parts, self.rungs, progress)?;
        }
        Ok(())
    }
}

/// The rows of an H100's recordings, and all planned rows, including those of the current rungs. If rungs are named,
/// only their rows.
fn plan(parts: &[Part], rungs: &[String]) -> Result<Recordings> {
    let mut plans = planned().to_vec();
    if parts.contains(&Part::Patterns) {
        plans.extend(kernels::patterns()?);
    }
    let mut rows = Recordings::of_h100().with(plans);
    if !rungs.is_empty() {
        rows.0
            .retain(|(name, _)| kernels::PATTERNS.contains(&name.as_str()));
    }
    Ok(rows)
}

/// Launches the kernels of a recording.
///
/// # Errors
/// If there is no GPU, or the file is not a recording.
pub fn launch(file: &Path, gpu: usize) -> Result<()> {
    let shown = file.display();
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {shown}"))?;
    let made = experiments(&name, &bytes);
    let made = made.with_context(|| format!("{shown} is not the name of a recording"))?;
    let mut device = Device::Gpu(open(gpu)?);
    for experiment in made.with_context(|| shown.to_string())? {
        experiment.on(&mut device).map_err(Error::msg)?;
    }
    Ok(())
}

/// The context replaces the error's own message, which would only repeat it.
fn open(gpu: usize) -> Result<gpu::Context> {
    gpu::Context::open(gpu).map_err(Error::msg)
}

fn make(folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// The provenance of the recordings of single instructions.
fn provenance(gpu: &DeviceInfo) -> String {
    #[derive(Serialize)]
    struct Record {
        #[serde(flatten)]
        of: Provenance,
        ncu: Option<String>,
    }
    let mut of = Provenance::of("single instructions".into(), "made for each".into());
    of.gpu = Some(OnGpu::new(gpu, None));
    let ncu = ncu::version().ok();
    schema::PROVENANCE.pretty(&Record { of, ncu })
}

/// A GPU and the recording that is made on it.
struct GpuRecorder<'a> {
    device: &'a mut Device,
    launcher: &'a dyn Fn(&Path) -> Result<Command>,
    name: &'a str,
    bytes: &'a [u8],
}

impl Recorder for GpuRecorder<'_> {
    fn output(&mut self, experiment: &Experiment) -> Result<Vec<u8>> {
        Ok(experiment.on(self.device)?.output)
    }

    fn counters(&mut self, metrics: &[[String; 2]]) -> Result<Vec<[u64; 2]>> {
        let all: BTreeSet<&str> = metrics.iter().flatten().map(String::as_str).collect();
        let all: Vec<&str> = all.into_iter().collect();
        chosen(&self.profiled(&all.join(","))?, metrics)
    }
}

impl GpuRecorder<'_> {
    /// Makes the recording of this file; returns a message with the time that it took.
    fn record(&mut self, file: &Path) -> Result<String> {
        let start = Instant::now();
        let (name, bytes) = (self.name, self.bytes);
        let new = instructions::record(name, bytes, self)
            .context("no kind of recording has this name")?;
        write(file, &new.map_err(Error::msg)?)?;
        Ok(format!(
            "recorded in {:.1} s",
            start.elapsed().as_secs_f64()
        ))
    }

    /// The output of Nsight Compute while the recording's kernels are launched.
    fn profiled(&self, metrics: &str) -> Result<String> {
        // A file with the recording's own name, which identifies its kind.
        let folder = tempfile::tempdir().context("no folder for temporary files")?;
        let recording = folder.path().join(self.name);
        write(&recording, self.bytes)?;
        let mut ncu = ncu::command()?;
        ncu.args(["--csv", "--page", "raw"])
            // The counters do not depend on the caches' contents, and flushing takes longer than the kernel.
            .args(["--cache-control", "none"])
            .args(["--kernel-name", Experiment::ENTRY])
            .args(["--metrics", metrics]);
        let log = folder.path().join("log");
        Ok(ncu::profile(ncu, &log, &(self.launcher)(&recording)?)?.log)
    }
}

/// Two metrics of each kernel.
fn chosen<S: AsRef<str>>(log: &str, metrics: &[[S; 2]]) -> Result<Vec<[u64; 2]>> {
    let page = RawPage::of(log)?;
    if page.kernels() > metrics.len() {
        let wanted = metrics.len();
        bail!("ncu saw more than the {wanted} kernels of this recording");
    }
    let pair = |kernel: usize| -> Result<[u64; 2]> {
        let [first, second] = metrics[kernel].each_ref().map(AsRef::as_ref);
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
}
