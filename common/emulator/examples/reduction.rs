//! Sums an array in two launches: the second reads the results of the first, and a `__device__` variable counts
//! the blocks of both.
use emulator::{Buffer, Context, Error, Function, KernelArg, LaunchConfig, Options};

const N: u32 = 50_000;

/// Threads of a block, and elements that it sums.
const BLOCK: u32 = 256;

/// `cargo run -p emulator --example reduction`
pub fn main() -> Result<(), Error> {
    let mut context = Context::new(Options {
        sanitize: true,
        ..Options::default()
    });
    let module = context.load_module(include_str!("reduction.ptx"))?;
    let sum = module.function("sum")?;
    let blocks_done = module.global("blocks_done")?;

    let numbers: Vec<u8> = (0..N).flat_map(u32::to_le_bytes).collect();
    let numbers = context.upload("numbers", &numbers)?;
    let blocks = N.div_ceil(BLOCK);
    let partial = context.alloc("partial", 4 * blocks as usize)?;
    let total = context.alloc("total", 4)?;

    launch(&mut context, &sum, [&numbers, &partial], N)?;
    assert_eq!(context.read(&blocks_done)?, blocks.to_le_bytes());
    // A single block must be able to sum the partial results.
    assert!(blocks <= BLOCK);
    launch(&mut context, &sum, [&partial, &total], blocks)?;
    assert_eq!(context.read(&blocks_done)?, (blocks + 1).to_le_bytes());
    assert_eq!(context.read(&total)?, (0..N).sum::<u32>().to_le_bytes());
    Ok(())
}

fn launch(
    context: &mut Context,
    sum: &Function,
    [from, to]: [&Buffer; 2],
    n: u32,
) -> Result<(), Error> {
    let config = LaunchConfig {
        grid: [n.div_ceil(BLOCK), 1, 1],
        block: [BLOCK, 1, 1],
        ..LaunchConfig::default()
    };
    let args = [
        KernelArg::Buffer(from),
        KernelArg::Buffer(to),
        KernelArg::U32(n),
    ];
    let report = context.launch(sum, &config, &args)?;
    assert_eq!(report.findings, []);
    let warps: u64 = report.counters.iter().map(|c| c.executions).sum();
    let wavefronts: u64 = report.counters.iter().map(|c| c.shared.wavefronts).sum();
    let conflicts: u64 = report.counters.iter().map(|c| c.shared.conflicts).sum();
    println!(
        "{} blocks: {warps} warp instructions, {wavefronts} shared wavefronts, {conflicts} bank conflicts",
        config.grid[0]
    );
    Ok(())
}
