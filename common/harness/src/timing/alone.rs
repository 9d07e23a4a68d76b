//! Each contestant alone: its speed at the clock where it settles, and its energy.
//!
//! Interleaved contestants alternate every few milliseconds, but the card's power controller takes 20 to 50 ms to
//! settle, so all of them run at the same clock, and ratios compare clocks for the same work. Alone for seconds, each
//! contestant settles at its own clock. At the power limit its speed is that limit divided by its energy per FLOP.
use gpu::{Contestant, DeviceInfo, Samples, Telemetry, Timing, alternate};
use serde::{Deserialize, Serialize};

use super::contest::lt_without_number;
use super::sustained::Sustained;
use crate::{Result, Size};

/// FLOP that the tensor cores of an SM compute per clock in f16 with f32 sums: an m64n256k16 `wgmma` takes 128 clocks
/// (measured: `wgmma` in ceilings.csv).
pub const TENSOR_FLOP_PER_CLOCK: f64 = 4096.0;

/// How long a contestant runs before it is measured, in milliseconds, so that clock and power settle.
const LEAD_MS: f64 = 500.0;
/// Duration of the measurement in milliseconds.
const MEASURED_MS: f64 = 2000.0;
/// Duration of a sample in milliseconds.
const SAMPLE_MS: f64 = 100.0;
/// Duration of a graph in milliseconds, if graphs are used: long enough that the gap between two graphs hardly matters.
const GRAPH_MS: f64 = 5.0;
/// The minimum number of samples, for a contestant with long launches.
const FEWEST_ROUNDS: usize = 3;

/// The measurement of a contestant alone.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Alone {
    /// As in [`Contest`](super::contest::Contest).
    pub name: String,
    /// As in [`Contest`](super::contest::Contest).
    pub kernel: Option<String>,
    /// In TFLOP/s.
    pub tflops: f64,
    /// The SM clock in MHz, as counted by the SMs.
    pub sm_mhz: Option<f64>,
    /// Power of the whole card, in watts, by NVML's energy counter.
    pub watts: Option<f64>,
    /// Energy of the whole card per FLOP, in picojoules.
    pub pj_per_flop: Option<f64>,
    /// FLOP as a fraction of what the tensor cores can compute in the same clocks; only for sm_90, where that is known.
    pub tensor_cores_busy: Option<f64>,
}

/// One pass of a contestant alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pass {
    /// The mean time of a launch in milliseconds.
    pub ms: f64,
    /// The SM clock in MHz.
    pub mhz: Option<f64>,
    /// Power, in watts.
    pub watts: Option<f64>,
}

impl Alone {
    /// The means over `passes`, at least one, with this many FLOP per launch.
    pub fn new(
        name: &str,
        kernel: Option<String>,
        passes: &[Pass],
        flop: f64,
        gpu: &DeviceInfo,
    ) -> Self {
        let mean = |of: fn(&Pass) -> Option<f64>| {
            let all: Option<Vec<f64>> = passes.iter().map(of).collect();
            all.map(|all| all.iter().sum::<f64>() / all.len() as f64)
        };
        let tflops = flop / mean(|pass| Some(pass.ms)).unwrap_or(f64::NAN) / 1e9;
        let sm_mhz = mean(|pass| pass.mhz);
        let watts = mean(|pass| pass.watts);
        let busy = |mhz: f64| {
            let per_second = mhz * 1e6 * f64::from(gpu.sms) * TENSOR_FLOP_PER_CLOCK;
            tflops * 1e12 / per_second
        };
        Self {
            name: name.into(),
            kernel,
            tflops,
            sm_mhz,
            watts,
            pj_per_flop: watts.map(|watts| watts / tflops),
            tensor_cores_busy: sm_mhz.map(busy).filter(|_| gpu.sm == (9, 0)),
        }
    }
}

/// Runs each contestant alone for seconds, and then again in reverse order, so that a warming card does not favor one
/// of them. Returns the first and the second pass of each. `base` says whether launches are a graph, and how many sets
/// of buffers to rotate.
///
/// # Errors
/// If a launch fails.
pub fn passes(
    gpu: &gpu::Context,
    contestants: &[Contestant<'_>],
    base: &Timing,
) -> Result<Vec<[Pass; 2]>> {
    let look = Timing { rounds: 3, ..*base };
    let rough = alternate(gpu, contestants, &look)?;
    let timings: Vec<Timing> = rough.iter().map(|one| plan(one.median(), base)).collect();
    let one = |(contestant, timing)| pass(gpu, contestant, timing);
    let all = || contestants.iter().zip(&timings);
    let first = all().map(one).collect::<Result<Vec<_>>>()?;
    let second = all().rev().map(one).collect::<Result<Vec<_>>>()?;
    let second = second.into_iter().rev();
    Ok(first.into_iter().zip(second).map(Into::into).collect())
}

/// Measures each contestant of a bench alone. Of cuBLASLt's algorithms, the fastest in the first pass is reported, by
/// its second pass only, so that the samples that select an algorithm are not the ones that are reported.
///
/// # Errors
/// If a launch fails.
pub fn measure(
    gpu: &gpu::Context,
    contestants: &[Contestant<'_>],
    sustained: &Sustained,
    size: Size,
) -> Result<Vec<Alone>> {
    let passes = passes(gpu, contestants, &sustained.timing)?;
    let names: Vec<&str> = contestants.iter().map(|one| one.name.as_str()).collect();
    let report = |(place, name, passes): (usize, &str, &[Pass])| {
        let kernel = sustained.kernels.get(place).cloned().flatten();
        Alone::new(name, kernel, passes, size.flop(), gpu.info())
    };
    Ok(reported(&names, &passes).into_iter().map(report).collect())
}

/// The contestants to report: index, name, and the passes to report.
fn reported<'a>(names: &[&'a str], passes: &'a [[Pass; 2]]) -> Vec<(usize, &'a str, &'a [Pass])> {
    let all = || names.iter().zip(passes).enumerate();
    let algorithms = all().filter(|(_, (name, _))| lt_without_number(name).is_some());
    let best = algorithms
        .min_by(|(_, (_, a)), (_, (_, b))| a[0].ms.total_cmp(&b[0].ms))
        .map(|(place, _)| place);
    all()
        .filter_map(|(place, (name, passes))| match lt_without_number(name) {
            None => Some((place, *name, &passes[..])),
            Some(lt) => (Some(place) == best).then_some((place, lt, &passes[1..])),
        })
        .collect()
}

/// The lead, then the measurement.
fn pass(gpu: &gpu::Context, contestant: &Contestant<'_>, timing: &Timing) -> Result<Pass> {
    let contestant = std::slice::from_ref(contestant);
    // Enough launches that, together with the sample that `alternate` discards, they take as long as the lead.
    let sample_ms = MEASURED_MS / timing.rounds as f64;
    let lead = Timing {
        rounds: whole(LEAD_MS / sample_ms) - 1,
        ..*timing
    };
    alternate(gpu, contestant, &lead)?;
    let (samples, sensors) = Telemetry::during(gpu, || alternate(gpu, contestant, timing));
    let samples = samples?;
    let samples = samples.first();
    let mean = |one: &Samples| {
        let all = &one.milliseconds;
        all.iter().sum::<f64>() / all.len() as f64
    };
    Ok(Pass {
        ms: samples.map_or(f64::NAN, mean),
        mhz: samples.and_then(Samples::median_mhz),
        watts: sensors.and_then(|sensors| sensors.mean_watts),
    })
}

/// Samples of about 100 ms for two seconds, for a contestant that takes `ms` milliseconds per launch.
fn plan(ms: f64, base: &Timing) -> Timing {
    let ms = ms.max(1e-4);
    let (launches, repeats) = match base.graph {
        true => {
            let of_base = base.launches_per_sample.max(1);
            let launches = of_base * whole(GRAPH_MS / (of_base as f64 * ms));
            (launches, whole(SAMPLE_MS / (launches as f64 * ms)))
        }
        false => (whole(SAMPLE_MS / ms), 1),
    };
    let sample_ms = (launches * repeats) as f64 * ms;
    Timing {
        rounds: whole(MEASURED_MS / sample_ms).max(FEWEST_ROUNDS),
        // Use a graph, so that the GPU is busy while the host creates it.
        warmup: if base.graph { launches } else { 1 },
        launches_per_sample: launches,
        repeats,
        ..*base
    }
}

/// The nearest integer, at least 1.
fn whole(number: f64) -> usize {
    (number.round() as usize).max(1)
}

/// The contestants of one size measured alone, for a terminal.
pub fn table(all: &[Alone]) -> Vec<String> {
    let rows: Vec<Vec<String>> = all
        .iter()
        .map(|one| [vec![one.name.clone()], cells(one)].concat())
        .collect();
    let head = [&["each by itself"][..], &COLUMNS].concat();
    let mut lines = crate::table::table(&head, &rows);
    let named = all
        .iter()
        .filter_map(|one| Some((&one.name, one.kernel.as_ref()?)));
    lines.extend(named.map(|(name, kernel)| format!("{name} launches {kernel}")));
    lines
}

/// The columns of [`cells`].
pub const COLUMNS: [&str; 5] = ["TFLOP/s", "SM MHz", "W", "pJ/FLOP", "tensor cores busy"];

/// A contestant's measurement, for a table.
pub fn cells(of: &Alone) -> Vec<String> {
    let or_dash = |cell: Option<String>| cell.unwrap_or_else(|| "-".into());
    vec![
        format!("{:.1}", of.tflops),
        or_dash(of.sm_mhz.map(|mhz| format!("{mhz:.0}"))),
        or_dash(of.watts.map(|watts| format!("{watts:.1}"))),
        or_dash(of.pj_per_flop.map(|pj| format!("{pj:.4}"))),
        or_dash(of.tensor_cores_busy.map(crate::table::percent)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contest::{CUBLAS, CUBLAS_LT, KERNEL, lt_name};

    fn gpu(sm: (u32, u32)) -> DeviceInfo {
        DeviceInfo {
            emulated: false,
            ordinal: 0,
            name: "a GPU".into(),
            sm,
            sms: 132,
            l2_bytes: 0,
            memory_bytes: 0,
            shared_per_block_optin: 0,
            driver_version: String::new(),
        }
    }

    fn pass(ms: f64) -> Pass {
        Pass {
            ms,
            mhz: Some(1400.0),
            watts: Some(700.0),
        }
    }

    #[test]
    fn watts_and_speed_give_the_energy_of_a_flop() {
        let second = Pass {
            ms: 1.0,
            mhz: Some(1200.0),
            watts: Some(680.0),
        };
        let passes = [pass(3.0), second];
        // 1.3 PFLOP in 2 ms.
        let alone = Alone::new(CUBLAS, None, &passes, 1.3e12, &gpu((9, 0)));
        assert_eq!(
            (alone.tflops, alone.sm_mhz, alone.watts),
            (650.0, Some(1300.0), Some(690.0))
        );
        assert_eq!(alone.pj_per_flop, Some(690.0 / 650.0));
        let most = 132.0 * 4096.0 * 1300e6;
        let busy = alone.tensor_cores_busy.expect("it is known of sm_90");
        assert!((busy - 650e12 / most).abs() < 1e-12, "{busy}");

        // Without an energy counter, and on a GPU with tensor cores of another speed.
        let without = Pass {
            watts: None,
            ..pass(2.0)
        };
        let alone = Alone::new(CUBLAS, None, &[pass(2.0), without], 1e12, &gpu((8, 0)));
        assert_eq!(
            (alone.watts, alone.pj_per_flop, alone.tensor_cores_busy),
            (None, None, None)
        );
    }

    #[test]
    fn an_algorithm_is_chosen_by_the_pass_that_is_not_reported() {
        let names = [
            KERNEL,
            CUBLAS,
            &lt_name(CUBLAS_LT, 0),
            &lt_name(CUBLAS_LT, 1),
        ];
        let [a, b, c, d] = [[1.0, 1.5], [2.0, 2.5], [3.0, 1.0], [2.5, 9.0]].map(|ms| ms.map(pass));
        let passes = [a, b, c, d];
        assert_eq!(
            reported(&names, &passes),
            [
                (0, KERNEL, &a[..]),
                (1, CUBLAS, &b[..]),
                (3, CUBLAS_LT, &d[1..])
            ]
        );
    }

    #[test]
    fn a_sample_takes_a_tenth_of_a_second() {
        for (ms, graph) in [
            (0.0036, true),
            (0.03, true),
            (0.2, false),
            (1.8, false),
            (60.0, false),
            (1400.0, false),
        ] {
            let base = Timing {
                graph,
                launches_per_sample: 20,
                rotations: 7,
                ..Timing::default()
            };
            let plan = plan(ms, &base);
            assert_eq!((plan.graph, plan.rotations), (graph, 7));
            assert_eq!(plan.repeats > 1, graph, "{plan:?}");
            let graph_ms = plan.launches_per_sample as f64 * ms;
            assert!(!graph || (4.0..6.0).contains(&graph_ms), "{plan:?}");
            let sample_ms = graph_ms * plan.repeats as f64;
            let all_ms = sample_ms * plan.rounds as f64;
            if ms < SAMPLE_MS {
                assert!((80.0..125.0).contains(&sample_ms), "{plan:?}");
                assert!((1800.0..2200.0).contains(&all_ms), "{plan:?}");
            } else {
                assert_eq!((plan.launches_per_sample, plan.rounds), (1, FEWEST_ROUNDS));
            }
        }
    }

    fn two() -> [Alone; 2] {
        let known = [pass(2.0); 2];
        let unknown = Pass {
            mhz: None,
            watts: None,
            ..pass(2.5)
        };
        let nvjet = Some("nvjet_sm90".to_owned());
        [
            Alone::new(KERNEL, None, &known, 1.3e12, &gpu((9, 0))),
            Alone::new(CUBLAS, nvjet, &[unknown], 1.3e12, &gpu((9, 0))),
        ]
    }

    #[test]
    fn the_table_has_a_line_per_contestant() {
        assert_eq!(
            table(&two()),
            [
                "each by itself   TFLOP/s   SM MHz       W   pJ/FLOP   tensor cores busy",
                "kernel             650.0     1400   700.0    1.0769               85.9%",
                "cuBLAS f16         520.0        -       -         -                   -",
                "cuBLAS f16 launches nvjet_sm90",
            ]
        );
    }

    #[test]
    fn what_json_says_is_read_again() {
        let json = serde_json::to_string(&two()).expect("numbers and text");
        let again: Vec<Alone> = serde_json::from_str(&json).expect("what was written");
        assert_eq!(again, two());
    }
}
