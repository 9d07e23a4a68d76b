//! The speed of the emulator: `cargo bench -p ladder-tests`.
//!
//! | group | measures | goal |
//! | --- | --- | --- |
//! | a rung's name | thread instructions per second on one core | 600 million of rung 03; `sanitize` at most 3 times `run` |
//! | `tests/kernels/hopper` | the same of kernels outside the ladder, of TMA and `wgmma`; needs NVRTC | |
//! | `mma.m16n8k16` | matrix instructions per second on one core | |
//! | `text to operations` | time to parse and lower PTX | |
//! | `as a reader runs it` | a rung with reference and report, on all cores | 5 s at 512, 5 s of rung 05 at 1024 |
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use emulator::tensor::{Factor, mma};
use emulator::{
    Buffer, Card, Context, Element, Fill, Function, KernelArg, LaunchConfig, LaunchReport, Options,
    Simd, Swizzle, TensorMap,
};
use harness::{Nvrtc, Source, Switch, random_matrix};
use ladder_tests::workspace::{read, root, rung};

const SIZE: u32 = 256;

struct Problem {
    context: Context,
    function: Function,
    config: LaunchConfig,
    matrices: [Buffer; 3],
}

impl Problem {
    fn launch(&mut self) -> LaunchReport {
        let mut args: Vec<KernelArg<'_>> = self.matrices.iter().map(KernelArg::Buffer).collect();
        args.extend([KernelArg::U32(SIZE); 3]);
        args.resize(self.function.params().len(), KernelArg::U32(0));
        let launched = self.context.launch(&self.function, &self.config, &args);
        launched.expect("a run")
    }
}

/// A rung at 256x256x256, with its tile and threads from its own `gemm_launch`.
fn problem(rung: &str) -> Problem {
    let mut context = Context::new(Options::default());
    let ptx = read(&root().join("rungs").join(rung).join("kernel.ptx"));
    let module = context.load_module(&ptx).expect("PTX");
    let function = module.function("gemm").expect("a kernel");
    let launch = module.global("gemm_launch").expect("a launch");
    let bytes = context.read(&launch).expect("its numbers");
    let numbers: Vec<u32> = bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|&bytes| u32::from_le_bytes(bytes))
        .collect();
    // 1.0 everywhere: the emulator's speed does not depend on the values.
    let ones = [0x00, 0x3c].repeat((SIZE * SIZE) as usize);
    let matrices = ["A", "B", "C"].map(|name| context.upload(name, &ones).expect("small"));
    let grid = [SIZE / numbers[0] * (SIZE / numbers[1]), 1, 1];
    let config = LaunchConfig {
        grid,
        block: [numbers[3], 1, 1],
        dynamic_shared: numbers[4],
        ..LaunchConfig::default()
    };
    Problem {
        context,
        function,
        config,
        matrices,
    }
}

fn one_core() -> rayon::ThreadPool {
    let one = rayon::ThreadPoolBuilder::new().num_threads(1);
    one.build().expect("a thread")
}

fn speed(criterion: &mut Criterion) {
    let one_core = one_core();
    for rung in [
        "01_naive",
        "02_smem",
        "03_padded",
        "04_mma",
        "05_swizzle",
        "06_pipeline",
    ] {
        let mut problem = problem(rung);
        let counters = problem.launch().counters;
        let lanes: u64 = counters.iter().map(|counters| counters.threads).sum();
        println!("{rung}: {lanes} lane-instructions a run");
        let mut group = criterion.benchmark_group(rung);
        group
            .sample_size(20)
            .throughput(Throughput::Elements(lanes));
        let plain = Options::default();
        for (name, options) in [
            ("run", plain.clone()),
            (
                "sanitize",
                Options {
                    sanitize: true,
                    ..plain.clone()
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
            *problem.context.options_mut() = options;
            group.bench_function(name, |bencher| {
                one_core.install(|| bencher.iter(|| black_box(&mut problem).launch()));
            });
        }
    }
}

/// A kernel of `tests/kernels/hopper`, launched at 512x512x512 as the head of its file says.
struct Foreign {
    name: &'static str,
    config: LaunchConfig,
    /// The boxes of A and B: rows and columns.
    boxes: [[u32; 2]; 2],
}

fn foreign(criterion: &mut Criterion) {
    let Ok(nvrtc) = Nvrtc::find() else {
        println!("tests/kernels/hopper: not measured, because NVRTC was not found");
        return;
    };
    let config = |grid, threads, cluster, dynamic_shared| LaunchConfig {
        grid,
        block: [threads, 1, 1],
        cluster: [cluster, 1, 1],
        dynamic_shared,
        ..LaunchConfig::default()
    };
    for kernel in [
        Foreign {
            name: "one_stage_64x64",
            config: config([8, 8, 1], 128, 1, 17_408),
            boxes: [[64, 64]; 2],
        },
        Foreign {
            name: "multicast",
            config: config([4, 2, 1], 384, 2, 197_632),
            boxes: [[128, 64]; 2],
        },
    ] {
        kernel.measure(criterion, &nvrtc);
    }
}

impl Foreign {
    fn measure(&self, criterion: &mut Criterion, nvrtc: &Nvrtc) {
        const SIZE: u32 = 512;
        let folder = root().join("tests/kernels/hopper");
        let header = read(&folder.join("tma_wgmma.cuh")).replace("#pragma once", "");
        let file = format!("{}.cu", self.name);
        let text = read(&folder.join(&file)).replace("#include \"tma_wgmma.cuh\"", &header);
        let source = Source::compiled(&file, &text, "sm_90a", &[], nvrtc).expect("PTX");
        let mut context = Context::new(Options::default());
        let module = context.load_module(&source.ptx).expect("PTX");
        let name = module.functions().next().expect("a kernel");
        let function = module.function(name).expect("a kernel");
        let numbers = random_matrix(1, 0, SIZE, SIZE).into_iter();
        let bytes: Vec<u8> = numbers
            .flat_map(|number| Factor::Bf16.nearest(number.into()).to_le_bytes())
            .collect();
        let [a, b, c] = ["A", "B", "C"].map(|name| context.upload(name, &bytes).expect("small"));
        let maps = [(&a, self.boxes[0]), (&b, self.boxes[1])].map(|(matrix, [rows, columns])| {
            let map = TensorMap {
                element: Element::Bf16,
                dimensions: &[SIZE.into(); 2],
                strides: &[2 * u64::from(SIZE)],
                tile: &[columns, rows],
                element_strides: &[],
                swizzle: Swizzle::B128,
                fill: Fill::Zeros,
            };
            context.tensor_map(matrix, &map).expect("a map")
        });
        let [a, b] = maps.each_ref().map(|map| KernelArg::Bytes(map));
        let args = [
            a,
            b,
            KernelArg::Buffer(&c),
            KernelArg::U32(SIZE),
            KernelArg::U32(SIZE),
        ];
        let mut launch = || {
            context
                .launch(&function, &self.config, &args)
                .expect("a run")
        };
        let lanes: u64 = launch().counters.iter().map(|one| one.threads).sum();
        println!("{}: {lanes} lane-instructions a run", self.name);
        let mut group = criterion.benchmark_group("tests/kernels/hopper");
        group
            .sample_size(20)
            .throughput(Throughput::Elements(lanes));
        let one_core = one_core();
        group.bench_function(self.name, |bencher| {
            one_core.install(|| bencher.iter(|| black_box(launch())));
        });
    }
}

/// m16n8k16 per second on one core.
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
            let module = Context::new(Options::default()).load_module(black_box(&text));
            module
                .and_then(|module| module.function("gemm"))
                .expect("a kernel")
        });
    });
}

/// Everything that a reader waits for except the start of the program. Rung 01's switch is a parameter, so it has one
/// here.
fn as_a_reader_runs_it(criterion: &mut Criterion) {
    const SWITCH: [Switch; 1] = [Switch {
        name: "uncoalesced",
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
        ("08_warp_tile", "sm_80", "512"),
        ("10_wgmma", "sm_90a", "512"),
        ("13_persistent", "sm_90a", "512"),
        ("16_stream_k", "sm_90a", "1024"),
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
                let code = harness::main_with(&rung, &words, &mut report);
                assert_eq!(code, 0, "{}", String::from_utf8_lossy(&report));
            });
        });
    }
}

criterion_group!(
    benches,
    speed,
    foreign,
    tensor_cores,
    lowering,
    as_a_reader_runs_it
);
criterion_main!(benches);
