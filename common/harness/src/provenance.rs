//! What a number belongs to: which kernel, which commit, which day; on a GPU also which driver, which
//! libraries, and how warm the chip ran.
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::Kernel;

/// Stands beside every result.
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
    /// On a GPU: what and how.
    #[serde(flatten)]
    pub gpu: Option<OnGpu>,
}

/// The GPU and its software.
#[derive(Clone, Debug, Serialize)]
pub struct OnGpu {
    /// The GPU's name.
    pub gpu: String,
    /// The driver's version.
    pub driver: Option<String>,
    /// The newest CUDA version that the driver supports.
    pub cuda: String,
    /// The version of cuBLAS, if it was there to compare with.
    pub cublas: Option<String>,
    /// Multiprocessor clock while it ran: least, median, greatest.
    pub sm_mhz: Option<[f64; 3]>,
    /// Power drawn while it ran: least, median, greatest.
    pub power_watts: Option<[f64; 3]>,
    /// The power limit in force.
    pub power_limit_watts: Option<f64>,
    /// Temperature while it ran: least, median, greatest.
    pub celsius: Option<[f64; 3]>,
}

impl Provenance {
    /// Of a run that starts now.
    pub fn new(kernel: &Kernel) -> Self {
        Self::of(kernel.source.file.clone(), kernel.source.origin.to_string())
    }

    /// Of a run that starts now, of this file, with PTX from there.
    pub fn of(kernel: String, ptx: String) -> Self {
        Self {
            kernel,
            ptx,
            commit: commit(),
            date: date(
                SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .map_or(0, |time| time.as_secs()),
            ),
            gpu: None,
        }
    }

    /// For the foot of a report.
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
    /// What does not change during a run.
    pub fn new(info: &gpu::DeviceInfo, cublas: Option<String>) -> Self {
        Self {
            gpu: info.name.clone(),
            driver: gpu::driver_version(),
            cuda: info.driver_version.clone(),
            cublas,
            sm_mhz: None,
            power_watts: None,
            power_limit_watts: None,
            celsius: None,
        }
    }

    /// Adds what the sensors said.
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

/// `GEMM_COMMIT`, for copies without git; else what git says of the sources that this program was
/// built from, or of the current folder.
fn commit() -> Option<String> {
    if let Some(commit) = std::env::var("GEMM_COMMIT")
        .ok()
        .filter(|commit| !commit.is_empty())
    {
        return Some(commit);
    }
    let sources = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| ".".into());
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .arg("-C")
            .arg(Path::new(&sources))
            .args(arguments)
            .output()
            .ok()?;
        output
            .status
            .success()
            .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let hash = git(&["rev-parse", "--short", "HEAD"])?;
    let clean = git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    Some(if clean { hash } else { hash + "-dirty" })
}

/// Seconds since 1970 as `2026-11-21T09:30:00Z`, by the civil calendar (Howard Hinnant's
/// `civil_from_days`: the year starts in March, so that the leap day is its last).
fn date(seconds: u64) -> String {
    let (days, second) = (seconds / 86400, seconds % 86400);
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute) = (second / 3600, second / 60 % 60);
    format!(
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}Z",
        second % 60
    )
}

#[cfg(test)]
mod tests {
    use super::date;

    #[test]
    fn dates() {
        // As `date -u -d @N` prints them.
        assert_eq!(date(0), "1970-01-01T00:00:00Z");
        assert_eq!(date(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(date(1_795_253_400), "2026-11-21T09:30:00Z");
        assert_eq!(date(4_107_542_399), "2100-02-28T23:59:59Z");
    }
}
