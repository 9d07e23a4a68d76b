//! A device with memory, on which kernels are launched: the emulator or a GPU, with the same calls.
use std::rc::Rc;

use emulator::{Fill, Instruction, LaunchReport};

use crate::{Error, Result, Source, ptx_file};

pub use emulator::LaunchConfig;

/// The `__device__` variable in which a kernel logs clocks (`cargo ladder clocks`): 64-bit values.
pub const CLOCK_LOG: &str = "clock_log";

/// An open device. Calls take effect in the order in which they are made, as on one CUDA stream.
pub enum Device {
    /// The emulator, on this machine's processor.
    Emulator(Box<emulator::Context>),
    /// A GPU.
    Gpu(gpu::Context),
}

/// Memory on a device. It is a handle: a copy of it shares the bytes.
#[derive(Clone)]
pub enum Buffer {
    /// In the emulator's memory.
    Emulator(emulator::Buffer),
    /// In a GPU's memory; freed with its last handle.
    Gpu(Rc<gpu::Buffer>),
}

/// A loaded kernel.
#[derive(Clone)]
pub enum Function {
    /// On the emulator.
    Emulator(emulator::Function),
    /// On a GPU.
    Gpu(Rc<gpu::Function>),
}

/// Loaded PTX.
pub enum Module {
    /// On the emulator; with the name of its file for messages.
    Emulator(emulator::Module, String),
    /// On a GPU.
    Gpu(gpu::Module),
}

impl Module {
    /// The kernel of this name.
    ///
    /// # Errors
    /// If there is none, or the emulator does not support its instructions.
    pub fn function(&self, name: &str) -> Result<Function> {
        Ok(match self {
            Self::Emulator(module, file) => {
                let function = module.function(name);
                Function::Emulator(function.map_err(|error| of_file(file, error))?)
            }
            Self::Gpu(module) => Function::Gpu(Rc::new(module.function(name)?)),
        })
    }

    /// The `__device__` or `__constant__` variable of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn global(&self, name: &str) -> Result<Buffer> {
        Ok(match self {
            Self::Emulator(module, _) => Buffer::Emulator(module.global(name)?),
            Self::Gpu(module) => Buffer::Gpu(Rc::new(module.global(name)?)),
        })
    }
}

/// Adds the file's name to an error of the emulator.
fn of_file(file: &str, error: emulator::Error) -> Error {
    match error {
        emulator::Error::Ptx(error) => Error::Ptx {
            file: file.to_owned(),
            error,
        },
        other => other.into(),
    }
}

/// One argument of a launch.
#[derive(Clone)]
pub enum Arg {
    /// A pointer.
    Buffer(Buffer),
    /// An `int`.
    Int(u32),
    /// A value with as many bytes as the parameter.
    Bytes(Box<[u8]>),
    /// A tensor map, and the buffer that it describes, which the map keeps allocated.
    TensorMap(Box<[u8; 128]>, Buffer),
}

impl Buffer {
    /// Passes a pointer to it.
    pub fn arg(&self) -> Arg {
        Arg::Buffer(self.clone())
    }

    fn emulated(&self) -> Result<&emulator::Buffer> {
        match self {
            Self::Emulator(buffer) => Ok(buffer),
            Self::Gpu(_) => Err(Error::OtherDevice),
        }
    }

    /// The GPU's buffer.
    ///
    /// # Errors
    /// If it is the emulator's.
    pub fn on_gpu(&self) -> Result<&gpu::Buffer> {
        match self {
            Self::Emulator(_) => Err(Error::OtherDevice),
            Self::Gpu(buffer) => Ok(buffer),
        }
    }
}

impl From<u32> for Arg {
    fn from(value: u32) -> Self {
        Self::Int(value)
    }
}

/// A row-major matrix of f16, and the box that one TMA instruction copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiling {
    /// Columns and rows of the matrix.
    pub dimensions: [u64; 2],
    /// Bytes from one row to the next.
    pub row_bytes: u64,
    /// Columns and rows of a box.
    pub tile: [u32; 2],
    /// The swizzle of a box in shared memory.
    pub swizzle: emulator::Swizzle,
}

/// A tensor of any elements, and the box of it that TMA copies at a time. All lists begin with the innermost dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorTiling {
    /// What it holds.
    pub element: emulator::Element,
    /// Elements in each dimension.
    pub dimensions: Vec<u64>,
    /// Bytes from one element to the next in each dimension but the innermost.
    pub strides: Vec<u64>,
    /// Elements of a box in each dimension.
    pub tile: Vec<u32>,
    /// How a box is swizzled in shared memory.
    pub swizzle: emulator::Swizzle,
}

impl Device {
    /// Allocates memory on the device; messages call it `name`.
    ///
    /// # Errors
    /// If the device is out of memory.
    pub fn alloc(&mut self, name: &str, bytes: usize) -> Result<Buffer> {
        Ok(match self {
            Self::Emulator(context) => Buffer::Emulator(context.alloc(name, bytes)?),
            Self::Gpu(context) => Buffer::Gpu(Rc::new(context.alloc(name, bytes)?)),
        })
    }

    /// Allocates memory of the same size and copies these bytes there.
    ///
    /// # Errors
    /// If the device is out of memory.
    pub fn upload(&mut self, name: &str, bytes: &[u8]) -> Result<Buffer> {
        Ok(match self {
            Self::Emulator(context) => Buffer::Emulator(context.upload(name, bytes)?),
            Self::Gpu(context) => Buffer::Gpu(Rc::new(context.upload(name, bytes)?)),
        })
    }

    /// Sets every byte of a buffer.
    ///
    /// # Errors
    /// If the buffer belongs to another device.
    pub fn fill(&mut self, buffer: &Buffer, byte: u8) -> Result<()> {
        match self {
            Self::Emulator(context) => context.fill(buffer.emulated()?, byte)?,
            Self::Gpu(context) => context.fill(buffer.on_gpu()?, byte)?,
        }
        Ok(())
    }

    /// Synchronizes, then copies a buffer's bytes back.
    ///
    /// # Errors
    /// If the buffer belongs to another device, or a launch on a GPU failed.
    pub fn read(&self, buffer: &Buffer) -> Result<Vec<u8>> {
        Ok(match self {
            Self::Emulator(context) => context.read(buffer.emulated()?)?,
            Self::Gpu(context) => context.read(buffer.on_gpu()?)?,
        })
    }

    /// Makes the tensor map of a matrix: where it is stored, and which box of it is copied at a time.
    ///
    /// # Errors
    /// If a rule of `cuTensorMapEncodeTiled` is violated, or the buffer belongs to another device.
    pub fn tensor_map(&self, buffer: &Buffer, of: &Tiling) -> Result<Arg> {
        let tensor = TensorTiling {
            element: emulator::Element::F16,
            dimensions: of.dimensions.to_vec(),
            strides: vec![of.row_bytes],
            tile: of.tile.to_vec(),
            swizzle: of.swizzle,
        };
        self.tensor_map_of(buffer, &tensor)
    }

    /// The same of a tensor of any elements.
    ///
    /// # Errors
    /// As [`Self::tensor_map`].
    pub fn tensor_map_of(&self, buffer: &Buffer, of: &TensorTiling) -> Result<Arg> {
        let (dimensions, strides, tile) = (&of.dimensions, &of.strides, &of.tile);
        let map = match self {
            Self::Emulator(context) => {
                let map = emulator::TensorMap {
                    element: of.element,
                    dimensions,
                    strides,
                    tile,
                    element_strides: &[],
                    swizzle: of.swizzle,
                    fill: Fill::Zeros,
                };
                context.tensor_map(buffer.emulated()?, &map)?
            }
            Self::Gpu(context) => {
                let swizzle = match of.swizzle {
                    emulator::Swizzle::None => gpu::Swizzle::None,
                    emulator::Swizzle::B32 => gpu::Swizzle::B32,
                    emulator::Swizzle::B64 => gpu::Swizzle::B64,
                    emulator::Swizzle::B128 => gpu::Swizzle::B128,
                };
                let element = match of.element {
                    emulator::Element::U8 => gpu::Element::U8,
                    emulator::Element::U16 => gpu::Element::U16,
                    emulator::Element::U32 => gpu::Element::U32,
                    emulator::Element::I32 => gpu::Element::I32,
                    emulator::Element::U64 => gpu::Element::U64,
                    emulator::Element::I64 => gpu::Element::I64,
                    emulator::Element::F16 => gpu::Element::F16,
                    emulator::Element::F32 => gpu::Element::F32,
                    emulator::Element::F64 => gpu::Element::F64,
                    emulator::Element::Bf16 => gpu::Element::Bf16,
                };
                let map = gpu::TensorMap {
                    element,
                    dimensions,
                    strides,
                    tile,
                    element_strides: &[],
                    swizzle,
                    fill: gpu::Fill::Zeros,
                };
                context.tensor_map(buffer.on_gpu()?, &map)?
            }
        };
        Ok(Arg::TensorMap(Box::new(map), buffer.clone()))
    }

    /// Copies bytes to the start of a buffer.
    ///
    /// # Errors
    /// If there are more bytes than the buffer holds, or the buffer belongs to another device.
    pub fn write(&mut self, buffer: &Buffer, bytes: &[u8]) -> Result<()> {
        match self {
            Self::Emulator(context) => context.write(buffer.emulated()?, bytes)?,
            Self::Gpu(context) => context.write(buffer.on_gpu()?, bytes)?,
        }
        Ok(())
    }

    /// Loads PTX and looks up a kernel, and the variable [`CLOCK_LOG`] if the module has one.
    ///
    /// # Errors
    /// If the emulator does not support it or the driver refuses it.
    pub fn load(&mut self, source: &Source, entry: &str) -> Result<(Function, Option<Buffer>)> {
        let module = self.load_module(source)?;
        // Looked up only if the module has it: compute-sanitizer reports a failed lookup.
        let has_log = source.ptx.contains(CLOCK_LOG);
        let log = match self {
            Self::Emulator(_) => module.global(CLOCK_LOG).ok(),
            Self::Gpu(_) => has_log.then(|| module.global(CLOCK_LOG)).transpose()?,
        };
        Ok((module.function(entry)?, log))
    }

    /// Loads PTX. If the PTX's `.version` is too new for the GPU's driver, it is loaded once more with a lower one.
    ///
    /// # Errors
    /// If it is not PTX, or the driver refuses it.
    pub fn load_module(&mut self, source: &Source) -> Result<Module> {
        const UNSUPPORTED_PTX_VERSION: u32 = 222;
        match self {
            Self::Emulator(context) => {
                let module = context.load_module(&source.ptx);
                let module = module.map_err(|error| of_file(&source.file, error))?;
                Ok(Module::Emulator(module, source.file.clone()))
            }
            Self::Gpu(context) => {
                let module = match context.load_module(&source.ptx) {
                    Err(
                        error @ gpu::GpuError::Load {
                            code: UNSUPPORTED_PTX_VERSION,
                            ..
                        },
                    ) => {
                        let lower = ptx_file::lower_version(&source.ptx, &source.arch);
                        context.load_module(&lower).map_err(|_| error)?
                    }
                    loaded => loaded?,
                };
                Ok(Module::Gpu(module))
            }
        }
    }

    /// Launches a kernel. The emulator runs it to the end and returns what it counted; a GPU returns at once, with
    /// nothing.
    ///
    /// # Errors
    /// If the launch is refused, or exceeds a limit of the emulator.
    pub fn launch(
        &mut self,
        function: &Function,
        config: &LaunchConfig,
        args: &[Arg],
    ) -> Result<Option<LaunchReport>> {
        match self {
            Self::Emulator(context) => {
                let args = args.iter().map(|arg| {
                    Ok(match arg {
                        Arg::Buffer(buffer) => emulator::KernelArg::Buffer(buffer.emulated()?),
                        Arg::Int(value) => emulator::KernelArg::U32(*value),
                        Arg::Bytes(bytes) => emulator::KernelArg::Bytes(bytes),
                        Arg::TensorMap(map, _) => emulator::KernelArg::Bytes(&map[..]),
                    })
                });
                let args = args.collect::<Result<Vec<_>>>()?;
                Ok(Some(context.launch(function.emulated()?, config, &args)?))
            }
            Self::Gpu(context) => {
                let (config, args) = on_gpu(config, args)?;
                context.launch(function.on_gpu()?, &config, &args)?;
                Ok(None)
            }
        }
    }
}

/// The launch in the form that `gpu` takes.
///
/// # Errors
/// If an argument belongs to the emulator.
pub fn on_gpu<'a>(
    config: &LaunchConfig,
    args: &'a [Arg],
) -> Result<(gpu::LaunchConfig, Vec<gpu::KernelArg<'a>>)> {
    let &LaunchConfig {
        grid,
        block,
        dynamic_shared,
        cluster,
        overlap,
        cooperative,
    } = config;
    let config = gpu::LaunchConfig {
        grid,
        block,
        dynamic_shared,
        cluster,
        overlap,
        cooperative,
    };
    let args = args.iter().map(|arg| {
        Ok(match arg {
            Arg::Buffer(buffer) => gpu::KernelArg::Buffer(buffer.on_gpu()?),
            Arg::Int(value) => gpu::KernelArg::U32(*value),
            Arg::Bytes(bytes) => gpu::KernelArg::Bytes(bytes),
            Arg::TensorMap(map, _) => gpu::KernelArg::Bytes(&map[..]),
        })
    });
    Ok((config, args.collect::<Result<_>>()?))
}

impl Function {
    fn emulated(&self) -> Result<&emulator::Function> {
        match self {
            Self::Emulator(function) => Ok(function),
            Self::Gpu(_) => Err(Error::OtherDevice),
        }
    }

    /// The GPU's function.
    ///
    /// # Errors
    /// If it is the emulator's.
    pub fn on_gpu(&self) -> Result<&gpu::Function> {
        match self {
            Self::Emulator(_) => Err(Error::OtherDevice),
            Self::Gpu(function) => Ok(function),
        }
    }

    /// The size of each parameter, in bytes.
    pub fn params(&self) -> Vec<u32> {
        match self {
            Self::Emulator(function) => function.params().iter().map(|param| param.bytes).collect(),
            Self::Gpu(function) => function
                .params()
                .iter()
                .map(|&bytes| bytes as u32)
                .collect(),
        }
    }

    /// The kernel's PTX instructions, in the order of a report's counters; empty on a GPU.
    pub fn instructions(&self) -> &[Instruction] {
        self.emulated()
            .map_or(&[], emulator::Function::instructions)
    }

    /// What the emulator executes without reproducing a GPU's bits.
    pub fn warnings(&self) -> &[String] {
        self.emulated().map_or(&[], emulator::Function::warnings)
    }

    /// Variables in shared memory with their addresses; empty on a GPU, whose driver does not list them.
    pub fn shared_variables(&self) -> Vec<emulator::SharedVariable<'_>> {
        match self {
            Self::Emulator(function) => function.shared_variables().collect(),
            Self::Gpu(_) => Vec::new(),
        }
    }

    /// Static shared memory of a block, in bytes.
    pub fn static_shared(&self) -> u32 {
        match self {
            Self::Emulator(function) => function.static_shared(),
            Self::Gpu(function) => function.static_shared(),
        }
    }
}
