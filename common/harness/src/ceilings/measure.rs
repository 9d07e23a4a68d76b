//! The ceilings, measured: a kernel for each, one block a multiprocessor, its clocks read inside.
use emulator::Module;
use gpu::{
    Buffer, Contestant, Cublas, Gpu, KernelArg, LaunchConfig, Nvrtc, Telemetry, Timing, alternate,
};
use serde::Serialize;

use super::{Ceilings, Rate};
use crate::device::Device;
use crate::on_gpu::sides;
use crate::problem::to_bytes;
use crate::provenance::{OnGpu, Provenance};
use crate::{Error, Problem, Result, Tile, ptx_file, source};

/// A kernel that asks for one resource and little else.
struct Micro {
    name: &'static str,
    unit: &'static str,
    source: &'static str,
    /// Bytes of data, and a number that the kernel may take; each pair is measured, the best is the ceiling.
    settings: &'static [(u32, u32)],
    times: u32,
    /// What every thread must come to.
    expected: Expected,
}

#[derive(Clone, Copy)]
enum Expected {
    Two,
    One,
    Times,
}

macro_rules! micro {
    ($name:literal, $unit:literal, $settings:expr, $times:literal, $expected:ident) => {
        Micro {
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
/// In the L2 of 50 MB, which is two halves: a line may have to lie in both.
const IN_L2: &[(u32, u32)] = &[
    (8 * MIB, 0),
    (8 * MIB, 1),
    (16 * MIB, 0),
    (16 * MIB, 1),
    (24 * MIB, 0),
    (24 * MIB, 1),
];

const MICROS: [Micro; 7] = [
    micro!("issue", "warp instructions", &[(16, 0)], 1000, Two),
    micro!("fma", "f32 multiply-adds", &[(16, 0)], 1000, Two),
    micro!("mma_sync", "FLOP", &[(16, 0)], 1000, Times),
    micro!("wgmma", "FLOP", &[(16, 0)], 1000, Times),
    micro!("shared", "wavefronts", &[(16, 0)], 1000, Times),
    micro!("l2", "bytes", IN_L2, 3, Times),
    micro!("dram", "bytes", &[(1 << 30, 0)], 4, One),
];

/// The names of all ceilings, in order.
#[cfg(test)]
pub fn names() -> Vec<&'static str> {
    MICROS.iter().map(|micro| micro.name).collect()
}

/// What was measured.
#[derive(Serialize)]
pub struct Measured {
    /// The best of each.
    #[serde(flatten)]
    pub ceilings: Ceilings,
    /// What the numbers belong to.
    pub provenance: Provenance,
    /// Every measurement.
    pub runs: Vec<Run>,
}

/// One kernel with one setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// The ceiling.
    pub name: &'static str,
    /// What is counted.
    pub unit: &'static str,
    /// Bytes of data that it works on.
    pub bytes: u32,
    /// The kernel's `skip`.
    pub skip: u32,
    /// What a block did.
    pub work: f64,
    /// The clocks that it took: the median over the multiprocessors.
    pub clocks: f64,
    /// `work / clocks`.
    pub per_clock: f64,
    /// The launch, by events: the median.
    pub milliseconds: f64,
    /// What the whole card did in a second, by events.
    pub per_second: f64,
}

/// Measures all ceilings that this GPU has; `tell` hears of each before it is measured.
///
/// # Errors
/// Without a GPU or a compiler, and [`Error::Ceiling`] for a kernel that did not do what it should have.
pub fn measure(ordinal: usize, tell: &mut dyn FnMut(&str)) -> Result<Measured> {
    let gpu = Gpu::open(ordinal)?;
    let nvrtc = Nvrtc::find()?;
    let compiler = format!(
        "compiled by NVRTC {}.{}",
        nvrtc.version().0,
        nvrtc.version().1
    );
    let cublas = Cublas::new(&gpu)?;
    let (done, sensors) = Telemetry::during(&gpu, || -> Result<_> {
        let mut runs = Vec::new();
        for micro in &MICROS {
            if micro.name == "wgmma" && gpu.info().sm != (9, 0) {
                continue;
            }
            tell(micro.name);
            runs.extend(run(&gpu, &nvrtc, micro)?);
        }
        tell("cuBLAS");
        Ok((runs, cublas_tflops(&gpu, &cublas)?))
    });
    let (mut runs, cublas_tflops) = done?;
    // Without sensors: clocks over time, of a kernel that is little else than its loop.
    let sm_mhz = sensors
        .map(|sensors| sensors.sm_mhz.max)
        .unwrap_or_else(|| {
            let run = &runs[0];
            run.clocks / run.milliseconds / 1e3
        });
    let multiprocessors = gpu.info().multiprocessors;
    for run in runs.iter_mut().filter(|run| run.name == "dram") {
        // Device memory has a clock of its own, and every multiprocessor a part of what it moves in a second.
        run.per_clock = run.per_second / f64::from(multiprocessors) / sm_mhz / 1e6;
    }
    let mut provenance = Provenance::of("common/harness/src/ceilings/*.cu".into(), compiler);
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

/// The highest of each.
fn best(runs: &[Run]) -> Vec<Rate> {
    let rate = |micro: &Micro| {
        let of_it = runs.iter().filter(|run| run.name == micro.name);
        let run = of_it.max_by(|a, b| a.per_clock.total_cmp(&b.per_clock))?;
        Some(Rate {
            name: micro.name.into(),
            unit: micro.unit.into(),
            per_clock: run.per_clock,
            source: format!("measured: ceilings/{}.cu", micro.name),
        })
    };
    MICROS.iter().filter_map(rate).collect()
}

/// One kernel, with each of its settings.
fn run(gpu: &Gpu, nvrtc: &Nvrtc, micro: &Micro) -> Result<Vec<Run>> {
    let (major, minor) = gpu.info().sm;
    let feature = if (major, minor) == (9, 0) { "a" } else { "" };
    let ptx = compile(nvrtc, micro, &format!("sm_{major}{minor}{feature}"))?;
    let (threads, work) = work(micro.name, &ptx)?;
    let kernel = gpu.load(&ptx, ENTRY)?;
    let blocks = gpu.info().multiprocessors;
    let config = LaunchConfig {
        grid: [blocks, 1, 1],
        block: [threads, 1, 1],
        // More than half of a multiprocessor's: so that each gets one block.
        dynamic_shared: gpu.info().shared_per_block_optin / 2 + 1024,
        cluster: 1,
        overlap: false,
    };
    let clocks = gpu.alloc(8 * blocks as usize)?;
    let check = gpu.alloc(4 * (blocks * threads) as usize)?;
    let mut runs = Vec::new();
    for &(bytes, skip) in micro.settings {
        let data = gpu.upload(&data(micro, bytes))?;
        let arguments = [
            KernelArg::Buffer(&clocks),
            KernelArg::Buffer(&check),
            KernelArg::Buffer(&data),
            KernelArg::U32(bytes),
            KernelArg::U32(skip),
            KernelArg::U32(micro.times),
        ];
        let milliseconds = median_ms(gpu, micro.name, |_| {
            gpu.launch(&kernel, &config, &arguments)
        })?;
        verify(micro, &gpu.download(&check)?)?;
        let clocks = median_clocks(gpu, &clocks)?;
        // Of one block; together the blocks move `data` once each time where they share it.
        let (work, all) = match (work, micro.name) {
            (0, "dram") => (f64::from(bytes) / f64::from(blocks), f64::from(bytes)),
            (0, _) => (f64::from(bytes), f64::from(bytes) * f64::from(blocks)),
            (work, _) => (f64::from(work), f64::from(work) * f64::from(blocks)),
        };
        let times = f64::from(micro.times);
        runs.push(Run {
            name: micro.name,
            unit: micro.unit,
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

/// The name of every kernel here.
const ENTRY: &str = "ceiling";
/// The constant in which it states its threads and its work.
const WORK: &str = "ceiling_work";

fn compile(nvrtc: &Nvrtc, micro: &Micro, arch: &str) -> Result<String> {
    let file = format!("{}.cu", micro.name);
    source::compile(
        nvrtc,
        micro.source,
        &format!("/ceilings/{file}"),
        &ptx_file::options(arch, ""),
        &file,
    )
}

/// Threads of a block, and what it does each time; 0 if that is the bytes of its data.
fn work(name: &'static str, ptx: &str) -> Result<(u32, u32)> {
    let wrong = |why: String| Error::Ceiling(name, why);
    let module = Module::parse(ptx).map_err(|error| wrong(error.to_string()))?;
    match module.variable(WORK).as_deref() {
        Some(&[a, b, c, d, e, f, g, h]) => {
            Ok([[a, b, c, d], [e, f, g, h]].map(u32::from_le_bytes).into())
        }
        _ => Err(wrong(format!("it has no constant `{WORK}` of 2 ints"))),
    }
}

/// What a kernel reads: words of 1, or the numbers that its chains are made of.
fn data(micro: &Micro, bytes: u32) -> Vec<u8> {
    match micro.expected {
        Expected::Two => [7, 0x5555_5555, 0.5f32.to_bits(), 1f32.to_bits()]
            .iter()
            .flat_map(|word: &u32| word.to_le_bytes())
            .collect(),
        _ => 1u32.to_le_bytes().repeat(bytes as usize / 4),
    }
}

fn verify(micro: &Micro, check: &[u8]) -> Result<()> {
    let expected = match micro.expected {
        Expected::Two => 2.0,
        Expected::One => 1.0,
        Expected::Times => micro.times as f32,
    };
    let found = check
        .chunks_exact(4)
        .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    match found.into_iter().find(|found| *found != expected) {
        None => Ok(()),
        Some(other) => Err(Error::Ceiling(
            micro.name,
            format!("a thread came to {other} instead of {expected}"),
        )),
    }
}

/// The median over the launches of one contestant.
fn median_ms(
    gpu: &Gpu,
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

fn median_clocks(gpu: &Gpu, clocks: &Buffer) -> Result<f64> {
    let mut clocks: Vec<u64> = gpu
        .download(clocks)?
        .chunks_exact(8)
        .filter_map(|bytes| Some(u64::from_le_bytes(bytes.try_into().ok()?)))
        .collect();
    clocks.sort_unstable();
    Ok(clocks
        .get(clocks.len() / 2)
        .map_or(f64::NAN, |clocks| *clocks as f64))
}

/// cuBLAS at the size that a GPU runs by default, on roughly normal numbers: what they are moves its power.
fn cublas_tflops(gpu: &Gpu, cublas: &Cublas) -> Result<f64> {
    let size = Device::FULL;
    let tile = Tile {
        bm: 1,
        bn: 1,
        bk: 1,
    };
    let problem = Problem::new(size, tile, 0)?;
    let [m, n, k] = sides(size);
    let a = gpu.upload(&to_bytes(&problem.a))?;
    let b = gpu.upload(&to_bytes(&problem.b))?;
    let c = gpu.alloc(2 * m * n)?;
    let ms = median_ms(gpu, "cuBLAS", |_| cublas.gemm_f16(&a, &b, &c, m, n, k))?;
    Ok(size.flop() / ms / 1e9)
}

#[cfg(test)]
mod tests {
    use emulator::{Arg, Demand, Launch, Memory, Options, Program};

    use super::*;

    /// The kernels do what they say: on the emulator, which counts it.
    #[test]
    fn kernels_do_the_work_that_they_state() {
        let Ok(nvrtc) = Nvrtc::find() else {
            assert!(std::env::var("GEMM_REQUIRE_NVRTC").is_err(), "no NVRTC");
            return;
        };
        const BLOCKS: u32 = 2;
        for micro in &MICROS {
            let micro = Micro { times: 2, ..*micro };
            let arch = if micro.name == "wgmma" {
                "sm_90a"
            } else {
                "sm_80"
            };
            let ptx = compile(&nvrtc, &micro, arch).expect("it compiles");
            let (threads, work) = work(micro.name, &ptx).expect("it states its work");
            let module = Module::parse(&ptx).expect("PTX");
            let program = match Program::new(&module, ENTRY) {
                Ok(program) => program,
                // Until the emulator knows `wgmma`.
                Err(error) if micro.name == "wgmma" && error.to_string().contains("wgmma") => {
                    continue;
                }
                Err(error) => panic!("{}: {error}", micro.name),
            };
            for &(bytes, skip) in micro.settings {
                let bytes = bytes.min(MIB);
                let mut memory = Memory::new(1 << 30);
                let mut alloc = |name, bytes| memory.alloc(name, bytes).expect("it fits");
                let clocks = alloc("clocks", vec![0; 8 * BLOCKS as usize]);
                let check = alloc("check", vec![0; (4 * BLOCKS * threads) as usize]);
                let data = alloc("data", data(&micro, bytes));
                let launch = Launch {
                    grid: [BLOCKS, 1, 1],
                    block: [threads, 1, 1],
                    dynamic_shared: 0,
                    cluster: [1; 3],
                    args: [clocks, check, data]
                        .map(Arg::U64)
                        .into_iter()
                        .chain([bytes, skip, micro.times].map(Arg::U32))
                        .collect(),
                };
                let run = emulator::launch(&program, &mut memory, &launch, &Options::default())
                    .expect("a run");
                assert_eq!(run.findings, [], "{}", micro.name);
                let found = memory.bytes(check).expect("it was allocated above");
                verify(&micro, found).expect("what it should have come to");
                let demand = Demand::new(program.instructions(), &run.counters);
                let counted = match micro.name {
                    "issue" => demand.issue,
                    "fma" => demand.fma,
                    "mma_sync" => demand.mma_sync,
                    "wgmma" => demand.wgmma,
                    "shared" => demand.shared_wavefronts,
                    _ => demand.l2_bytes,
                };
                let stated = match (work, micro.name) {
                    (0, "dram") => f64::from(bytes * micro.times),
                    (0, _) => f64::from(bytes * micro.times * BLOCKS),
                    (work, _) => f64::from(work) * f64::from(micro.times * BLOCKS),
                };
                // What stands around the loop is a part of what is counted, all the smaller the more often
                // the loop turns.
                let surplus = counted as f64 / stated - 1.0;
                assert!(
                    (0.0..0.25).contains(&surplus),
                    "{}: {counted} counted, {stated} stated",
                    micro.name
                );
            }
        }
    }

    #[test]
    fn a_wrong_result_is_no_measurement() {
        let micro = &MICROS[1];
        let right = 2f32.to_le_bytes().repeat(4);
        verify(micro, &right).expect("all right");
        for wrong in [f32::NAN, 2.5] {
            let all = [&right[..], &wrong.to_le_bytes()].concat();
            let error = verify(micro, &all).expect_err("one is wrong").to_string();
            assert!(error.contains("fma was not measured"), "{error}");
        }
    }
}
