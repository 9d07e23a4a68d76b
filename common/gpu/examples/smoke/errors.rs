//! Errors, and that the GPU remains usable after them.
use gpu::{Context, GpuError, KernelArg};

use super::launches::{ADD, plain};
use super::{Outcome, ensure};

pub fn errors(gpu: &Context) -> Outcome {
    let broken = ADD.replace("add.s32", "add.s99");
    match gpu.load_module(&broken).err() {
        Some(GpuError::Load { log, .. }) if log.contains("s99") => {}
        other => return Err(format!("broken PTX: {other:?}").into()),
    }
    match gpu.load_module(ADD)?.function("subtract").err() {
        Some(GpuError::NoKernel { .. }) => {}
        other => return Err(format!("no such entry: {other:?}").into()),
    }
    let (add, buffer) = (gpu.load_module(ADD)?.function("add")?, gpu.alloc("out", 4)?);
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
    match gpu.alloc("out", 1 << 50).err() {
        Some(GpuError::Driver { .. }) => {}
        other => return Err(format!("2^50 bytes: {other:?}").into()),
    }
    let beyond = Context::open(1000).err();
    ensure(
        matches!(beyond, Some(GpuError::NoSuchDevice { .. })),
        "GPU 1000 opened",
    )?;
    gpu.synchronize()?;
    Ok("each refused by name, and the GPU still works".into())
}
