//! One launch on the emulator.
use emulator::{Arg, Element, Fill, Launch, Limits, Memory, Options, Run, Swizzle, TensorMap};
use half::f16;

use crate::arguments::Arguments;
use crate::launch::Tiling;
use crate::problem::{from_bytes, to_bytes};
use crate::progress::Progress;
use crate::{Error, Kernel, Problem, Result, Size};

/// Launches the kernel with its warps in the order of this schedule; returns C (padded) and what the
/// emulator saw.
pub fn run(
    kernel: &Kernel,
    problem: &Problem,
    arguments: &Arguments,
    schedule: u64,
    sanitize: bool,
) -> Result<(Vec<f16>, Run)> {
    let program = kernel.program()?;
    let limit = arguments.max_memory.0;
    let card = arguments.emulate.unwrap_or_default();
    let mut memory = Memory::new(limit);
    let mut alloc = |name, values: &[f16]| {
        memory
            .alloc(name, to_bytes(values))
            .map_err(|error| Error::Memory {
                wanted: error.wanted,
                limit: error.limit,
            })
    };
    let a = alloc("A", &problem.a)?;
    let b = alloc("B", &problem.b)?;
    let c = alloc("C", &problem.poisoned_c())?;

    let sides = [problem.padded.m, problem.padded.n, problem.padded.k];
    let launch = Launch {
        grid: kernel.launch.grid(problem.padded, card.multiprocessors()),
        block: [kernel.launch.threads, 1, 1],
        dynamic_shared: kernel.launch.dynamic_shared,
        cluster: [kernel.launch.cluster, 1, 1],
        args: matrices(kernel, problem.padded, [a, b, c])?
            .into_iter()
            .chain(
                sides
                    .into_iter()
                    .chain(arguments.switches.iter().copied())
                    .map(Arg::U32),
            )
            .collect(),
    };
    let progress = Progress::new();
    let set = |done, all| progress.set(done, all);
    let options = Options {
        sanitize,
        schedule,
        card,
        limits: Limits {
            instructions: arguments.max_instructions.unwrap_or(enough(problem.padded)),
            blocks: arguments.max_blocks,
            memory: limit,
        },
        patterns: arguments.accesses,
        progress: Some(&set),
        ..Options::default()
    };
    let run = emulator::launch(program, &mut memory, &launch, &options);
    progress.finish();
    let run = run.map_err(Error::Launch)?;
    let c = memory.bytes(c).map(from_bytes).unwrap_or_default();
    Ok((c, run))
}

/// Whether the matrices of a problem fit into the emulated memory; asked before there are any.
pub fn fits(padded: Size, arguments: &Arguments) -> Result<()> {
    let limit = arguments.max_memory.0;
    let wanted = 2 * padded.elements().iter().sum::<u64>();
    if wanted > limit {
        return Err(Error::Memory { wanted, limit });
    }
    Ok(())
}

/// A, B and C as arguments: where they lie, or how TMA finds their tiles.
fn matrices(kernel: &Kernel, padded: Size, addresses: [u64; 3]) -> Result<Vec<Arg>> {
    let Some(tilings) = kernel.launch.tilings(padded) else {
        return Ok(addresses.map(Arg::U64).to_vec());
    };
    let map = |(address, of): (u64, Tiling)| {
        let map = TensorMap {
            address,
            element: Element::F16,
            dimensions: &of.dimensions,
            strides: &of.strides,
            tile: &of.tile,
            element_strides: &[],
            swizzle: match of.swizzle {
                32 => Swizzle::B32,
                64 => Swizzle::B64,
                128 => Swizzle::B128,
                _ => Swizzle::None,
            },
            fill: Fill::Zeros,
        };
        let bytes = map.encode().map_err(|error| Error::BadBoxes {
            file: kernel.source.file.clone(),
            why: error.to_string(),
        })?;
        Ok(Arg::Bytes(bytes.to_vec()))
    };
    addresses.into_iter().zip(tilings).map(map).collect()
}

/// Warp instructions that no honest kernel needs for a problem of this size: a naive one takes about 8
/// for 32 multiplications, so this leaves it eight times that. The least is what an endless loop of `mma`,
/// the slowest, does in some seconds.
fn enough(padded: Size) -> u64 {
    let [m, n, k] = [padded.m, padded.n, padded.k].map(u64::from);
    (m * n).saturating_mul(k).saturating_mul(2).max(1 << 22)
}
