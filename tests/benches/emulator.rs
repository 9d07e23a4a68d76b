//! How fast the emulator is: `cargo bench -p ladder-tests`.
//!
//! | group | what it asks | what is wanted |
//! | --- | --- | --- |
//! | a rung's name | lane-instructions a second on one core | 600 million of rung 03; `sanitize` at most 3 times `run` |
//! | `mma.m16n8k16` | matrix instructions a second on one core | |
//! | `text to operations` | how soon PTX can run | |
//! | `as a reader runs it` | a rung with reference and report, on all cores | 5 s at 512, 5 s of rung 05 at 1024 |
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use emulator::tensor::{Factor, mma};
use emulator::{Arg, Card, Launch, Memory, Module, Options, Program, Simd};
use harness::Switch;
use ladder_tests::workspace::{read, root, rung};

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
    for rung in [
        "01_naive",
        "02_smem",
        "03_padded",
        "04_mma",
        "05_swizzle",
        "06_pipeline",
    ] {
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
    for (name, card, factor) in [
        ("f16", Card::H100, Factor::F16),
        ("bf16", Card::H100, Factor::Bf16),
        ("f16 of an A100", Card::A100, Factor::F16),
    ] {
        group.bench_function(name, |bencher| {
            let mut c = [0; 128];
            bencher.iter(|| {
                c = mma::<16, 256, 128>(card, factor, black_box(&a), black_box(&b), black_box(&c));
            });
        });
    }
}

/// Parsing and lowering the longest kernel.
fn lowering(criterion: &mut Criterion) {
    let text = read(&root().join("rungs/06_pipeline/kernel.ptx"));
    let mut group = criterion.benchmark_group("text to operations");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("06_pipeline", |bencher| {
        bencher.iter(|| {
            let module = Module::parse(black_box(&text)).expect("PTX");
            Program::new(&module, "gemm").expect("a kernel")
        });
    });
}

/// All that a reader waits for but the start of the program. Rung 01's switch is a parameter, so it has one here.
fn as_a_reader_runs_it(criterion: &mut Criterion) {
    const SWITCH: [Switch; 1] = [Switch {
        flag: "uncoalesced",
        help: "",
    }];
    let mut group = criterion.benchmark_group("as a reader runs it");
    group.sample_size(10);
    for (name, arch, size) in [
        ("01_naive", "sm_80", "512"),
        ("02_smem", "sm_80", "512"),
        ("03_padded", "sm_80", "512"),
        ("04_mma", "sm_80", "512"),
        ("05_swizzle", "sm_80", "512"),
        ("06_pipeline", "sm_80", "512"),
        ("06_pipeline", "sm_90a", "512"),
        ("05_swizzle", "sm_80", "1024"),
    ] {
        let mut rung = rung(name);
        if name == "01_naive" {
            rung.switches = &SWITCH;
        }
        let words = [
            "rung", "--device", "emulator", "--arch", arch, "--size", size,
        ];
        group.bench_function(format!("{name} {arch} {size}"), |bencher| {
            bencher.iter(|| {
                let mut report = Vec::new();
                let code = harness::rehearse(&rung, &words, &mut report);
                assert_eq!(code, 0, "{}", String::from_utf8_lossy(&report));
            });
        });
    }
}

criterion_group!(benches, speed, tensor_cores, lowering, as_a_reader_runs_it);
criterion_main!(benches);
