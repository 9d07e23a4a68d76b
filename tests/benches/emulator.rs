//! Lane-instructions a second of the emulator, on one core: `cargo bench -p ladder-tests`.
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use emulator::tensor::{Factor, mma};
use emulator::{Arg, Card, Launch, Memory, Module, Options, Program, Simd};
use ladder_tests::workspace::{read, root};

const SIZE: u32 = 256;

struct Problem {
    program: Program,
    memory: Memory,
    launch: Launch,
}

/// A rung at 256x256x256, with its tile and threads from its own `gemm_launch`.
fn problem(rung: &str) -> Problem {
    let module =
        Module::parse(&read(&root().join("rungs").join(rung).join("kernel.ptx"))).expect("PTX");
    let program = Program::new(&module, "gemm").expect("a kernel");
    let bytes = module.variable("gemm_launch").expect("a launch");
    let numbers: Vec<u32> = bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|&bytes| u32::from_le_bytes(bytes))
        .collect();
    let mut memory = Memory::new(1 << 30);
    // 1.0 everywhere: the emulator's speed does not depend on the values.
    let ones = [0x00, 0x3c].repeat((SIZE * SIZE) as usize);
    let pointers =
        ["A", "B", "C"].map(|name| Arg::U64(memory.alloc(name, ones.clone()).expect("small")));
    let mut args: Vec<Arg> = pointers
        .into_iter()
        .chain([Arg::U32(SIZE), Arg::U32(SIZE), Arg::U32(SIZE)])
        .collect();
    args.resize(program.params().len(), Arg::U32(0));
    let grid = [SIZE / numbers[0] * (SIZE / numbers[1]), 1, 1];
    let launch = Launch {
        grid,
        block: [numbers[3], 1, 1],
        dynamic_shared: numbers[4],
        cluster: [1; 3],
        args,
    };
    Problem {
        program,
        memory,
        launch,
    }
}

fn speed(criterion: &mut Criterion) {
    let one_core = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .expect("a thread");
    for rung in ["01_naive", "02_smem", "03_padded", "04_mma", "05_swizzle"] {
        let Problem {
            program,
            mut memory,
            launch,
        } = problem(rung);
        let counters = emulator::launch(&program, &mut memory, &launch, &Options::default())
            .expect("a run")
            .counters;
        let lanes: u64 = counters.iter().map(|counters| counters.threads).sum();
        println!("{rung}: {lanes} lane-instructions a run");
        let mut group = criterion.benchmark_group(rung);
        group
            .sample_size(20)
            .throughput(Throughput::Elements(lanes));
        let plain = Options::default();
        for (name, options) in [
            ("run", plain),
            (
                "sanitize",
                Options {
                    sanitize: true,
                    ..plain
                },
            ),
            (
                "without SIMD",
                Options {
                    simd: Simd::Scalar,
                    ..plain
                },
            ),
        ] {
            group.bench_function(name, |bencher| {
                one_core.install(|| {
                    bencher.iter(|| {
                        emulator::launch(&program, &mut memory, black_box(&launch), &options)
                            .expect("a run")
                    });
                });
            });
        }
    }
}

/// m16n8k16 a second, on one core.
fn tensor_cores(criterion: &mut Criterion) {
    let a: [u16; 256] = std::array::from_fn(|i| 0x3000 + (i as u16 * 37) % 0x0fff);
    let b: [u16; 128] = std::array::from_fn(|i| 0xb000 + (i as u16 * 91) % 0x0fff);
    let mut group = criterion.benchmark_group("mma.m16n8k16");
    group.throughput(Throughput::Elements(1));
    for (name, factor) in [("f16", Factor::F16), ("bf16", Factor::Bf16)] {
        group.bench_function(name, |bencher| {
            let mut c = [0; 128];
            bencher.iter(|| {
                c = mma::<16, 256, 128>(
                    Card::H100,
                    factor,
                    black_box(&a),
                    black_box(&b),
                    black_box(&c),
                );
            });
        });
    }
}

criterion_group!(benches, speed, tensor_cores);
criterion_main!(benches);
