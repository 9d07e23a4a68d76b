//! Measures a launch on a GPU, for comparison with its prediction.
use gpu::{Timing, alternate};
use serde::Serialize;

use super::contest::{Contest, KERNEL};
use crate::bench::contestant;
use crate::device::{Arg, Device, Function, LaunchConfig, on_gpu};
use crate::{Error, Result};

/// Duration of all samples together in milliseconds.
const BUDGET_MS: f64 = 500.0;
/// Launches shorter than this, in milliseconds, are timed as graphs, because the host's time per launch would matter.
const SHORT_MS: f64 = 0.2;

/// A GPU's measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// The GPU.
    pub gpu: String,
    /// The median, in milliseconds.
    pub milliseconds: f64,
    /// The SM clock in MHz, as counted by the SMs.
    pub sm_mhz: Option<f64>,
    /// Clocks per SM.
    pub clocks: Option<f64>,
}

impl Measured {
    /// From a time in milliseconds and a clock in MHz.
    pub fn new(gpu: &str, milliseconds: f64, sm_mhz: Option<f64>) -> Self {
        Self {
            gpu: gpu.to_owned(),
            milliseconds,
            sm_mhz,
            clocks: sm_mhz.map(|mhz| milliseconds * mhz * 1e3),
        }
    }

    pub(crate) fn contest(gpu: &str, contest: &Contest) -> Self {
        Self::new(gpu, contest.median_ms, contest.sm_mhz)
    }
}

/// Times a launch on a GPU, repeatedly on the same buffers, which are therefore in the L2 if they fit.
///
/// # Errors
/// If the device is the emulator, or a launch fails.
pub fn launch(
    device: &Device,
    function: &Function,
    config: &LaunchConfig,
    args: &[Arg],
) -> Result<Measured> {
    let Device::Gpu(gpu) = device else {
        return Err(Error::OtherDevice);
    };
    let function = function.on_gpu()?;
    let (config, args) = on_gpu(config, args)?;
    let kernel = [contestant(KERNEL, |_| gpu.launch(function, &config, &args))];
    let look = Timing {
        rounds: 3,
        warmup: 2,
        launches_per_sample: 1,
        ..Timing::default()
    };
    let rough = alternate(gpu, &kernel, &look)?[0].median().max(1e-4);
    let short = rough < SHORT_MS;
    let launches = if short { 20 } else { 1 };
    let timing = Timing {
        rounds: ((BUDGET_MS / rough / launches as f64) as usize).clamp(5, 100),
        launches_per_sample: launches,
        graph: short && !config.cooperative,
        ..look
    };
    let samples = &alternate(gpu, &kernel, &timing)?[0];
    Ok(Measured::new(
        &gpu.info().name,
        samples.median(),
        samples.median_mhz(),
    ))
}
