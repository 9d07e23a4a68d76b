//! Benchmarks: the kernel and cuBLAS interleaved, in one process, on the same buffers.
use gpu::{Contestant, Cublas, CublasLt, Elements, GpuError, Telemetry};
use half::f16;
use serde::Serialize;

use super::alone::{self, Alone};
use super::contest::{CUBLAS, CUBLAS_F32, CUBLAS_LT, Contest, KERNEL, lt_name};
use super::regime::Regime;
use super::sustained::Sustained;
use super::{cool, sustained};
use crate::device::{Buffer, LaunchConfig, on_gpu};
use crate::host::Finished;
use crate::occupancy::{Resources, Sm};
use crate::{Host, Result, Size, Verification};
use problem::parallel::*;
use problem::{against_cublas, from_bytes, to_bytes};

/// How much to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// One second, compared with `cublasGemmEx` in f16.
    Run,
    /// Several seconds, compared with all baselines.
    Bench,
    /// One second as in [`Effort::Run`]; then each contestant alone, half a minute in total.
    Alone,
}

/// The speed of the kernel and its baselines.
#[derive(Clone, Debug, Serialize)]
pub struct Time {
    /// The kernel's median.
    pub median_ms: f64,
    /// At the median.
    pub tflops: f64,
    /// Speed as a fraction of cuBLAS's f16 GEMM: the median over the rounds.
    pub of_cublas: Option<f64>,
    /// Samples of each contestant.
    pub rounds: usize,
    /// Launches that each sample averages over.
    pub launches_per_sample: usize,
    /// Whether those launches were one graph.
    pub graph: bool,
    /// Sets of buffers to rotate over, together more than twice the size of the L2.
    pub buffer_sets: usize,
    /// The kernel first, then the baselines.
    pub contestants: Vec<Contest>,
    /// How many of cuBLASLt's algorithms were tried, if it took part.
    pub algorithms: Option<usize>,
    /// The same with idle time between the samples; only in a bench, and only for kernels that use tensor cores.
    pub cool: Option<Regime>,
    /// Each contestant alone, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alone: Option<Vec<Alone>>,
    /// The resources that a block takes of an SM.
    pub resources: Resources,
}

/// The sizes to time by default.
pub const SIZES: [Size; 6] = [
    Size::cube(512),
    Size::cube(1024),
    Size::cube(2048),
    Size::cube(4096),
    Size::cube(8192),
    Size::cube(16384),
];

/// How many of cuBLASLt's algorithms take part in a bench: the fastest in a first look at all that its heuristic
/// offers.
pub const ALGORITHMS: usize = 3;

/// Times a kernel whose C is correct, on the matrices of `first` and on as many more sets as needed.
///
/// # Errors
/// If a launch fails.
pub fn time(
    host: &mut Host,
    cublas: Option<&Cublas>,
    first: Finished,
    effort: Effort,
) -> Result<(Time, Option<Telemetry>)> {
    let (kernel, problem) = (first.kernel.clone(), first.problem.clone());
    let [m, n, k] = sides(problem.padded);
    let info = host.gpu()?.info();
    let buffer_sets = sets(problem.padded, info.l2_bytes, info.memory_bytes);
    let mut prepared = vec![first];
    while prepared.len() < buffer_sets {
        prepared.push(host.prepare()?);
    }
    let gpu = host.gpu()?;
    let function = kernel.function.on_gpu()?;
    let f16_sets = prepared.iter().map(|set| on_the_gpu(&set.matrices));
    let f16_sets = f16_sets.collect::<Result<Vec<_>>>()?;
    let launches = prepared
        .iter()
        .map(|set| on_gpu(&set.launch.config, &set.launch.args));
    let launches = launches.collect::<Result<Vec<_>>>()?;

    let lt = match (cublas, effort) {
        (Some(_), Effort::Bench | Effort::Alone) => {
            Some(CublasLt::tune(gpu, &f16_sets, [m, n, k], ALGORITHMS)?)
        }
        _ => None,
    };
    // The fair baseline of a kernel without tensor cores is cuBLAS's f32 GEMM.
    let cuda_cores_only = effort == Effort::Bench && !kernel.tensor_cores;
    let mut f32_sets = Vec::new();
    if cuda_cores_only && cublas.is_some() {
        let (a, b) = (to_f32_bytes(&problem.a), to_f32_bytes(&problem.b));
        for _ in 0..buffer_sets {
            f32_sets.push([
                gpu.upload("A in f32", &a)?,
                gpu.upload("B in f32", &b)?,
                gpu.alloc("C in f32", 4 * m * n)?,
            ]);
        }
    }
    let mut contestants = vec![contestant(KERNEL, |set| {
        let (config, args) = &launches[set];
        gpu.launch(function, config, args)
    })];
    if let Some(cublas) = cublas {
        let sets = &f16_sets;
        contestants.push(contestant(CUBLAS, move |set| {
            cublas.gemm(Elements::F16, sets[set], [m, n, k])
        }));
        if let Some(lt) = &lt {
            for which in 0..lt.kept() {
                let run = move |set: usize| lt.run(which, sets[set]);
                contestants.push(contestant(&lt_name(CUBLAS_LT, which), run));
            }
        }
        if !f32_sets.is_empty() {
            let sets = &f32_sets;
            contestants.push(contestant(CUBLAS_F32, move |set| {
                cublas.gemm(Elements::F32, sets[set].each_ref(), [m, n, k])
            }));
        }
    }

    let size = problem.size;
    let sustained = sustained::measure(gpu, &contestants, size, buffer_sets, effort)?;
    // Without tensor cores a kernel does not reach the power limit.
    let has_cool = effort == Effort::Bench && kernel.tensor_cores;
    let measure = || cool::measure(gpu, &contestants, &sustained, size);
    let cool = has_cool.then(measure).transpose()?;
    let measure = || alone::measure(gpu, &contestants, &sustained, size);
    let mut alone = (effort == Effort::Alone).then(measure).transpose()?;
    if let Some(Some(first)) = alone.as_mut().map(|alone| alone.first_mut())
        && !kernel.tensor_cores
    {
        first.tensor_cores_busy = None;
    }
    let Sustained {
        timing,
        regime,
        sensors,
        ..
    } = sustained;
    let contests = regime.contestants;
    let time = Time {
        median_ms: contests[0].median_ms,
        tflops: contests[0].tflops,
        of_cublas: contests
            .iter()
            .find(|contest| contest.name == CUBLAS)
            .map(|contest| contest.kernel_speed),
        rounds: timing.rounds,
        launches_per_sample: timing.launches_per_sample,
        graph: timing.graph,
        buffer_sets,
        contestants: contests,
        algorithms: lt.as_ref().map(CublasLt::timed),
        cool,
        alone,
        resources: resources(gpu, function, &prepared[0].launch.config)?,
    };
    Ok((time, sensors))
}

/// The resources that the kernel takes of an SM.
fn resources(
    gpu: &gpu::Context,
    function: &gpu::Function,
    config: &LaunchConfig,
) -> Result<Resources> {
    let info = gpu.info();
    let threads = config.block.iter().product();
    let registers = function.registers();
    let shared_bytes = function.static_shared() + config.dynamic_shared;
    Ok(Resources {
        threads,
        registers,
        shared_bytes,
        local_bytes: function.local_bytes(),
        blocks_per_multiprocessor: function.blocks_per_sm(threads, config.dynamic_shared)?,
        limited_by: Sm::new(info.sm, info.shared_per_block_optin)
            .holds(threads, registers, shared_bytes)
            .limited_by,
    })
}

/// Compares every element of C with cuBLAS's; adds to `found`.
///
/// # Errors
/// If cuBLAS fails.
pub fn verify(
    gpu: &gpu::Context,
    cublas: &Cublas,
    found: Verification,
    of: &Finished,
) -> Result<Verification> {
    let problem = &of.problem;
    let [m, n, k] = sides(problem.padded);
    let [a, b, _] = on_the_gpu(&of.matrices)?;
    let theirs = gpu.alloc("cuBLAS's C", 2 * m * n)?;
    gpu.fill(&theirs, 0xff)?;
    cublas.gemm(Elements::F16, [a, b, &theirs], [m, n, k])?;
    let theirs = from_bytes(&gpu.read(&theirs)?);

    let a = gpu.upload("squares of A", &to_bytes(&squares(&problem.a)))?;
    let b = gpu.upload("squares of B", &to_bytes(&squares(&problem.b)))?;
    let sums = gpu.alloc("sums of squares", 4 * m * n)?;
    cublas.gemm(Elements::F16ToF32, [&a, &b, &sums], [m, n, k])?;
    let sums = gpu.read(&sums)?;
    let sums: Vec<f32> = sums
        .par_chunks_exact(4)
        .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    Ok(against_cublas(found, problem, &of.c, &theirs, &sums))
}

fn squares(values: &[f16]) -> Vec<f16> {
    values
        .par_iter()
        .map(|value| f16::from_f32(value.to_f32() * value.to_f32()))
        .collect()
}

fn on_the_gpu([a, b, c]: &[Buffer; 3]) -> Result<[&gpu::Buffer; 3]> {
    Ok([a.on_gpu()?, b.on_gpu()?, c.on_gpu()?])
}

/// The sides of a problem, as cuBLAS takes them.
pub fn sides(size: Size) -> [usize; 3] {
    [size.m, size.n, size.k].map(|side| side as usize)
}

/// A contestant of this name.
pub fn contestant<'a>(
    name: &str,
    enqueue: impl Fn(usize) -> std::result::Result<(), GpuError> + 'a,
) -> Contestant<'a> {
    Contestant {
        name: name.into(),
        enqueue: Box::new(enqueue),
    }
}

/// Sets of A, B and C: at least two, together larger than twice the L2, and at most half the memory.
pub fn sets(padded: Size, l2_bytes: u64, memory_bytes: u64) -> usize {
    let set = 2 * padded.elements().iter().sum::<u64>();
    let wanted = 2 * l2_bytes / set + 1;
    // The f32 copies of a set take twice as much memory.
    let room = memory_bytes / 2 / (3 * set);
    wanted.max(2).min(room.max(1)) as usize
}

fn to_f32_bytes(values: &[f16]) -> Vec<u8> {
    let mut bytes = vec![0; 4 * values.len()];
    bytes
        .par_chunks_exact_mut(4)
        .with_min_len(1 << 16)
        .zip(values.par_iter())
        .for_each(|(bytes, value)| bytes.copy_from_slice(&value.to_f32().to_le_bytes()));
    bytes
}

/// The contestants of one size, for a terminal.
pub fn table(time: &Time) -> Vec<String> {
    let row = |contest: &Contest| {
        vec![
            contest.name.clone(),
            format!("{:.4}", contest.median_ms),
            format!("{:.4} to {:.4}", contest.p10_ms, contest.p90_ms),
            format!("{:.1}", contest.tflops),
            format!("{:.1}%", 100.0 * contest.kernel_speed),
            contest.sm_mhz.map_or("-".into(), |mhz| format!("{mhz:.0}")),
        ]
    };
    let mut lines = crate::table::table(
        &[
            "",
            "median ms",
            "middle 80%",
            "TFLOP/s",
            "kernel is at",
            "SM MHz",
        ],
        &time.contestants.iter().map(row).collect::<Vec<_>>(),
    );
    let graph = if time.graph { "a graph of " } else { "" };
    lines.push(format!(
        "{} of {graph}{} each, interleaved, over {}",
        crate::table::plural(time.rounds as u64, "sample"),
        crate::table::plural(time.launches_per_sample as u64, "launch"),
        crate::table::plural(time.buffer_sets as u64, "buffer set"),
    ));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_exceed_the_cache_twice_and_fit_into_memory() {
        let (l2, memory) = (50 << 20, 80 << 30);
        for size in [1, 256, 512, 2048, 4096, 8192].map(Size::cube) {
            let set = 2 * size.elements().iter().sum::<u64>();
            let sets = sets(size, l2, memory) as u64;
            assert!(
                sets >= 2 && sets * set > 2 * l2 && 3 * sets * set < memory,
                "{size}: {sets}"
            );
        }
    }

    #[test]
    fn what_was_measured_alone_is_in_the_json() {
        let time = |alone| Time {
            median_ms: 1.0,
            tflops: 1.0,
            of_cublas: None,
            rounds: 1,
            launches_per_sample: 1,
            graph: false,
            buffer_sets: 1,
            contestants: Vec::new(),
            algorithms: None,
            cool: None,
            alone,
            resources: Resources {
                threads: 128,
                registers: 1,
                shared_bytes: 0,
                local_bytes: 0,
                blocks_per_multiprocessor: 1,
                limited_by: Vec::new(),
            },
        };
        let one = Alone {
            name: KERNEL.into(),
            kernel: None,
            tflops: 650.0,
            sm_mhz: Some(1300.0),
            watts: Some(700.0),
            pj_per_flop: Some(700.0 / 650.0),
            tensor_cores_busy: None,
        };
        let json = serde_json::to_value(time(Some(vec![one.clone()]))).expect("numbers");
        let again: Vec<Alone> = serde_json::from_value(json["alone"].clone()).expect("objects");
        assert_eq!(again, [one]);
        let json = serde_json::to_value(time(None)).expect("numbers");
        assert!(json.get("alone").is_none(), "{json}");
    }
}
