//! The second regime of a bench: the GPU idles between the samples, so that the card is below its power limit when each begins.
//! Public kernels are mostly timed like this; training is sustained load.
use std::time::Duration;

use gpu::{Contestant, Samples, Telemetry, Timing, alternate};

use super::regime::Regime;
use super::sustained::Sustained;
use crate::{Result, Size};

/// The GPU idles this many times as long as it works.
const REST: f64 = 8.0;
/// The shortest and the longest idle time after a sample, in milliseconds. A kernel for which the longest is too short
/// uses little of the card, so it does not reach the power limit anyway.
const REST_MS: [f64; 2] = [10.0, 250.0];
/// The limit for all samples together in milliseconds, unless the minimum number of rounds takes longer.
const BUDGET_MS: f64 = 2000.0;
/// The minimum and maximum number of samples per contestant.
const ROUNDS: [usize; 2] = [10, 30];

/// Times the contestants with idle time between the samples. Their times in the sustained regime determine how many
/// samples there are, and how long the samples and the idle times are.
///
/// # Errors
/// If a launch fails.
pub fn measure(
    gpu: &gpu::Context,
    contestants: &[Contestant<'_>],
    sustained: &Sustained,
    size: Size,
) -> Result<Regime> {
    let timing = plan(&sustained.rough, &sustained.timing);
    let (samples, sensors) = Telemetry::during(gpu, || alternate(gpu, contestants, &timing));
    Ok(Regime::new(
        &timing,
        &samples?,
        &sustained.kernels,
        sensors.as_ref(),
        size,
    ))
}

/// A graph stays a graph; otherwise, a sample has as many launches as fit into a millisecond.
fn plan(rough: &[Samples], sustained: &Timing) -> Timing {
    let slowest = rough.iter().map(Samples::median).fold(1e-3, f64::max);
    let launches = match sustained.graph {
        true => sustained.launches_per_sample,
        false => ((1.0 / slowest) as usize).clamp(1, 20),
    };
    // The lead of a sample is as long as the sample.
    let busy_ms = |sample: &Samples| 2.0 * launches as f64 * sample.median();
    let [least_ms, most_ms] = REST_MS;
    let rest_ms = (REST * 2.0 * launches as f64 * slowest).clamp(least_ms, most_ms);
    let round_ms: f64 = rough.iter().map(|sample| busy_ms(sample) + rest_ms).sum();
    let [least, most] = ROUNDS;
    Timing {
        rounds: ((BUDGET_MS / round_ms) as usize).clamp(least, most),
        launches_per_sample: launches,
        rest: Duration::from_secs_f64(rest_ms / 1e3),
        ..*sustained
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rough(milliseconds: &[f64]) -> Vec<Samples> {
        let samples = |ms: &f64| Samples {
            name: String::new(),
            milliseconds: vec![*ms],
            mhz: Vec::new(),
        };
        milliseconds.iter().map(samples).collect()
    }

    #[test]
    fn the_gpu_idles_most_of_the_time() {
        for ms in [0.004, 0.2, 1.7, 13.0, 200.0] {
            let sustained = Timing {
                graph: ms < 0.1,
                ..Timing::default()
            };
            let plan = plan(&rough(&[ms; 6]), &sustained);
            let busy = 2.0 * plan.launches_per_sample as f64 * ms;
            let rest = plan.rest.as_secs_f64() * 1e3;
            let wanted = (8.0 * busy).clamp(10.0, 250.0);
            assert!((rest - wanted).abs() < 1e-3, "{ms}: {plan:?}");
            let all = plan.rounds as f64 * 6.0 * (busy + rest);
            assert!(
                all < BUDGET_MS || plan.rounds == ROUNDS[0],
                "{ms}: {all} ms"
            );
            assert!((10..=30).contains(&plan.rounds));
        }
    }
}
