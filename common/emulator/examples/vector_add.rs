//! Adds two vectors: a launch, its result, the cost of each instruction, and the finding if the length is wrong.
use emulator::{Context, Error, FindingKind, KernelArg, LaunchConfig, Options};

const N: u32 = 1000;

/// `cargo run -p emulator --example vector_add`
pub fn main() -> Result<(), Error> {
    let mut context = Context::new(Options {
        sanitize: true,
        ..Options::default()
    });
    let module = context.load_module(include_str!("vector_add.ptx"))?;
    let vector_add = module.function("vector_add")?;

    let floats =
        |f: fn(u32) -> f32| -> Vec<u8> { (0..N).flat_map(|i| f(i).to_le_bytes()).collect() };
    let a = context.upload("a", &floats(|i| i as f32))?;
    let b = context.upload("b", &floats(|i| 0.5 * i as f32))?;
    let c = context.alloc("c", 4 * N as usize)?;

    let config = LaunchConfig {
        grid: [N.div_ceil(256), 1, 1],
        block: [256, 1, 1],
        ..LaunchConfig::default()
    };
    let args = [
        KernelArg::Buffer(&a),
        KernelArg::Buffer(&b),
        KernelArg::Buffer(&c),
        KernelArg::U32(N),
    ];
    let report = context.launch(&vector_add, &config, &args)?;

    assert_eq!(context.read(&c)?, floats(|i| 1.5 * i as f32));
    assert_eq!(report.findings, []);
    println!("  warps  sectors  instruction");
    for (instruction, counters) in vector_add.instructions().iter().zip(&report.counters) {
        let (warps, sectors) = (counters.executions, counters.global_sectors);
        println!("{warps:7}  {sectors:7}  {}", instruction.text);
    }

    // One element too many: thread 1000 reads past the end of `a`, and the launch ends there.
    let mut args = args;
    args[3] = KernelArg::U32(N + 1);
    let report = context.launch(&vector_add, &config, &args)?;
    assert!(matches!(
        report.findings[0].kind,
        FindingKind::OutOfBounds { .. }
    ));
    println!("\n{}", report.findings[0]);
    Ok(())
}
