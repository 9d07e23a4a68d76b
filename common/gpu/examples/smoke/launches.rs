//! Memory, kernels and launches.
use gpu::{Context, GpuError, KernelArg, LaunchConfig};

use super::{Outcome, ensure};

pub fn memory(gpu: &Context) -> Outcome {
    let bytes: Vec<u8> = (0..100_003u32).map(|i| (i * 7) as u8).collect();
    let buffer = gpu.upload("in", &bytes)?;
    ensure(gpu.read(&buffer)? == bytes, "what came back differs")?;
    gpu.write(&buffer, &[9, 8, 7])?;
    ensure(
        gpu.read(&buffer)?[..4] == [9, 8, 7, bytes[3]],
        "write went astray",
    )?;
    gpu.fill(&buffer, 0xff)?;
    ensure(
        gpu.read(&buffer)?.iter().all(|&byte| byte == 0xff),
        "fill left gaps",
    )?;
    ensure(
        gpu.read(&gpu.alloc("out", 77)?)? == [0; 77],
        "a new buffer is not zero",
    )?;
    ensure(
        gpu.alloc("out", 0)?.is_empty(),
        "an empty buffer is not empty",
    )?;
    Ok("upload, write, fill, alloc and download".into())
}

/// out[i] = in[i] + n, with one block of 256 threads per 256 elements.
pub const ADD: &str = "
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

pub fn words(bytes: &[u8]) -> Vec<u32> {
    bytes
        .chunks_exact(4)
        .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]))
        .collect()
}

pub fn plain(grid: u32, block: u32) -> LaunchConfig {
    LaunchConfig {
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        dynamic_shared: 0,
        cluster: [1; 3],
        overlap: false,
        cooperative: false,
    }
}

pub fn kernel(gpu: &Context) -> Outcome {
    let input: Vec<u8> = (0..1024u32).flat_map(|i| (i * i).to_le_bytes()).collect();
    let (from, to) = (gpu.upload("in", &input)?, gpu.alloc("out", 4096)?);
    let add = gpu.load_module(ADD)?.function("add")?;
    gpu.launch(
        &add,
        &plain(4, 256),
        &[
            KernelArg::Buffer(&from),
            KernelArg::Buffer(&to),
            KernelArg::U32(42),
        ],
    )?;
    let got = words(&gpu.read(&to)?);
    ensure(
        got.iter().zip(0..).all(|(&got, i)| got == i * i + 42),
        "wrong sums",
    )?;
    let blocks = add.blocks_per_sm(256, 0)?;
    ensure(
        blocks > 0 && add.registers() > 0 && add.max_threads() >= 256,
        "implausible attributes",
    )?;
    Ok(format!(
        "{} registers, {} + {} bytes, up to {} threads, {blocks} blocks of 256 threads per SM",
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

pub fn dynamic_shared(gpu: &Context) -> Outcome {
    let (kernel, out) = (
        gpu.load_module(SHARED)?.function("last_word")?,
        gpu.alloc("out", 4)?,
    );
    let blocks = kernel.blocks_per_sm(32, 100_000)?;
    ensure(blocks >= 1, "no block fits")?;
    let config = LaunchConfig {
        dynamic_shared: 100_000,
        ..plain(1, 1)
    };
    gpu.launch(&kernel, &config, &[KernelArg::Buffer(&out)])?;
    ensure(words(&gpu.read(&out)?) == [4711], "wrong word")?;
    let too_much = kernel.blocks_per_sm(32, 1 << 20);
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

pub fn cluster(gpu: &Context) -> Outcome {
    if gpu.info().sm.0 < 9 {
        return Ok("skipped: needs sm_90".into());
    }
    let (kernel, out) = (
        gpu.load_module(CLUSTER)?.function("ranks")?,
        gpu.alloc("out", 8 * 4)?,
    );
    let config = LaunchConfig {
        cluster: [4, 1, 1],
        overlap: false,
        cooperative: false,
        ..plain(8, 32)
    };
    gpu.launch(&kernel, &config, &[KernelArg::Buffer(&out)])?;
    ensure(
        words(&gpu.read(&out)?) == [0, 1, 2, 3, 0, 1, 2, 3],
        "wrong ranks",
    )?;
    gpu.launch(&kernel, &plain(8, 32), &[KernelArg::Buffer(&out)])?;
    ensure(
        words(&gpu.read(&out)?) == [0; 8],
        "a cluster without being asked for",
    )?;
    Ok("ranks 0 to 3".into())
}
