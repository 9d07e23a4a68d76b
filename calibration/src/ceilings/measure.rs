//! Measures the ceilings: one kernel for each, with one block on each SM, which reads the clock itself.
use emulator::Ptx;
use gpu::{
    Buffer, Contestant, Context, Cublas, Elements, KernelArg, LaunchConfig, Nvrtc, Telemetry,
    Timing, alternate,
};
use serde::Serialize;

use harness::ceilings::{Ceilings, Rate};
use harness::{Error, OnGpu, Problem, Provenance, Result, Size, Tile, ptx_file, sides, to_bytes};

/// A kernel that stresses one resource and little else.
struct Microbenchmark {
    name: &'static str,
    unit: &'static str,
    source: &'static str,
    /// Bytes of data, and the kernel's `skip`; every pair is measured, and the best is the ceiling.
    settings: &'static [(u32, u32)],
    times: u32,
    /// The value that every thread must compute.
    expected: Expected,
}

#[derive(Clone, Copy)]
enum Expected {
    Two,
    One,
    Times,
}

macro_rules! microbenchmark {
    ($name:literal, $unit:literal, $settings:expr, $times:literal, $expected:ident) => {
        Microbenchmark {
            name: $name,
            unit: $unit,
            source: include_str!(concat!($name, ".cu")),
            settings: $settings,
            times: $times,
            expected: Expected::$expected,
        }
    };
}

const MIB: u32 = 1 << 20;
/// Fits in the 50 MB L2, which has two halves; a line may need a copy in both.
const IN_L2: &[(u32, u32)] = &[
    (8 * MIB, 0),
    (8 * MIB, 1),
    (16 * MIB, 0),
    (16 * MIB, 1),
    (24 * MIB, 0),
    (24 * MIB, 1),
];

const MICROBENCHMARKS: [Microbenchmark; 7] = [
    microbenchmark!("issue", "warp instructions", &[(16, 0)], 1000, Two),
    microbenchmark!("fma", "f32 multiply-adds", &[(16, 0)], 1000, Two),
    microbenchmark!("mma_sync", "FLOP", &[(16, 0)], 1000, Times),
    microbenchmark!("wgmma", "FLOP", &[(16, 0)], 1000, Times),
    microbenchmark!("shared", "wavefronts", &[(16, 0)], 1000, Times),
    microbenchmark!("l2", "bytes", IN_L2, 3, Times),
    microbenchmark!("dram", "bytes", &[(1 << 30, 0)], 4, One),
];

/// The result of the measurement.
#[derive(Serialize)]
pub struct Measured {
    /// The best rate for each resource.
    #[serde(flatten)]
    pub ceilings: Ceilings,
    /// The provenance of the numbers.
    pub provenance: Provenance,
    /// All measurements.
    pub runs: Vec<Measurement>,
}

/// One kernel with one setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// The ceiling.
    pub name: &'static str,
    /// The unit of work.
    pub unit: &'static str,
    /// Bytes of data that it accesses.
    pub bytes: u32,
    /// The kernel's `skip`.
    pub skip: u32,
    /// Work of a block.
    pub work: f64,
    /// Clocks that it took: the median over the SMs.
    pub clocks: f64,
    /// `work / clocks`.
    pub per_clock: f64,
    /// Milliseconds of the launch, timed by events: the median.
    pub milliseconds: f64,
    /// Work of the whole card per second, timed by events.
    pub per_second: f64,
}

/// Measures all ceilings that this GPU has; calls `progress` before each.
///
/// # Errors
/// Without a GPU or a compiler; [`Error::Ceiling`] if a kernel computes a wrong value.
pub fn measure(ordinal: usize, progress: &mut dyn FnMut(&str)) -> Result<Measured> {
    let gpu = Context::open(ordinal)?;
    let nvrtc = Nvrtc::find()?;
    let compiler = format!(
        "compiled by NVRTC {}.{}",
        nvrtc.version().0,
        nvrtc.version().1
    );
    let cublas = Cublas::new(&gpu)?;
    let (done, sensors) = Telemetry::during(&gpu, || -> Result<_> {
        let mut runs = Vec::new();
        for benchmark in &MICROBENCHMARKS {
            if benchmark.name == "wgmma" && gpu.info().sm != (9, 0) {
                continue;
            }
            progress(benchmark.name);
            runs.extend(run(&gpu, &nvrtc, benchmark)?);
        }
        progress("cuBLAS");
        Ok((runs, cublas_tflops(&gpu, &cublas)?))
    });
    let (mut runs, cublas_tflops) = done?;
    // Without sensors: the kernel is little more than its loop, so its clocks divided by its time give the SM's
    // clock.
    let sm_mhz = sensors
        .map(|sensors| sensors.sm_mhz.max)
        .unwrap_or_else(|| {
            let run = &runs[0];
            run.clocks / run.milliseconds / 1e3
        });
    let multiprocessors = gpu.info().sms;
    for run in runs.iter_mut().filter(|run| run.name == "dram") {
        // Device memory has a clock of its own; every SM gets its share of what memory transfers per second.
        run.per_clock = run.per_second / f64::from(multiprocessors) / sm_mhz / 1e6;
    }
    let mut provenance = Provenance::of("calibration/src/ceilings/*.cu".into(), compiler);
    provenance.gpu = Some(OnGpu::new(gpu.info(), Some(cublas.version())).with(sensors));
    Ok(Measured {
        ceilings: Ceilings {
            gpu: gpu.info().name.clone(),
            multiprocessors,
            sm_mhz,
            cublas_tflops,
            rates: best(&runs),
        },
        provenance,
        runs,
    })
}

/// The highest rate for each resource.
fn best(runs: &[Measurement]) -> Vec<Rate> {
    let rate = |benchmark: &Microbenchmark| {
        let of_it = runs.iter().filter(|run| run.name == benchmark.name);
        let run = of_it.max_by(|a, b| a.per_clock.total_cmp(&b.per_clock))?;
        Some(Rate {
            name: benchmark.name.into(),
            unit: benchmark.unit.into(),
            per_clock: run.per_clock,
            source: format!("measured: ceilings/{}.cu", benchmark.name),
        })
    };
    MICROBENCHMARKS.iter().filter_map(rate).collect()
}

/// Measures one kernel with each of its settings.
fn run(gpu: &Context, nvrtc: &Nvrtc, benchmark: &Microbenchmark) -> Result<Vec<Measurement>> {
    let (major, minor) = gpu.info().sm;
    let feature = if (major, minor) == (9, 0) { "a" } else { "" };
    let ptx = compile(nvrtc, benchmark, &format!("sm_{major}{minor}{feature}"))?;
    let (threads, work) = work(benchmark.name, &ptx)?;
    let kernel = gpu.load_module(&ptx)?.function(ENTRY)?;
    let blocks = gpu.info().sms;
    let config = LaunchConfig {
        grid: [blocks, 1, 1],
        block: [threads, 1, 1],
        // More than half of an SM's shared memory, so that each SM holds one block.
        dynamic_shared: gpu.info().shared_per_block_optin / 2 + 1024,
        ..LaunchConfig::default()
    };
    let clocks = gpu.alloc("clocks", 8 * blocks as usize)?;
    let check = gpu.alloc("check", 4 * (blocks * threads) as usize)?;
    let mut runs = Vec::new();
    for &(bytes, skip) in benchmark.settings {
        let data = gpu.upload("data", &data(benchmark, bytes))?;
        let arguments = [
            KernelArg::Buffer(&clocks),
            KernelArg::Buffer(&check),
            KernelArg::Buffer(&data),
            KernelArg::U32(bytes),
            KernelArg::U32(skip),
            KernelArg::U32(benchmark.times),
        ];
        let milliseconds = median_ms(gpu, benchmark.name, |_| {
            gpu.launch(&kernel, &config, &arguments)
        })?;
        verify(benchmark, &gpu.read(&check)?)?;
        let clocks = median_clocks(gpu, &clocks)?;
        // The bytes that one block loads; where blocks share `data`, all of them together load it once per turn.
        let (work, all) = match (work, benchmark.name) {
            (0, "dram") => (f64::from(bytes) / f64::from(blocks), f64::from(bytes)),
            (0, _) => (f64::from(bytes), f64::from(bytes) * f64::from(blocks)),
            (work, _) => (f64::from(work), f64::from(work) * f64::from(blocks)),
        };
        let times = f64::from(benchmark.times);
        runs.push(Measurement {
            name: benchmark.name,
            unit: benchmark.unit,
            bytes,
            skip,
            work: work * times,
            clocks,
            per_clock: work * times / clocks,
            milliseconds,
            per_second: all * times / milliseconds * 1e3,
        });
    }
    Ok(runs)
}

/// The name of every kernel in this folder.
const ENTRY: &str = "ceiling";
/// The constant in which a kernel states its threads and its work.
const WORK: &str = "ceiling_work";

fn compile(nvrtc: &Nvrtc, benchmark: &Microbenchmark, arch: &str) -> Result<String> {
    let file = format!("{}.cu", benchmark.name);
    harness::compile_text(
        nvrtc,
        benchmark.source,
        &format!("/ceilings/{file}"),
        &ptx_file::options(arch, ""),
        &file,
    )
}

/// Threads of a block, and its work per turn; 0 if the work is the bytes of its data.
fn work(name: &'static str, ptx: &str) -> Result<(u32, u32)> {
    let wrong = |why: String| Error::Ceiling(name, why);
    let module = Ptx::parse(ptx).map_err(|error| wrong(error.to_string()))?;
    match module.variable(WORK).as_deref() {
        Some(&[a, b, c, d, e, f, g, h]) => {
            Ok([[a, b, c, d], [e, f, g, h]].map(u32::from_le_bytes).into())
        }
        _ => Err(wrong(format!("it has no constant `{WORK}` of 2 ints"))),
    }
}

/// What a kernel reads: words of value 1, or the operands of its chains.
fn data(benchmark: &Microbenchmark, bytes: u32) -> Vec<u8> {
    match benchmark.expected {
        Expected::Two => [7, 0x5555_5555, 0.5f32.to_bits(), 1f32.to_bits()]
            .iter()
            .flat_map(|word: &u32| word.to_le_bytes())
            .collect(),
        _ => 1u32.to_le_bytes().repeat(bytes as usize / 4),
    }
}

fn verify(benchmark: &Microbenchmark, check: &[u8]) -> Result<()> {
    let expected = match benchmark.expected {
        Expected::Two => 2.0,
        Expected::One => 1.0,
        Expected::Times => benchmark.times as f32,
    };
    let found = check
        .chunks_exact(4)
        .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    match found.into_iter().find(|found| *found != expected) {
        None => Ok(()),
        Some(other) => Err(Error::Ceiling(
            benchmark.name,
            format!("a thread computed {other} instead of {expected}"),
        )),
    }
}

/// The median time of one contestant's launches.
fn median_ms(
    gpu: &Context,
    name: &str,
    enqueue: impl Fn(usize) -> std::result::Result<(), gpu::GpuError>,
) -> Result<f64> {
    let contestant = Contestant {
        name: name.into(),
        enqueue: Box::new(enqueue),
    };
    let timing = Timing {
        rounds: 11,
        warmup: 3,
        launches_per_sample: 1,
        ..Timing::default()
    };
    let samples = alternate(gpu, &[contestant], &timing)?;
    Ok(samples[0].median())
}

fn median_clocks(gpu: &Context, clocks: &Buffer) -> Result<f64> {
    let mut clocks: Vec<u64> = gpu
        .read(clocks)?
        .chunks_exact(8)
        .filter_map(|bytes| Some(u64::from_le_bytes(bytes.try_into().ok()?)))
        .collect();
    clocks.sort_unstable();
    Ok(clocks
        .get(clocks.len() / 2)
        .map_or(f64::NAN, |clocks| *clocks as f64))
}

/// cuBLAS at the size that a GPU runs by default, on roughly normal numbers, since the operands' values affect the
/// power.
fn cublas_tflops(gpu: &Context, cublas: &Cublas) -> Result<f64> {
    let size = Size::cube(4096);
    let tile = Tile {
        bm: 1,
        bn: 1,
        bk: 1,
    };
    let problem = Problem::new(size, tile, 0)?;
    let [m, n, k] = sides(size);
    let a = gpu.upload("A", &to_bytes(&problem.a))?;
    let b = gpu.upload("B", &to_bytes(&problem.b))?;
    let c = gpu.alloc("C", 2 * m * n)?;
    let ms = median_ms(gpu, "cuBLAS", |_| {
        cublas.gemm(Elements::F16, [&a, &b, &c], [m, n, k])
    })?;
    Ok(size.flop() / ms / 1e9)
}

#[cfg(test)]
mod tests {
    use emulator::{Demand, KernelArg, LaunchConfig, Options};

    use super::*;

    #[test]
    fn the_record_has_every_ceiling() {
        let ceilings = Ceilings::recorded().expect("a record");
        let names: Vec<_> = ceilings.rates.iter().map(|rate| &rate.name[..]).collect();
        assert_eq!(names, MICROBENCHMARKS.map(|benchmark| benchmark.name));
    }

    /// The emulator's counters confirm that the kernels do the work that they state.
    #[test]
    fn kernels_do_the_work_that_they_state() {
        let Ok(nvrtc) = Nvrtc::find() else {
            assert!(std::env::var("GEMM_REQUIRE_NVRTC").is_err(), "no NVRTC");
            return;
        };
        const BLOCKS: u32 = 2;
        for benchmark in &MICROBENCHMARKS {
            let benchmark = Microbenchmark {
                times: 2,
                ..*benchmark
            };
            let arch = if benchmark.name == "wgmma" {
                "sm_90a"
            } else {
                "sm_80"
            };
            let ptx = compile(&nvrtc, &benchmark, arch).expect("it compiles");
            let (threads, work) = work(benchmark.name, &ptx).expect("it states its work");
            let mut context = emulator::Context::new(Options::default());
            let module = context.load_module(&ptx).expect("PTX");
            let function = module.function(ENTRY).expect("a kernel");
            for &(bytes, skip) in benchmark.settings {
                let bytes = bytes.min(MIB);
                let mut upload =
                    |name, bytes: Vec<u8>| context.upload(name, &bytes).expect("it fits");
                let clocks = upload("clocks", vec![0; 8 * BLOCKS as usize]);
                let check = upload("check", vec![0; (4 * BLOCKS * threads) as usize]);
                let data = upload("data", data(&benchmark, bytes));
                let config = LaunchConfig {
                    grid: [BLOCKS, 1, 1],
                    block: [threads, 1, 1],
                    ..LaunchConfig::default()
                };
                let buffers = [&clocks, &check, &data].map(KernelArg::Buffer);
                let numbers = [bytes, skip, benchmark.times].map(KernelArg::U32);
                let args: Vec<KernelArg<'_>> = buffers.into_iter().chain(numbers).collect();
                let run = context.launch(&function, &config, &args).expect("a run");
                assert_eq!(run.findings, [], "{}", benchmark.name);
                let found = context.read(&check).expect("it was allocated above");
                verify(&benchmark, &found).expect("the expected values");
                let demand = Demand::new(function.instructions(), &run.counters);
                let counted = match benchmark.name {
                    "issue" => demand.issue,
                    "fma" => demand.fma,
                    "mma_sync" => demand.mma_sync,
                    "wgmma" => demand.wgmma,
                    "shared" => demand.shared_wavefronts,
                    _ => demand.l2_bytes,
                };
                let stated = match (work, benchmark.name) {
                    (0, "dram") => f64::from(bytes * benchmark.times),
                    (0, _) => f64::from(bytes * benchmark.times * BLOCKS),
                    (work, _) => f64::from(work) * f64::from(benchmark.times * BLOCKS),
                };
                // Instructions outside the loop are counted too; their share shrinks with the number of turns.
                let surplus = counted as f64 / stated - 1.0;
                assert!(
                    (0.0..0.25).contains(&surplus),
                    "{}: {counted} counted, {stated} stated",
                    benchmark.name
                );
            }
        }
    }

    #[test]
    fn a_wrong_result_is_not_a_measurement() {
        let benchmark = &MICROBENCHMARKS[1];
        let right = 2f32.to_le_bytes().repeat(4);
        verify(benchmark, &right).expect("all right");
        for wrong in [f32::NAN, 2.5] {
            let all = [&right[..], &wrong.to_le_bytes()].concat();
            let error = verify(benchmark, &all)
                .expect_err("one is wrong")
                .to_string();
            assert!(error.contains("fma was not measured"), "{error}");
        }
    }
}
