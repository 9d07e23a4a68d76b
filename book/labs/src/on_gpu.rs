//! A launch on a GPU.
use emulator::Swizzle;
use gpu::{Buffer, Gpu, GpuError, KernelArg, LaunchConfig, TensorMap};
use harness::WantedDevice;

use crate::arguments::Arguments;
use crate::lab::{Argument, Done, Lab, Launch};
use crate::on_emulator::source;
use crate::run::{Error, Result};

/// The GPU that the arguments name, or the first.
pub fn open(arguments: &Arguments) -> Result<Gpu> {
    let ordinal = match arguments.device {
        WantedDevice::Gpu(ordinal) => ordinal,
        WantedDevice::Auto => 0,
        WantedDevice::Emulator => {
            let why = "`time` needs a GPU; without one, `profile` shows what a kernel does to the memory system";
            return Err(Error::Usage(why.into()));
        }
    };
    Ok(Gpu::open(ordinal)?)
}

/// A launch whose kernel is loaded and whose arguments lie on the GPU.
pub struct Ready {
    kernel: gpu::Kernel,
    config: LaunchConfig,
    held: Vec<Held>,
    output: Option<usize>,
}

/// An argument on the GPU.
enum Held {
    Buffer(Buffer),
    Int(u32),
    /// A map, and the matrix that it names.
    Map([u8; 128], #[allow(dead_code)] Buffer),
}

impl Ready {
    /// Loads the kernel and uploads what it takes.
    pub fn new(lab: &Lab, launch: &Launch, arguments: &Arguments, gpu: &Gpu) -> Result<Self> {
        let kernel = harness::load(gpu, &source(lab, launch, arguments)?, launch.entry)?;
        let mut held = Vec::new();
        let mut output = None;
        for argument in &launch.arguments {
            held.push(match argument {
                Argument::Int(value) => Held::Int(*value),
                Argument::Input(bytes) => Held::Buffer(gpu.upload(bytes)?),
                Argument::Output(bytes) => {
                    output.get_or_insert(held.len());
                    let mut buffer = gpu.alloc(*bytes)?;
                    gpu.fill(&mut buffer, 0xff)?;
                    Held::Buffer(buffer)
                }
                Argument::Map(map) => {
                    let buffer = gpu.upload(&map.bytes)?;
                    let map = TensorMap {
                        dimensions: &map.dimensions,
                        strides: &[2 * map.dimensions[0]],
                        tile: &map.tile,
                        swizzle: match map.swizzle {
                            Swizzle::None => gpu::Swizzle::None,
                            Swizzle::B32 => gpu::Swizzle::B32,
                            Swizzle::B64 => gpu::Swizzle::B64,
                            Swizzle::B128 => gpu::Swizzle::B128,
                        },
                    };
                    Held::Map(gpu.tensor_map(&buffer, &map)?, buffer)
                }
            });
        }
        let config = LaunchConfig {
            grid: [launch.grid[0], launch.grid[1], 1],
            block: [launch.threads, 1, 1],
            dynamic_shared: launch.dynamic_shared,
            cluster: 1,
            overlap: false,
        };
        Ok(Self {
            kernel,
            config,
            held,
            output,
        })
    }

    /// Enqueues the launch.
    pub fn enqueue(&self, gpu: &Gpu) -> std::result::Result<(), GpuError> {
        let argument = |held| match held {
            &Held::Int(value) => KernelArg::U32(value),
            Held::Buffer(buffer) => KernelArg::Buffer(buffer),
            Held::Map(map, _) => KernelArg::Bytes(map),
        };
        let arguments: Vec<_> = self.held.iter().map(argument).collect();
        gpu.launch(&self.kernel, &self.config, &arguments)
    }

    /// The first output, when all that was enqueued is done.
    pub fn output(&self, gpu: &Gpu) -> Result<Vec<u8>> {
        match self.output.and_then(|which| self.held.get(which)) {
            Some(Held::Buffer(buffer)) => Ok(gpu.download(buffer)?),
            _ => Ok(Vec::new()),
        }
    }

    /// Registers of a thread, and how many blocks share a multiprocessor.
    pub fn resources(&self) -> Result<[u32; 2]> {
        let blocks = self
            .kernel
            .blocks_per_multiprocessor(self.config.block[0], self.config.dynamic_shared)?;
        Ok([self.kernel.registers(), blocks])
    }
}

/// Makes the launch.
pub fn run(lab: &Lab, launch: Launch, arguments: &Arguments, gpu: &Gpu) -> Result<Done> {
    let ready = Ready::new(lab, &launch, arguments, gpu)?;
    ready.enqueue(gpu)?;
    let output = ready.output(gpu)?;
    Ok(Done {
        verdict: Some(launch.expected.check(&output)),
        source: source(lab, &launch, arguments)?,
        launch,
        output,
        emulated: None,
    })
}
