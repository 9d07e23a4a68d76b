//! Runs the experiments on a GPU, one after the other.
use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, bail, ensure};
use gpu::{
    Buffer, Contestant, Context, Element, Fill, Function, KernelArg, LaunchConfig, Module, Nvrtc,
    Swizzle, TensorMap, Timing, alternate,
};
use serde::Serialize;

use super::experiments::{Experiment, experiments};
use harness::ptx_file;

/// The result of one experiment: a line of `microbenchmarks.csv`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// The kernel's file, without its extension.
    pub file: &'static str,
    /// The kernel's name.
    pub kernel: String,
    /// Blocks of the grid.
    pub blocks: u32,
    /// Threads of a block.
    pub threads: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared: u32,
    /// The kernel's `bytes`.
    pub bytes: u32,
    /// The kernel's `step`.
    pub step: u32,
    /// Bytes from one row of TMA's matrix to the next.
    pub pitch: u32,
    /// The number of turns of the loop.
    pub times: u32,
    /// Clocks of a block's loop: the median over the blocks.
    pub clocks: u64,
    /// Operations of one warp in that time.
    pub operations: u64,
    /// Clocks per operation.
    pub clocks_each: f64,
    /// The launch, timed by events: the median.
    pub microseconds: f64,
    /// The SM's clock, if the kernel measured it: see throttled.cu.
    pub sm_mhz: Option<f64>,
}

const COMMON: &str = include_str!("common.cuh");

macro_rules! sources {
    ($($name:literal),*) => {
        /// The files of this folder.
        const SOURCES: &[(&str, &str)] = &[$(($name, include_str!(concat!($name, ".cu")))),*];
    };
}
sources!(
    "instructions",
    "shared",
    "mma_sync",
    "wgmma",
    "memory",
    "tma",
    "barriers",
    "throttled",
    "launches"
);

/// Runs every experiment that this GPU supports, or those whose `file/kernel` begins with one of `only`; calls `progress` with each file before it is measured.
///
/// # Errors
/// Without a GPU or a compiler, and if a launch fails.
pub fn measure(
    gpu: &Context,
    nvrtc: &Nvrtc,
    only: &[String],
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Measurement>> {
    let mut modules = BTreeMap::new();
    let mut measurements = Vec::new();
    let is_asked_for = |experiment: &Experiment| {
        let name = format!("{}/{}", experiment.file, experiment.kernel);
        only.is_empty() || only.iter().any(|beginning| name.starts_with(beginning))
    };
    let experiments = experiments(gpu.info().sm == (9, 0)).into_iter();
    for experiment in experiments.filter(is_asked_for) {
        if !modules.contains_key(experiment.file) {
            progress(experiment.file);
            modules.insert(experiment.file, load(gpu, nvrtc, experiment.file)?);
        }
        let module = &modules[experiment.file];
        let measured = run(gpu, module, &experiment);
        let what = || format!("{}, {}", experiment.file, experiment.kernel);
        measurements.extend(measured.with_context(what)?);
    }
    ensure!(
        !measurements.is_empty(),
        "no microbenchmark's name begins with {}; microbenchmarks.csv lists file and kernel",
        only.join(" or ")
    );
    Ok(measurements)
}

fn load(gpu: &Context, nvrtc: &Nvrtc, file: &str) -> Result<Module> {
    let (major, minor) = gpu.info().sm;
    let feature = if (major, minor) == (9, 0) { "a" } else { "" };
    let ptx = compile(nvrtc, file, &format!("sm_{major}{minor}{feature}"))?;
    Ok(gpu.load_module(&ptx)?)
}

fn compile(nvrtc: &Nvrtc, file: &str, arch: &str) -> Result<String> {
    let Some((_, source)) = SOURCES.iter().find(|(name, _)| *name == file) else {
        bail!("there is no {file}.cu");
    };
    let path = format!("/microbenchmarks/{file}.cu");
    // The shared definitions come first; `#line` keeps the file's own line numbers.
    let text = format!("{COMMON}\n#line 1 \"{path}\"\n{source}");
    let options = ptx_file::options(arch, "");
    let ptx = harness::compile_text(nvrtc, &text, &path, &options, &format!("{file}.cu"));
    ptx.map_err(anyhow::Error::msg)
}

/// Bytes of global memory that it needs.
fn data_bytes(experiment: &Experiment) -> u64 {
    let parts = if experiment.step == 1 {
        experiment.blocks
    } else {
        1
    };
    match experiment.file {
        "tma" if experiment.kernel.contains("tiles") => {
            let tiles = experiment.step + experiment.blocks.div_ceil(experiment.step);
            u64::from(tiles) * u64::from(experiment.bytes / 128) * u64::from(experiment.pitch)
        }
        "tma" => {
            let parts = match experiment.kernel.as_str() {
                "neighbors" | "strided" | "in_cluster" | "across_clusters" => {
                    experiment.blocks.div_ceil(experiment.step)
                }
                _ => parts,
            };
            u64::from(parts) * ROWS * u64::from(experiment.pitch)
        }
        "throttled" if experiment.kernel.starts_with("rate") => {
            u64::from(experiment.blocks) * u64::from(experiment.bytes)
        }
        "throttled" => u64::from(experiment.bytes),
        "memory" if experiment.kernel.starts_with("row_stores") => {
            let tiles = STORED_PITCH / u64::from(experiment.bytes);
            u64::from(experiment.blocks).div_ceil(tiles) * 512 * STORED_PITCH
        }
        "memory" => u64::from(parts) * u64::from(experiment.bytes),
        _ => 16,
    }
}

/// Rows of a block's part of the matrix in `tma.cu`.
const ROWS: u64 = 1024;
/// Bytes of a row of the matrix that `row_stores` writes.
const STORED_PITCH: u64 = 8192;

/// Words that a block writes to `result`.
fn words(experiment: &Experiment) -> usize {
    let writes_sm = matches!(experiment.kernel.as_str(), "spin" | "starts" | "clusters");
    if writes_sm || experiment.file == "throttled" {
        3
    } else {
        2
    }
}

/// `None` if the kernel's registers do not allow such a large block.
fn run(gpu: &Context, module: &Module, experiment: &Experiment) -> Result<Option<Measurement>> {
    let kernel = module.function(&experiment.kernel)?;
    if experiment.threads > kernel.max_threads() {
        return Ok(None);
    }
    let (blocks, threads) = (experiment.blocks as usize, experiment.threads as usize);
    let result = gpu.alloc("result", 8 * words(experiment) * blocks)?;
    let sink = gpu.alloc("sink", 4 * threads * blocks)?;
    let data = match experiment.kernel.starts_with("chase") {
        true => gpu.upload("data", &chain(experiment.bytes))?,
        false => gpu.alloc("data", usize::try_from(data_bytes(experiment))?)?,
    };
    if experiment.file == "instructions" {
        gpu.write(&data, &OPERANDS.map(u32::to_le_bytes).concat())?;
    }
    let microseconds = 1e3 * launch(gpu, &kernel, experiment, [&result, &sink, &data])?;
    let words: Vec<u64> = gpu
        .read(&result)?
        .as_chunks()
        .0
        .iter()
        .map(|word| u64::from_le_bytes(*word))
        .collect();
    let (clocks, operations) = match experiment.kernel.as_str() {
        kernel if kernel.starts_with("nothing") => (0, 1),
        "spin" => (gap(&words), 1),
        "starts" => (lag(&words), 1),
        "clusters" => (gpcs(&words), 1),
        _ if experiment.file == "throttled" => (words[0], words[1]),
        _ => (median(words.iter().step_by(2).copied()), words[1]),
    };
    let sm_mhz = (experiment.file == "throttled").then(|| 1e3 * clocks as f64 / words[2] as f64);
    Ok(Some(Measurement {
        file: experiment.file,
        kernel: experiment.kernel.clone(),
        blocks: experiment.blocks,
        threads: experiment.threads,
        shared: experiment.shared,
        bytes: experiment.bytes,
        step: experiment.step,
        pitch: experiment.pitch,
        times: experiment.times,
        clocks,
        operations,
        clocks_each: clocks as f64 / operations.max(1) as f64,
        microseconds,
        sm_mhz,
    }))
}

/// The operands of the chains of `instructions.cu`: integers, and f32 whose chains neither overflow nor become
/// subnormal.
const OPERANDS: [u32; 4] = [5, 0x3f80_0000, 0x3f80_0000, 0x1234_5678];

/// The time of a launch in milliseconds.
fn launch(
    gpu: &Context,
    kernel: &Function,
    experiment: &Experiment,
    buffers: [&Buffer; 3],
) -> Result<f64> {
    let config = LaunchConfig {
        grid: [experiment.blocks, 1, 1],
        block: [experiment.threads, 1, 1],
        dynamic_shared: experiment.shared,
        ..LaunchConfig::default()
    };
    let map = match experiment.file {
        "tma" => Some(map(gpu, buffers[2], experiment)?),
        _ => None,
    };
    let maps = if experiment.kernel == "two_maps" {
        2
    } else {
        1
    };
    let numbers = [experiment.bytes, experiment.step, experiment.times].map(KernelArg::U32);
    let map = map.iter().map(|map| KernelArg::Bytes(map));
    let arguments: Vec<_> = (0..maps)
        .flat_map(|_| map.clone())
        .chain(buffers.map(KernelArg::Buffer))
        .chain(numbers)
        .collect();
    let contestant = Contestant {
        name: experiment.kernel.clone(),
        enqueue: Box::new(|_| gpu.launch(kernel, &config, &arguments)),
    };
    // An empty launch is timed as its share of many. A launch that heats the card takes a second and is not repeated:
    // then it would find the chain in L2.
    let slow = experiment.file == "throttled";
    let timing = Timing {
        rounds: if slow { 1 } else { 5 },
        warmup: if slow { 0 } else { 2 },
        launches_per_sample: if experiment.kernel.starts_with("nothing") {
            100
        } else {
            1
        },
        graph: experiment.kernel.starts_with("nothing"),
        ..Timing::default()
    };
    Ok(alternate(gpu, &[contestant], &timing)?[0].median())
}

/// The tensor map: 64 f16 of each row, in boxes of the experiment's bytes.
fn map(gpu: &Context, data: &Buffer, experiment: &Experiment) -> Result<[u8; 128]> {
    let pitch = u64::from(experiment.pitch);
    let map = TensorMap {
        element: Element::F16,
        dimensions: &[pitch / 2, data_bytes(experiment) / pitch],
        strides: &[pitch],
        tile: &[64, (experiment.bytes / 128).max(1)],
        element_strides: &[],
        swizzle: Swizzle::B128,
        fill: Fill::default(),
    };
    Ok(gpu.tensor_map(data, &map)?)
}

/// Pointer chasing: the first word of each 128-byte line is the index of the next line, in an order that no
/// prefetcher predicts.
fn chain(bytes: u32) -> Vec<u8> {
    let lines = (bytes / 128) as usize;
    // A permutation of one cycle: each line points to its successor in a shuffled order.
    let mut order: Vec<usize> = (0..lines).collect();
    let mut state = 1u64;
    for i in (1..lines).rev() {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        order.swap(i, (state >> 33) as usize % (i + 1));
    }
    // The chain is entered at line 0.
    if let Some(zero) = order.iter().position(|line| *line == 0) {
        order.rotate_left(zero);
    }
    let mut words = vec![0u8; bytes as usize];
    for (i, line) in order.iter().enumerate() {
        let next = (order[(i + 1) % lines] * 32) as u32;
        words[line * 128..line * 128 + 4].copy_from_slice(&next.to_le_bytes());
    }
    words
}

fn median(values: impl Iterator<Item = u64>) -> u64 {
    let mut values: Vec<u64> = values.collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// The clocks between a block's end and the start of the next block on the same SM, if an SM holds one block.
fn gap(words: &[u64]) -> u64 {
    let mut of_sm: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    for [first, last, sm] in words.as_chunks().0 {
        of_sm.entry(*sm).or_default().push((*first, *last));
    }
    let gaps = of_sm.values_mut().flat_map(|blocks| {
        blocks.sort_unstable();
        let gaps = blocks
            .windows(2)
            .map(|pair| pair[1].0.saturating_sub(pair[0].1));
        gaps.collect::<Vec<_>>()
    });
    median(gaps)
}

/// From one block's first clock to the next one's on the same SM.
fn lag(words: &[u64]) -> u64 {
    let mut of_sm: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for [first, _, sm] in words.as_chunks().0 {
        of_sm.entry(*sm).or_default().push(*first);
    }
    let lags = of_sm.values_mut().flat_map(|firsts| {
        firsts.sort_unstable();
        let pairs = firsts.windows(2).map(|pair| pair[1] - pair[0]);
        pairs.collect::<Vec<_>>()
    });
    median(lags)
}

/// Blocks of a cluster in `launches.cu`.
const CLUSTER: usize = 5;

/// Groups of SMs that clusters have in common: the GPCs.
fn gpcs(words: &[u64]) -> u64 {
    let sms: Vec<u64> = words.iter().skip(2).step_by(3).copied().collect();
    let mut groups: Vec<BTreeSet<u64>> = Vec::new();
    for cluster in sms.chunks(CLUSTER) {
        let mut all: BTreeSet<u64> = cluster.iter().copied().collect();
        groups.retain(|group| {
            let apart = group.is_disjoint(&all);
            if !apart {
                all.extend(group);
            }
            apart
        });
        groups.push(all);
    }
    groups.len() as u64
}

/// The measurements as a file.
///
/// # Errors
/// None is known.
pub fn csv(measurements: &[Measurement]) -> Result<String> {
    let mut table = csv::Writer::from_writer(Vec::new());
    measurements
        .iter()
        .try_for_each(|row| table.serialize(row))?;
    let bytes = table.into_inner().context("the table is not complete")?;
    Ok(String::from_utf8(bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Needs NVRTC; with GEMM_REQUIRE_NVRTC=1 (as in CI) it must exist.
    #[test]
    fn every_experiment_has_a_kernel_that_compiles() {
        let nvrtc = match Nvrtc::find() {
            Ok(nvrtc) => nvrtc,
            Err(error) => {
                let required = std::env::var_os("GEMM_REQUIRE_NVRTC").is_some_and(|v| v == "1");
                assert!(!required, "GEMM_REQUIRE_NVRTC is set: {error}");
                eprintln!("skipped: {error}");
                return;
            }
        };
        let mut ptx = BTreeMap::new();
        for experiment in experiments(true) {
            let text = ptx.entry(experiment.file).or_insert_with(|| {
                compile(&nvrtc, experiment.file, "sm_90a").unwrap_or_else(|error| panic!("{error}"))
            });
            let entry = format!(".entry {}(", experiment.kernel);
            assert!(text.contains(&entry), "{}: {entry}", experiment.file);
        }
    }
}
