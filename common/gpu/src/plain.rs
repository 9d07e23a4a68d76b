//! Plain values of the API, which need no driver and exist also where there is no GPU (`absent`).
use std::time::Duration;

use crate::statistics::percentile;
use crate::{Buffer, GpuError};

/// Information about a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// Its number, counted from 0 as CUDA does (CUDA_VISIBLE_DEVICES reorders).
    pub ordinal: usize,
    /// Its name, such as `NVIDIA H100 80GB HBM3`.
    pub name: String,
    /// Compute capability: (9, 0) is sm_90.
    pub sm: (u32, u32),
    /// The number of SMs.
    pub sms: u32,
    /// L2 cache, in bytes.
    pub l2_bytes: u64,
    /// Device memory, in bytes.
    pub memory_bytes: u64,
    /// Shared memory that a block can opt in to, in bytes.
    pub shared_per_block_optin: u32,
    /// The newest CUDA version that the driver supports, such as `13.0`.
    pub driver_version: String,
    /// Whether this is not a GPU but the emulator behind the driver's interface (`common/driver`): same bits, no
    /// timing.
    pub emulated: bool,
}

/// How TMA permutes the 16-byte chunks of a tile over the banks of shared memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Swizzle {
    /// No permutation.
    #[default]
    None,
    /// Within rows of 32 bytes.
    B32,
    /// Within rows of 64 bytes.
    B64,
    /// Within rows of 128 bytes.
    B128,
}

/// The type of an element; a copy moves bits, and only [`Fill::Nan`] depends on the type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Element {
    /// 8 bits.
    U8,
    /// 16 bits.
    U16,
    /// 32 bits.
    U32,
    /// 32 bits.
    I32,
    /// 64 bits.
    U64,
    /// 64 bits.
    I64,
    /// Half precision.
    #[default]
    F16,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
    /// Brain floating point.
    Bf16,
}

/// What a load returns for elements outside the tensor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fill {
    /// Zeros.
    #[default]
    Zeros,
    /// A NaN; floating-point elements only.
    Nan,
}

/// A tensor in device memory, starting at the buffer's first byte, and the tile that one copy moves. All lists begin
/// with the innermost dimension. Stores outside the tensor have no effect.
#[derive(Clone, Copy, Debug)]
pub struct TensorMap<'a> {
    /// The type of an element.
    pub element: Element,
    /// Elements in each dimension, 1 to 2^32; 1 to 5 dimensions.
    pub dimensions: &'a [u64],
    /// Bytes from one element to the next in each dimension but the innermost: multiples of 16 below 2^40.
    pub strides: &'a [u64],
    /// Size of the tile in elements in each dimension, 1 to 256; its rows are a multiple of 16 bytes, and at most as
    /// wide as the swizzle.
    pub tile: &'a [u32],
    /// Traversal stride in each dimension, 1 to 8; empty for 1 everywhere. The innermost is ignored.
    pub element_strides: &'a [u32],
    /// The order in shared memory.
    pub swizzle: Swizzle,
    /// The value of elements outside the tensor.
    pub fill: Fill,
}

/// The configuration of a launch, as `cuLaunchKernelEx` takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Dynamic shared memory per block, in bytes; may exceed 48 KiB.
    pub dynamic_shared: u32,
    /// Blocks of a cluster in x, y and z; 1 in each for no clusters.
    pub cluster: [u32; 3],
    /// Whether the launch may begin before the previous one ends: then the kernel waits for that one by
    /// `griddepcontrol.wait` (CUDA C++ Programming Guide, Programmatic Dependent Launch).
    pub overlap: bool,
    /// Whether all blocks must be resident at the same time (`cuLaunchCooperativeKernel`).
    pub cooperative: bool,
}

impl Default for LaunchConfig {
    /// One block of one thread.
    fn default() -> Self {
        Self {
            grid: [1; 3],
            block: [1; 3],
            dynamic_shared: 0,
            cluster: [1; 3],
            overlap: false,
            cooperative: false,
        }
    }
}

/// One kernel argument.
#[derive(Clone, Copy)]
pub enum KernelArg<'a> {
    /// A pointer to device memory.
    Buffer(&'a Buffer),
    /// 4 bytes, such as an `int`.
    U32(u32),
    /// 8 bytes, such as a pointer into a buffer.
    U64(u64),
    /// A parameter by value, such as the 128 bytes of a tensor map.
    Bytes(&'a [u8]),
}

/// A kernel or library call to be timed.
pub struct Contestant<'a> {
    /// Its name in reports.
    pub name: String,
    /// Enqueues one launch on the [`Context`]'s stream, with buffer set number `rotation`
    /// (0 to `Timing::rotations` - 1). It must not wait, copy or allocate.
    #[allow(clippy::type_complexity)]
    pub enqueue: Box<dyn Fn(usize) -> Result<(), GpuError> + 'a>,
}

/// How to measure time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Samples per contestant.
    pub rounds: usize,
    /// Launches of each contestant before the first sample.
    pub warmup: usize,
    /// Launches that a sample averages over, unless it repeats them; at least 1.
    pub launches_per_sample: usize,
    /// Whether a sample is a single launch of a graph that contains those launches; this excludes the host's time per
    /// launch from measurements of short kernels.
    pub graph: bool,
    /// How often a sample repeats those launches or that graph; at least 1.
    pub repeats: usize,
    /// Sets of buffers to rotate over, so that none is still in the L2; at least 1.
    pub rotations: usize,
    /// How long the GPU idles after each sample; may be zero.
    pub rest: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            rounds: 30,
            warmup: 5,
            launches_per_sample: 20,
            graph: false,
            repeats: 1,
            rotations: 1,
            rest: Duration::ZERO,
        }
    }
}

/// The samples of one contestant.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples {
    /// Its name.
    pub name: String,
    /// Milliseconds per launch, one value per round, in order.
    pub milliseconds: Vec<f64>,
    /// The SM clock during each of them, in MHz, counted by the SMs; empty if it could not be read.
    pub mhz: Vec<f64>,
}

impl Samples {
    /// The median, in milliseconds; NaN without samples, like all of these.
    pub fn median(&self) -> f64 {
        self.percentile(50.0)
    }

    /// The median clock of the SMs, in MHz.
    pub fn median_mhz(&self) -> Option<f64> {
        (!self.mhz.is_empty()).then(|| percentile(&self.mhz, 50.0))
    }

    /// The fastest sample, in milliseconds.
    pub fn min(&self) -> f64 {
        self.percentile(0.0)
    }

    /// The slowest sample, in milliseconds.
    pub fn max(&self) -> f64 {
        self.percentile(100.0)
    }

    /// The `p`-th percentile (0 to 100), in milliseconds, interpolated.
    pub fn percentile(&self, p: f64) -> f64 {
        percentile(&self.milliseconds, p)
    }

    /// The width of the middle 80% of all samples, as a fraction of the median.
    pub fn spread(&self) -> f64 {
        (self.percentile(90.0) - self.percentile(10.0)) / self.median()
    }
}

/// The range of a quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The smallest sample.
    pub min: f64,
    /// The median sample.
    pub median: f64,
    /// The largest sample.
    pub max: f64,
}

/// A GPU's sensors during a measurement, sampled every 20 ms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Telemetry {
    /// Clock of the SMs, in MHz.
    pub sm_mhz: Range,
    /// Power drawn, in watts. From Ampere on the sensor averages over a second.
    pub power_watts: Range,
    /// Mean power, in watts, from the GPU's energy counter; none without a counter, or if it changed less than twice.
    pub mean_watts: Option<f64>,
    /// Temperature, in degrees Celsius.
    pub celsius: Range,
    /// The power limit in force, in watts.
    pub power_limit_watts: f64,
    /// Number of samples.
    pub samples: usize,
}

/// The result of a successful compilation.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The PTX text.
    pub ptx: String,
    /// Warnings; empty if there were none.
    pub log: String,
    /// For each name expression, its mangled name in the PTX.
    pub lowered: Vec<String>,
}

/// The input of a compilation.
#[derive(Clone, Copy, Debug, Default)]
pub struct TranslationUnit<'a> {
    /// The CUDA source.
    pub source: &'a str,
    /// Its name in messages and line information; make it absolute, because NVRTC prefixes a relative one with the current folder.
    pub name: &'a str,
    /// Options.
    pub options: &'a [String],
    /// Headers in memory: the name by which an `#include` finds each, and its text. They come before all others.
    pub headers: &'a [(String, String)],
    /// Expressions that name kernels, such as `reduce<float, 256>`: they instantiate templates.
    pub expressions: &'a [String],
}

/// What the matrices of a product hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elements {
    /// f16.
    F16,
    /// A and B f16, C f32: not rounded to f16 at the end.
    F16ToF32,
    /// bf16.
    Bf16,
    /// f32, on CUDA cores: no TF32.
    F32,
}
