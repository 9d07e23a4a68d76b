//! The provenance of a number: kernel, commit, date; on a GPU also driver, libraries, clocks and temperature.
use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::Kernel;

/// Accompanies every result.
#[derive(Clone, Debug, Serialize)]
pub struct Provenance {
    /// The kernel's file.
    pub kernel: String,
    /// Where its PTX comes from.
    pub ptx: String,
    /// The commit, with `-dirty` if files differ from it.
    pub commit: Option<String>,
    /// When, in UTC.
    pub date: String,
    /// On a GPU: hardware, software and sensors.
    #[serde(flatten)]
    pub gpu: Option<OnGpu>,
}

/// The GPU and its software.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OnGpu {
    /// The GPU's name.
    #[serde(rename = "gpu")]
    pub name: String,
    /// The driver's version.
    pub driver: Option<String>,
    /// The newest CUDA version that the driver supports.
    pub cuda: String,
    /// The version of cuBLAS, if it took part.
    pub cublas: Option<String>,
    /// SM clock during the run: minimum, median, maximum.
    pub sm_mhz: Option<[f64; 3]>,
    /// Power during the run: minimum, median, maximum.
    pub power_watts: Option<[f64; 3]>,
    /// The power limit.
    pub power_limit_watts: Option<f64>,
    /// Temperature during the run: minimum, median, maximum.
    pub celsius: Option<[f64; 3]>,
}

impl Provenance {
    /// For a run that starts now.
    pub fn new(kernel: &Kernel) -> Self {
        Self::of(kernel.source.file.clone(), kernel.source.origin.to_string())
    }

    /// For a run of this file that starts now, with PTX of this origin.
    pub fn of(kernel: String, ptx: String) -> Self {
        Self {
            kernel,
            ptx,
            commit: commit(),
            date: now(),
            gpu: None,
        }
    }

    /// A footer for a report.
    pub fn lines(&self) -> Vec<String> {
        let commit = self.commit.as_deref().unwrap_or("unknown");
        let mut lines = Vec::new();
        if let Some(gpu) = &self.gpu {
            if let (Some(mhz), Some(watts), Some(limit)) =
                (gpu.sm_mhz, gpu.power_watts, gpu.power_limit_watts)
            {
                lines.push(format!(
                    "at {:.0} MHz ({:.0} to {:.0}) and {:.0} W ({:.0} to {:.0}) of {limit:.0} W",
                    mhz[1], mhz[0], mhz[2], watts[1], watts[0], watts[2]
                ));
            }
            lines.push(format!(
                "driver {}, CUDA {}, cuBLAS {}",
                gpu.driver.as_deref().unwrap_or("unknown"),
                gpu.cuda,
                gpu.cublas.as_deref().unwrap_or("not found")
            ));
        }
        lines.push(format!("commit {commit}, {}", self.date));
        lines
    }
}

impl OnGpu {
    /// The facts that do not change during a run.
    pub fn new(info: &gpu::DeviceInfo, cublas: Option<String>) -> Self {
        Self {
            name: info.name.clone(),
            driver: gpu::driver_version(),
            cuda: info.driver_version.clone(),
            cublas,
            sm_mhz: None,
            power_watts: None,
            power_limit_watts: None,
            celsius: None,
        }
    }

    /// Adds the sensors' readings.
    pub fn with(mut self, sensors: Option<gpu::Telemetry>) -> Self {
        if let Some(sensors) = sensors {
            let three = |range: gpu::Range| Some([range.min, range.median, range.max]);
            self.sm_mhz = three(sensors.sm_mhz);
            self.power_watts = three(sensors.power_watts);
            self.celsius = three(sensors.celsius);
            self.power_limit_watts = Some(sensors.power_limit_watts);
        }
        self
    }
}

/// The time, in UTC.
#[cfg(not(target_family = "wasm"))]
fn now() -> String {
    humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string()
}

/// WebAssembly has no clock; the page that calls the module provides the time.
#[cfg(target_family = "wasm")]
fn now() -> String {
    "unknown".into()
}

/// `GEMM_COMMIT`, for copies without git; otherwise git's description of the sources that this program was built from,
/// or of the current folder.
fn commit() -> Option<String> {
    if let Some(commit) = std::env::var("GEMM_COMMIT")
        .ok()
        .filter(|commit| !commit.is_empty())
    {
        return Some(commit);
    }
    let sources = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| ".".into());
    let output = Command::new("git")
        .arg("-C")
        .arg(Path::new(&sources))
        // Tags are left out: a description by one would not tell which commit it is.
        .args(["describe", "--always", "--dirty", "--exclude=*"])
        .output()
        .ok()?;
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success().then_some(said)
}
