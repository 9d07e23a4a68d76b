//! A tile loaded by TMA, with a tensor map.
use gpu::{Context, Element, Fill, KernelArg, Swizzle, TensorMap};

use super::launches::plain;
use super::{Outcome, ensure};

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

pub fn tensor_map(gpu: &Context) -> Outcome {
    if gpu.info().sm.0 < 9 {
        return Ok("skipped: needs sm_90".into());
    }
    // 16 rows of 100 elements, 128 apart; element (row, column) is the number row * 256 + column.
    let element = |row: u16, column: u16| if column < 100 { row * 256 + column } else { 0 };
    let tensor: Vec<u8> = (0..16u16)
        .flat_map(|row| (0..128u16).flat_map(move |column| (row * 256 + column).to_le_bytes()))
        .collect();
    let (tensor, out) = (gpu.upload("in", &tensor)?, gpu.alloc("out", 1024)?);
    let kernel = gpu.load_module(TILE)?.function("fetch")?;
    for swizzle in [Swizzle::None, Swizzle::B128] {
        let map = TensorMap {
            element: Element::U16,
            dimensions: &[100, 16],
            strides: &[256],
            tile: &[64, 8],
            element_strides: &[],
            swizzle,
            fill: Fill::Zeros,
        };
        let map = gpu.tensor_map(&tensor, &map)?;
        let args = [
            KernelArg::Bytes(&map),
            KernelArg::Buffer(&out),
            KernelArg::U32(64),
            KernelArg::U32(8),
        ];
        gpu.launch(&kernel, &plain(1, 1), &args)?;
        let got = gpu.read(&out)?;
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
