//! A kernel compiled by NVRTC.
use gpu::{Context, GpuError, KernelArg, Nvrtc};

use super::launches::{plain, words};
use super::{Outcome, ensure};

pub fn nvrtc(gpu: &Context) -> Outcome {
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
    let kernel = gpu.load_module(&compiled.ptx)?.function("triple")?;
    let input: Vec<u8> = (0..32u32).flat_map(u32::to_le_bytes).collect();
    let (from, to) = (gpu.upload("in", &input)?, gpu.alloc("out", 128)?);
    gpu.launch(
        &kernel,
        &plain(1, 32),
        &[KernelArg::Buffer(&from), KernelArg::Buffer(&to)],
    )?;
    ensure(
        words(&gpu.read(&to)?)
            .iter()
            .zip(0..)
            .all(|(&got, i)| got == 3 * i),
        "wrong products",
    )?;
    Ok(format!("{:?} from {:?}", nvrtc.version(), nvrtc.path()))
}
