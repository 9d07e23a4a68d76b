//! The first regime of a bench: sample after sample, so that a kernel that keeps the tensor cores busy reaches the card's
//! power limit, as training does.
use gpu::{Contestant, Samples, Telemetry, Timing, alternate};

use super::contest::kernels;
use super::regime::Regime;
use crate::bench::Effort;
use crate::{Result, Size};

/// The measurements without idle time between samples.
pub struct Sustained {
    /// A first look at the times, with one launch per sample.
    pub rough: Vec<Samples>,
    /// The kernels that each contestant launches, if it is a library.
    pub kernels: Vec<Option<String>>,
    /// How they were timed.
    pub timing: Timing,
    /// The results.
    pub regime: Regime,
    /// The sensors' readings during the measurement.
    pub sensors: Option<Telemetry>,
}

/// Times the contestants, the kernel first, each rotating over this many sets of buffers.
///
/// # Errors
/// If a launch fails.
pub fn measure(
    gpu: &gpu::Context,
    contestants: &[Contestant<'_>],
    size: Size,
    buffer_sets: usize,
    effort: Effort,
) -> Result<Sustained> {
    let look = Timing {
        rounds: 2,
        warmup: 1,
        launches_per_sample: 1,
        graph: false,
        rotations: buffer_sets,
        ..Timing::default()
    };
    let rough = alternate(gpu, contestants, &look)?;
    let timing = plan(&rough, size, buffer_sets, effort);
    let kernels = kernels(gpu, contestants);
    let (samples, sensors) = Telemetry::during(gpu, || alternate(gpu, contestants, &timing));
    Ok(Sustained {
        regime: Regime::new(&timing, &samples?, &kernels, sensors.as_ref(), size),
        rough,
        kernels,
        timing,
        sensors,
    })
}

/// How many samples of how many launches. Up to 2048, a sample is a graph that rotates over all sets and has at least
/// 20 launches; beyond that, enough launches for some milliseconds. The number of rounds follows from the time that the
/// effort allows, but is at least 30 in a bench: rung 01 at 16384, 1.4 s per launch, takes a minute.
fn plan(rough: &[Samples], size: Size, buffer_sets: usize, effort: Effort) -> Timing {
    let graph = size.flop() <= Size::cube(2048).flop();
    let round_ms = rough.iter().map(Samples::median).sum::<f64>().max(1e-3);
    let launches_per_sample = if graph {
        buffer_sets.next_multiple_of(20).max(20)
    } else {
        ((10.0 / round_ms) as usize).clamp(1, 20)
    };
    let (budget_ms, least, most) = match effort {
        Effort::Run | Effort::Alone => (1000.0, 5, 100),
        Effort::Bench => (3000.0, 30, 300),
    };
    let rounds =
        ((budget_ms / (round_ms * launches_per_sample as f64)) as usize).clamp(least, most);
    Timing {
        rounds,
        warmup: buffer_sets.max(3),
        launches_per_sample,
        graph,
        rotations: buffer_sets,
        ..Timing::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contest::CUBLAS;

    fn samples(name: &str, milliseconds: &[f64]) -> Samples {
        Samples {
            name: name.into(),
            milliseconds: milliseconds.to_vec(),
            mhz: Vec::new(),
        }
    }

    #[test]
    fn small_problems_are_graphs_of_at_least_20_launches() {
        let rough = [samples("kernel", &[0.01]), samples(CUBLAS, &[0.01])];
        let small = plan(&rough, Size::cube(512), 67, Effort::Bench);
        assert!(small.graph && small.launches_per_sample >= 67);
        let large = plan(
            &[samples("kernel", &[20.0])],
            Size::cube(4096),
            2,
            Effort::Run,
        );
        assert!(!large.graph && large.launches_per_sample == 1 && large.rounds == 50);
    }

    #[test]
    fn a_bench_has_at_least_30_rounds_and_no_launch_too_many() {
        // Milliseconds per launch of rung 01 at 16384, and of cuBLAS in f16 (twice) and f32.
        let rough = [1415.0, 12.0, 12.0, 169.0].map(|ms| samples("", &[ms]));
        let slow = plan(&rough, Size::cube(16384), 2, Effort::Bench);
        assert_eq!((slow.rounds, slow.launches_per_sample), (30, 1));
        let seconds = 1.6 * (slow.rounds + 1 + slow.warmup) as f64;
        assert!(seconds < 60.0, "{seconds}");
        let fast = plan(&[samples("", &[0.2])], Size::cube(4096), 2, Effort::Bench);
        assert_eq!((fast.rounds, fast.launches_per_sample), (300, 20));
    }
}
