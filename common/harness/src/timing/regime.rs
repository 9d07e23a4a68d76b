//! The measurements of all contestants in one regime: under sustained load, or with idle time between samples.
use gpu::{Samples, Telemetry, Timing};
use serde::{Deserialize, Serialize};

use super::contest::{Contest, contests};
use crate::Size;

/// How the contestants were timed, and the results.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Regime {
    /// Samples of each contestant.
    pub rounds: usize,
    /// Launches that each sample averages over.
    pub launches_per_sample: usize,
    /// How long the GPU idled after each sample, in milliseconds.
    pub rest_ms: f64,
    /// The kernel first, then the baselines.
    pub contestants: Vec<Contest>,
    /// The SM clock by the GPU's sensor, including idle time: minimum, median, maximum.
    pub sm_mhz: Option<[f64; 3]>,
    /// Power, including idle time: minimum, median, maximum.
    pub power_watts: Option<[f64; 3]>,
}

impl Regime {
    /// The kernel's samples come first; `kernels` has what each contestant launches.
    pub fn new(
        timing: &Timing,
        samples: &[Samples],
        kernels: &[Option<String>],
        sensors: Option<&Telemetry>,
        size: Size,
    ) -> Self {
        let three = |range: gpu::Range| [range.min, range.median, range.max];
        Self {
            rounds: timing.rounds,
            launches_per_sample: timing.launches_per_sample,
            rest_ms: timing.rest.as_secs_f64() * 1e3,
            contestants: contests(samples, kernels, size),
            sm_mhz: sensors.map(|sensors| three(sensors.sm_mhz)),
            power_watts: sensors.map(|sensors| three(sensors.power_watts)),
        }
    }
}
