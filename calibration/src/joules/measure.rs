//! Measures each load with each of its operand values, alone, at the clock that the power limit allows.
use anyhow::{Context as _, Result, bail};
use gpu::{
    Buffer, Contestant, Context, Cublas, Elements, GpuError, KernelArg, LaunchConfig, Nvrtc, Timing,
};

use harness::{Alone, OnGpu, Pass, Provenance, Size, contestant, passes, sides, to_bytes};

use super::kernel::{self, ENTRY, Launch, Values};

/// Turns of the kernel's loop in a launch of about 20 ms, so that the gaps between launches are negligible. The sums
/// end with 4096 products each.
const TURNS: u32 = 12_800;
/// The size of cuBLAS's product.
const SIZE: Size = Size::cube(8192);

/// The result of the measurement.
#[derive(Clone, Debug)]
pub struct Measured {
    /// A row for each load and kind of values.
    pub rows: Vec<Row>,
    /// The provenance of the numbers.
    pub provenance: Provenance,
}

/// One load with one kind of values.
#[derive(Clone, Debug)]
pub struct Row {
    /// `wgmma` or `cuBLAS f16 8192`.
    pub load: &'static str,
    /// The values of the operands.
    pub values: &'static str,
    /// The measurement.
    pub alone: Alone,
}

/// The loads, in the order in which they are measured.
const LOADS: [(&str, Values); 5] = [
    (WGMMA, Values::Zeros),
    (WGMMA, Values::Ones),
    (WGMMA, Values::Normal),
    (CUBLAS, Values::Zeros),
    (CUBLAS, Values::Normal),
];
const WGMMA: &str = "wgmma";
const CUBLAS: &str = "cuBLAS f16 8192";

/// Measures all loads on this GPU; calls `progress` with a message for each step.
///
/// # Errors
/// Without a GPU of compute capability 9.0, NVRTC or cuBLAS; if a product is wrong.
pub fn measure(ordinal: usize, progress: &mut dyn FnMut(&str)) -> Result<Measured> {
    let gpu = open(ordinal)?;
    let nvrtc = Nvrtc::find()?;
    let cublas = Cublas::new(&gpu)?;
    let ptx = kernel::compile(&nvrtc)?;
    let launch = Launch::of(&ptx)?;
    let kernel = gpu.load_module(&ptx)?.function(ENTRY)?;
    let info = gpu.info();
    let config = LaunchConfig {
        grid: [info.sms, 1, 1],
        block: [launch.threads, 1, 1],
        // More than half of an SM's shared memory, so that each SM holds one block.
        dynamic_shared: launch
            .shared_bytes
            .max(info.shared_per_block_optin / 2 + 1024),
        ..LaunchConfig::default()
    };

    let mut of_kernel = Vec::new();
    for (_, values) in LOADS.iter().filter(|(load, _)| *load == WGMMA) {
        let data = values.data();
        let check = gpu.alloc("check", 16 * (info.sms * launch.threads) as usize)?;
        let buffers = [gpu.upload("data", &to_bytes(&data))?, check];
        let args = args(&buffers);
        gpu.launch(&kernel, &config, &args)?;
        kernel::verify(&data, &launch, TURNS, &gpu.read(&buffers[1])?)
            .with_context(|| format!("{WGMMA} with {} was not measured", values.name()))?;
        of_kernel.push(buffers);
    }
    let [m, n, k] = sides(SIZE);
    let c = gpu.alloc("C", 2 * m * n)?;
    let mut of_cublas = Vec::new();
    for (_, values) in LOADS.iter().filter(|(load, _)| *load == CUBLAS) {
        of_cublas.push([
            gpu.upload("A", &to_bytes(&values.matrix(SIZE.m, SIZE.k, 0)))?,
            gpu.upload("B", &to_bytes(&values.matrix(SIZE.k, SIZE.n, 1)))?,
        ]);
    }

    let mut contestants: Vec<Contestant<'_>> = Vec::new();
    for buffers in &of_kernel {
        let (gpu, kernel, config) = (&gpu, &kernel, &config);
        let run = move |_| gpu.launch(kernel, config, &args(buffers));
        contestants.push(contestant(WGMMA, run));
    }
    for [a, b] in &of_cublas {
        let (cublas, c) = (&cublas, &c);
        let run = move |_| cublas.gemm(Elements::F16, [a, b, c], [m, n, k]);
        contestants.push(contestant(CUBLAS, run));
    }
    progress("each load alone, twice: half a minute altogether");
    let base = Timing {
        warmup: 1,
        launches_per_sample: 1,
        ..Timing::default()
    };
    let passes = passes(&gpu, &contestants, &base)?;
    let row = |((load, values), passes): (&(&'static str, Values), &[Pass; 2])| {
        let flop = match *load {
            WGMMA => f64::from(launch.flop) * f64::from(TURNS) * f64::from(info.sms),
            _ => SIZE.flop(),
        };
        Row {
            load,
            values: values.name(),
            alone: Alone::new(load, None, passes, flop, info),
        }
    };
    let (major, minor) = nvrtc.version();
    let compiler = format!("compiled by NVRTC {major}.{minor}");
    let mut provenance = Provenance::of("calibration/src/joules/wgmma.cu".into(), compiler);
    provenance.gpu = Some(OnGpu::new(info, Some(cublas.version())));
    Ok(Measured {
        rows: LOADS.iter().zip(&passes).map(row).collect(),
        provenance,
    })
}

/// The kernel's arguments.
fn args([data, check]: &[Buffer; 2]) -> [KernelArg<'_>; 3] {
    [
        KernelArg::Buffer(data),
        KernelArg::Buffer(check),
        KernelArg::U32(TURNS),
    ]
}

/// Opens the GPU of this number, if it has `wgmma`.
fn open(ordinal: usize) -> Result<Context> {
    let gpu = match Context::open(ordinal) {
        Ok(gpu) => gpu,
        Err(GpuError::NoDriver) => bail!(no_gpu("no NVIDIA driver was found")),
        Err(GpuError::NoDevice) => bail!(no_gpu("the NVIDIA driver sees no GPU")),
        Err(error) => return Err(error.into()),
    };
    let info = gpu.info();
    let (major, minor) = info.sm;
    if info.sm != (9, 0) {
        let has = format!("{} has compute capability {major}.{minor}", info.name);
        bail!(
            "the kernel's `wgmma` is for sm_90a, but {has}: name an H100 or an H200 with `--gpu`"
        );
    }
    Ok(gpu)
}

fn no_gpu(why: &str) -> String {
    format!(
        "joules measures the power of a GPU, and {why}: run it on a machine with an H100 or an H200"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_gpu_the_remedy_is_named() {
        if gpu::devices().is_err() {
            let error = measure(0, &mut |_| ()).expect_err("no GPU").to_string();
            assert!(error.contains("an H100 or an H200"), "{error}");
        }
    }
}
