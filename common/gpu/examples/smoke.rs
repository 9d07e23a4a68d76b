//! Exercises everything in this crate that needs a GPU. Prints a line for each step; exits 1 if any
//! failed.
//!
//! `cargo run -p gpu --example smoke`
use gpu::{
    Buffer, Contestant, Cublas, CublasLt, Gpu, GpuError, KernelArg, LaunchConfig, Nvrtc, Samples,
    Swizzle, Telemetry, TensorMap, Timing, alternate,
};
use half::f16;
use std::error::Error;
use std::process::ExitCode;

type Outcome = Result<String, Box<dyn Error>>;
type Step = fn(&Gpu) -> Outcome;

fn main() -> ExitCode {
    let gpu = match gpu::devices().and_then(|_| Gpu::open(0)) {
        Ok(gpu) => gpu,
        Err(error) => {
            println!("FAILED open: {error}");
            return ExitCode::FAILURE;
        }
    };
    println!("{:?}, driver {:?}", gpu.info(), gpu::driver_version());
    let steps: [(&str, Step); 13] = [
        ("memory", memory),
        ("kernel", kernel),
        ("dynamic shared memory", dynamic_shared),
        ("cluster", cluster),
        ("tensor map", tensor_map),
        ("NVRTC", nvrtc),
        ("errors", errors),
        ("cuBLAS f16", cublas_f16),
        ("cuBLAS f16 to f32", cublas_f16_to_f32),
        ("cuBLAS f32", cublas_f32),
        ("cuBLASLt", cublaslt),
        ("alternate", alternation),
        ("telemetry", telemetry),
    ];
    let mut failed = false;
    for (name, step) in steps {
        match step(&gpu) {
            Ok(detail) => println!("OK {name}: {detail}"),
            Err(error) => {
                println!("FAILED {name}: {error}");
                failed = true;
            }
        }
    }
    if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// An error unless `truth` holds.
fn ensure(truth: bool, what: impl Into<String>) -> Result<(), Box<dyn Error>> {
    if truth {
        Ok(())
    } else {
        Err(what.into().into())
    }
}

fn memory(gpu: &Gpu) -> Outcome {
    let bytes: Vec<u8> = (0..100_003u32).map(|i| (i * 7) as u8).collect();
    let mut buffer = gpu.upload(&bytes)?;
    ensure(gpu.download(&buffer)? == bytes, "what came back differs")?;
    gpu.write(&mut buffer, &[9, 8, 7])?;
    ensure(
        gpu.download(&buffer)?[..4] == [9, 8, 7, bytes[3]],
        "write went astray",
    )?;
    gpu.fill(&mut buffer, 0xff)?;
    ensure(
        gpu.download(&buffer)?.iter().all(|&byte| byte == 0xff),
        "fill left gaps",
    )?;
    ensure(
        gpu.download(&gpu.alloc(77)?)? == [0; 77],
        "a new buffer is not zero",
    )?;
    ensure(gpu.alloc(0)?.is_empty(), "an empty buffer is not empty")?;
    Ok("upload, write, fill, alloc and download".into())
}

/// out[i] = in[i] + n, one block of 256 threads a 256 elements.
const ADD: &str = "
.version 7.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 in, .param .u64 out, .param .u32 n)
{
    .reg .b32 %r<8>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r2, 256, %r3;
    mul.wide.u32 %rd3, %r4, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.u32 %r5, [%rd4];
    add.s32 %r6, %r5, %r1;
    st.global.u32 [%rd5], %r6;
    ret;
}";

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes
        .chunks_exact(4)
        .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]))
        .collect()
}

fn plain(grid: u32, block: u32) -> LaunchConfig {
    LaunchConfig {
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        dynamic_shared: 0,
        cluster: 1,
        overlap: false,
    }
}

fn kernel(gpu: &Gpu) -> Outcome {
    let input: Vec<u8> = (0..1024u32).flat_map(|i| (i * i).to_le_bytes()).collect();
    let (from, to) = (gpu.upload(&input)?, gpu.alloc(4096)?);
    let add = gpu.load(ADD, "add")?;
    gpu.launch(
        &add,
        &plain(4, 256),
        &[
            KernelArg::Buffer(&from),
            KernelArg::Buffer(&to),
            KernelArg::U32(42),
        ],
    )?;
    let got = words(&gpu.download(&to)?);
    ensure(
        got.iter().zip(0..).all(|(&got, i)| got == i * i + 42),
        "wrong sums",
    )?;
    let blocks = add.blocks_per_multiprocessor(256, 0)?;
    ensure(
        blocks > 0 && add.registers() > 0 && add.max_threads() >= 256,
        "implausible attributes",
    )?;
    Ok(format!(
        "{} registers, {} + {} bytes, up to {} threads, {blocks} blocks of 256 a multiprocessor",
        add.registers(),
        add.static_shared(),
        add.local_bytes(),
        add.max_threads(),
    ))
}

/// Writes to the last word of 100,000 bytes of dynamic shared memory and stores what it reads back.
const SHARED: &str = "
.version 7.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 pool[];
.visible .entry last_word(.param .u64 out)
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, pool;
    mov.u32 %r2, 4711;
    st.volatile.shared.u32 [%r1+99996], %r2;
    ld.volatile.shared.u32 %r3, [%r1+99996];
    st.global.u32 [%rd1], %r3;
    ret;
}";

fn dynamic_shared(gpu: &Gpu) -> Outcome {
    let (kernel, out) = (gpu.load(SHARED, "last_word")?, gpu.alloc(4)?);
    let blocks = kernel.blocks_per_multiprocessor(32, 100_000)?;
    ensure(blocks >= 1, "no block fits")?;
    let config = LaunchConfig {
        dynamic_shared: 100_000,
        ..plain(1, 1)
    };
    gpu.launch(&kernel, &config, &[KernelArg::Buffer(&out)])?;
    ensure(words(&gpu.download(&out)?) == [4711], "wrong word")?;
    let too_much = kernel.blocks_per_multiprocessor(32, 1 << 20);
    ensure(
        matches!(too_much, Err(GpuError::SharedMemory { .. })),
        "1 MiB was not refused",
    )?;
    Ok(format!("100,000 bytes, {blocks} blocks a multiprocessor"))
}

/// out[block] = this block's rank in its cluster.
const CLUSTER: &str = "
.version 7.8
.target sm_90
.address_size 64
.visible .entry ranks(.param .u64 out)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %cluster_ctarank;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r2;
    ret;
}";

fn cluster(gpu: &Gpu) -> Outcome {
    if gpu.info().sm.0 < 9 {
        return Ok("skipped: needs sm_90".into());
    }
    let (kernel, out) = (gpu.load(CLUSTER, "ranks")?, gpu.alloc(8 * 4)?);
    let config = LaunchConfig {
        cluster: 4,
        overlap: false,
        ..plain(8, 32)
    };
    gpu.launch(&kernel, &config, &[KernelArg::Buffer(&out)])?;
    ensure(
        words(&gpu.download(&out)?) == [0, 1, 2, 3, 0, 1, 2, 3],
        "wrong ranks",
    )?;
    gpu.launch(&kernel, &plain(8, 32), &[KernelArg::Buffer(&out)])?;
    ensure(
        words(&gpu.download(&out)?) == [0; 8],
        "a cluster without being asked for",
    )?;
    Ok("ranks 0 to 3".into())
}

/// Copies the tile of 64 x 8 f16 at (x, y) to shared memory by TMA, and from there, in order, to out.
const TILE: &str = "
.version 8.0
.target sm_90
.address_size 64
.shared .align 1024 .b8 tile[1024];
.shared .align 8 .b64 arrived;
.visible .entry fetch(.param .align 64 .b8 map[128], .param .u64 out, .param .u32 x, .param .u32 y)
{
    .reg .pred %p<3>;
    .reg .b32 %r<8>;
    .reg .b64 %rd<6>;
    mov.b64 %rd1, map;
    cvta.param.u64 %rd2, %rd1;
    ld.param.u64 %rd3, [out];
    ld.param.u32 %r1, [x];
    ld.param.u32 %r2, [y];
    mov.u32 %r3, tile;
    mov.u32 %r4, arrived;
    mbarrier.init.shared::cta.b64 [%r4], 1;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4], 1024;
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd2, {%r1, %r2}], [%r4];
WAIT:
    mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r4], 0;
    @!%p1 bra WAIT;
    mov.u32 %r5, 0;
COPY:
    ld.shared.u32 %r6, [%r3];
    st.global.u32 [%rd3], %r6;
    add.u32 %r3, %r3, 4;
    add.u64 %rd3, %rd3, 4;
    add.u32 %r5, %r5, 4;
    setp.lt.u32 %p2, %r5, 1024;
    @%p2 bra COPY;
    ret;
}";

fn tensor_map(gpu: &Gpu) -> Outcome {
    if gpu.info().sm.0 < 9 {
        return Ok("skipped: needs sm_90".into());
    }
    // 16 rows of 100 elements, 128 apart; element (row, column) is the number row * 256 + column.
    let element = |row: u16, column: u16| if column < 100 { row * 256 + column } else { 0 };
    let tensor: Vec<u8> = (0..16u16)
        .flat_map(|row| (0..128u16).flat_map(move |column| (row * 256 + column).to_le_bytes()))
        .collect();
    let (tensor, out) = (gpu.upload(&tensor)?, gpu.alloc(1024)?);
    let kernel = gpu.load(TILE, "fetch")?;
    for swizzle in [Swizzle::None, Swizzle::B128] {
        let map = TensorMap {
            dimensions: &[100, 16],
            strides: &[256],
            tile: &[64, 8],
            swizzle,
        };
        let map = gpu.tensor_map(&tensor, &map)?;
        let args = [
            KernelArg::Bytes(&map),
            KernelArg::Buffer(&out),
            KernelArg::U32(64),
            KernelArg::U32(8),
        ];
        gpu.launch(&kernel, &plain(1, 1), &args)?;
        let got = gpu.download(&out)?;
        for (row, column) in (0..8u16).flat_map(|row| (0..64u16).map(move |column| (row, column))) {
            let address = usize::from(row * 128 + column * 2);
            let flip = if swizzle == Swizzle::B128 {
                (address >> 7 & 7) << 4
            } else {
                0
            };
            let found = u16::from_le_bytes([got[address ^ flip], got[(address ^ flip) + 1]]);
            let want = element(row + 8, column + 64);
            ensure(
                found == want,
                format!("{swizzle:?} ({row}, {column}): {found}, not {want}"),
            )?;
        }
    }
    Ok("a ragged tile, plain and swizzled".into())
}

fn nvrtc(gpu: &Gpu) -> Outcome {
    let nvrtc = match Nvrtc::find() {
        Err(GpuError::NoNvrtc { .. }) => return Ok("skipped: no NVRTC".into()),
        found => found?,
    };
    let source = "extern \"C\" __global__ void triple(const unsigned *in, unsigned *out) {
        out[threadIdx.x] = 3 * in[threadIdx.x]; }";
    let (major, minor) = gpu.info().sm;
    let compiled = nvrtc.compile(
        source,
        "/smoke.cu",
        &[format!("--gpu-architecture=compute_{major}{minor}")],
    )?;
    let kernel = gpu.load(&compiled.ptx, "triple")?;
    let input: Vec<u8> = (0..32u32).flat_map(u32::to_le_bytes).collect();
    let (from, to) = (gpu.upload(&input)?, gpu.alloc(128)?);
    gpu.launch(
        &kernel,
        &plain(1, 32),
        &[KernelArg::Buffer(&from), KernelArg::Buffer(&to)],
    )?;
    ensure(
        words(&gpu.download(&to)?)
            .iter()
            .zip(0..)
            .all(|(&got, i)| got == 3 * i),
        "wrong products",
    )?;
    Ok(format!("{:?} from {:?}", nvrtc.version(), nvrtc.path()))
}

fn errors(gpu: &Gpu) -> Outcome {
    let broken = ADD.replace("add.s32", "add.s99");
    match gpu.load(&broken, "add").err() {
        Some(GpuError::Load { log, .. }) if log.contains("s99") => {}
        other => return Err(format!("broken PTX: {other:?}").into()),
    }
    match gpu.load(ADD, "subtract").err() {
        Some(GpuError::NoEntry { .. }) => {}
        other => return Err(format!("no such entry: {other:?}").into()),
    }
    let (add, buffer) = (gpu.load(ADD, "add")?, gpu.alloc(4)?);
    match gpu
        .launch(&add, &plain(1, 1), &[KernelArg::Buffer(&buffer)])
        .err()
    {
        Some(GpuError::Arguments { .. }) => {}
        other => return Err(format!("missing arguments: {other:?}").into()),
    }
    let args = [
        KernelArg::Buffer(&buffer),
        KernelArg::Buffer(&buffer),
        KernelArg::U32(0),
    ];
    match gpu.launch(&add, &plain(1, 4096), &args).err() {
        Some(GpuError::Driver { .. }) => {}
        other => return Err(format!("4096 threads a block: {other:?}").into()),
    }
    match gpu.alloc(1 << 50).err() {
        Some(GpuError::Driver { .. }) => {}
        other => return Err(format!("2^50 bytes: {other:?}").into()),
    }
    let beyond = Gpu::open(1000).err();
    ensure(
        matches!(beyond, Some(GpuError::NoSuchDevice { .. })),
        "GPU 1000 opened",
    )?;
    gpu.synchronize()?;
    Ok("each refused by name, and the GPU still works".into())
}

/// Small whole numbers, so that every product and sum of a K of 256 is exact in f16 and f32.
fn numbers(count: usize, seed: usize) -> Vec<f32> {
    (0..count)
        .map(|i| ((i + seed).wrapping_mul(2_654_435_761) >> 13) % 5)
        .map(|n| n as f32 - 2.0)
        .collect()
}

fn as_f16(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|&value| f16::from_f32(value).to_le_bytes())
        .collect()
}

fn as_f32(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect()
}

/// Not square, so that swapped dimensions show.
const SHAPE: [usize; 3] = [256, 128, 192];

/// A, B and C = A B on the host.
fn product() -> [Vec<f32>; 3] {
    let [m, n, k] = SHAPE;
    let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
    let c = (0..m * n)
        .map(|i| (0..k).map(|j| a[i / n * k + j] * b[j * n + i % n]).sum())
        .collect();
    [a, b, c]
}

type Gemm = fn(&Cublas, &Buffer, &Buffer, &Buffer, usize, usize, usize) -> Result<(), GpuError>;

fn check_gemm(
    gpu: &Gpu,
    input: fn(&[f32]) -> Vec<u8>,
    output: fn(&[f32]) -> Vec<u8>,
    gemm: Gemm,
) -> Outcome {
    let cublas = Cublas::new(gpu)?;
    let [a, b, c] = product();
    let (a, b, want) = (gpu.upload(&input(&a))?, gpu.upload(&input(&b))?, output(&c));
    let got = gpu.alloc(want.len())?;
    let [m, n, k] = SHAPE;
    gemm(&cublas, &a, &b, &got, m, n, k)?;
    ensure(gpu.download(&got)? == want, "C differs from the host's")?;
    let short = gemm(&cublas, &a, &b, &got, m, n, k + 1);
    ensure(
        matches!(short, Err(GpuError::Size { .. })),
        "a short operand was not refused",
    )?;
    Ok(format!(
        "version {}, {m} x {n} x {k} exact",
        cublas.version()
    ))
}

fn cublas_f16(gpu: &Gpu) -> Outcome {
    check_gemm(gpu, as_f16, as_f16, Cublas::gemm_f16)
}

fn cublas_f16_to_f32(gpu: &Gpu) -> Outcome {
    check_gemm(gpu, as_f16, as_f32, Cublas::gemm_f16_to_f32)
}

fn cublas_f32(gpu: &Gpu) -> Outcome {
    check_gemm(gpu, as_f32, as_f32, Cublas::gemm_f32)
}

fn cublaslt(gpu: &Gpu) -> Outcome {
    let [a, b, c] = product();
    let (a, b, want) = (
        gpu.upload(&as_f16(&a))?,
        gpu.upload(&as_f16(&b))?,
        as_f16(&c),
    );
    let mut got = gpu.alloc(want.len())?;
    let [m, n, k] = SHAPE;
    let lt = CublasLt::tune(gpu, &a, &b, &got, m, n, k)?;
    gpu.fill(&mut got, 0xff)?;
    lt.run(&a, &b, &got)?;
    ensure(gpu.download(&got)? == want, "C differs from the host's")?;
    Ok(format!("version {}, {m} x {n} x {k} exact", lt.version()))
}

fn alternation(gpu: &Gpu) -> Outcome {
    const N: usize = 1024;
    const ROTATIONS: usize = 12; // 12 x 6 MiB: more than any L2 cache
    let matrix = |seed| gpu.upload(&as_f16(&numbers(N * N, seed)));
    let sets = (0..ROTATIONS)
        .map(|i| Ok([matrix(2 * i)?, matrix(2 * i + 1)?, gpu.alloc(N * N * 2)?]))
        .collect::<Result<Vec<[Buffer; 3]>, GpuError>>()?;
    let cublas = Cublas::new(gpu)?;
    let lt = CublasLt::tune(gpu, &sets[0][0], &sets[0][1], &sets[0][2], N, N, N)?;
    let add = gpu.load(ADD, "add")?;
    let add_args = |set: &[Buffer; 3]| {
        let args = [
            KernelArg::Buffer(&set[0]),
            KernelArg::Buffer(&set[2]),
            KernelArg::U32(1),
        ];
        gpu.launch(&add, &plain(1024, 256), &args)
    };
    let contestants = [
        Contestant {
            name: "cublas".into(),
            enqueue: Box::new(|i| cublas.gemm_f16(&sets[i][0], &sets[i][1], &sets[i][2], N, N, N)),
        },
        Contestant {
            name: "cublaslt".into(),
            enqueue: Box::new(|i| lt.run(&sets[i][0], &sets[i][1], &sets[i][2])),
        },
        Contestant {
            name: "add".into(),
            enqueue: Box::new(|i| add_args(&sets[i])),
        },
    ];
    let mut report = String::new();
    for graph in [false, true] {
        let timing = Timing {
            rounds: 20,
            warmup: 5,
            launches_per_sample: 24,
            graph,
            rotations: ROTATIONS,
        };
        let all = alternate(gpu, &contestants, &timing)?;
        report += &format!("\n  graph: {graph}");
        for samples in &all {
            ensure(samples.milliseconds.len() == 20, "a sample is missing")?;
            ensure(
                samples.min() > 1e-4 && samples.max() < 10.0,
                format!("implausible: {samples:?}"),
            )?;
            report += &line(samples, N);
        }
    }
    let failing = [Contestant {
        name: "none".into(),
        enqueue: Box::new(|_| Err(GpuError::NoDevice)),
    }];
    let timing = Timing {
        warmup: 0,
        graph: true,
        ..Timing::default()
    };
    ensure(
        alternate(gpu, &failing, &timing).is_err(),
        "a failing contestant was timed",
    )?;
    ensure(
        gpu.download(&sets[0][2]).is_ok(),
        "the stream is stuck in a capture",
    )?;
    Ok(report)
}

fn line(samples: &Samples, n: usize) -> String {
    let (name, median, spread) = (&samples.name, samples.median(), samples.spread());
    let tflops = 2.0 * (n as f64).powi(3) / median / 1e9;
    format!(
        "\n    {name:8} {median:.5} ms, {tflops:.0} TFLOP/s if a product, spread {:.1}%",
        spread * 100.0
    )
}

fn telemetry(gpu: &Gpu) -> Outcome {
    const N: usize = 4096;
    let (a, b) = (
        gpu.upload(&as_f16(&numbers(N * N, 1)))?,
        gpu.upload(&as_f16(&numbers(N * N, 2)))?,
    );
    let c = gpu.alloc(N * N * 2)?;
    let cublas = Cublas::new(gpu)?;
    let (ran, telemetry) = Telemetry::during(gpu, || {
        for _ in 0..2000 {
            cublas.gemm_f16(&a, &b, &c, N, N, N)?;
        }
        gpu.synchronize()
    });
    ran?;
    match telemetry {
        None => Ok("none offered".into()),
        Some(telemetry) => {
            ensure(
                telemetry.sm_mhz.max > 100.0 && telemetry.samples > 2,
                format!("implausible: {telemetry:?}"),
            )?;
            Ok(format!("{telemetry:?}"))
        }
    }
}
