//! Kernels with a tensor map as their first parameter and the output's address as their second.
use super::{Outcome, Setup};
use emulator::{Error, KernelArg, Swizzle, TensorMap};

/// A tensor of u16 elements that count from 0, and the map of it.
#[derive(Clone)]
pub struct Tensor<'a> {
    pub map: TensorMap<'a>,
    /// Elements of the allocation.
    pub elements: usize,
}

/// A matrix of this size, in tiles.
pub fn matrix<'a>(
    dimensions: &'a [u64; 2],
    strides: &'a [u64; 1],
    tile: &'a [u32; 2],
    swizzle: Swizzle,
) -> Tensor<'a> {
    Tensor {
        map: TensorMap {
            element: emulator::Element::U16,
            dimensions,
            strides,
            tile,
            element_strides: &[],
            swizzle,
            fill: emulator::Fill::Zeros,
        },
        elements: (dimensions[1] * strides[0] / 2) as usize,
    }
}

/// The module around a body, as [`super::module`]: `%map` holds the tensor map's generic address, `%s` the shared
/// address of `tile` (16 KiB, aligned to 1024), `%bar` that of the first of 8 mbarriers. The body starts at line
/// 23.
pub fn module(body: &str) -> String {
    let mut text = "
.version 8.8\n.target sm_90a\n.address_size 64
.shared .align 1024 .b8 tile[32768]; .shared .align 8 .b64 bars[8];
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 out)
{
.reg .b32 %tid, %s, %bar, %r<32>;
.reg .b64 %map, %out, %at, %d<16>;
.reg .b16 %h<16>;
.reg .pred %p<16>;
mov.u32 %tid, %tid.x;
mov.u32 %s, tile;
mov.u32 %bar, bars;
mov.b64 %map, map;
cvta.param.u64 %map, %map;
ld.param.u64 %out, [out];
mov.u32 %r31, %ctaid.x;
mul.lo.u32 %r31, %r31, 4096;
cvt.u64.u32 %at, %r31;
mad.wide.u32 %at, %tid, 4, %at;
add.u64 %at, %at, %out;
setp.ne.u32 %p0, %tid, 0;
"
    .trim_start()
    .to_string();
    let first = text.lines().count() + 1;
    for (line, statement) in (first..).zip(body.trim_matches('\n').lines()) {
        text += &format!(".loc 1 {line} 0 {statement}\n");
    }
    text + "ret;\n}\n.file 1 \"/home/student/kernel.cu\"\n"
}

/// Runs a body over a tensor; the outcome's words are the output, then the tensor's elements in pairs.
pub fn run(setup: &Setup, tensor: &Tensor<'_>, body: &str) -> Result<Outcome, Error> {
    run_map(setup, tensor, body, |_| {})
}

/// The same with a modified map.
pub fn run_map(
    setup: &Setup,
    tensor: &Tensor<'_>,
    body: &str,
    change: impl Fn(&mut [u8; 128]),
) -> Result<Outcome, Error> {
    let (mut context, function) = setup.context(&module(body));
    let bytes: Vec<u8> = (0..tensor.elements)
        .flat_map(|i| (i as u16).to_le_bytes())
        .collect();
    let data = context.upload("tensor", &bytes).expect("room");
    let out = context.upload("out", &setup.fresh()).expect("room");
    let mut map = context.tensor_map(&data, &tensor.map)?;
    change(&mut map);
    let args = [KernelArg::Bytes(&map), KernelArg::Buffer(&out)];
    setup.launch(&mut context, &function, &args, &[out, data])
}
