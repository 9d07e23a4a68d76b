//! The input of a launch and its report.
use std::sync::Arc;

use crate::snapshot::{Snapshot, SnapshotRequest};
use crate::trace::{TraceRequest, WarpTrace};
use crate::{
    AccessPattern, Buffer, Card, CopyLead, Counters, Error, Finding, Location, MatrixFactors, Wait,
};

/// One kernel argument; it must have the size of the parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelArg<'a> {
    /// A pointer to a buffer's first byte: 8 bytes.
    Buffer(&'a Buffer),
    /// 4 bytes, such as an `int`.
    U32(u32),
    /// 8 bytes, such as a pointer into a buffer.
    U64(u64),
    /// A struct, such as a tensor map.
    Bytes(&'a [u8]),
}

/// The shape of a launch, as in `CUlaunchConfig`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchConfig {
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Blocks of a cluster in x, y and z; all 1 for no clusters, or for the size that the kernel
    /// itself requires (`__cluster_dims__`). They must divide the grid.
    pub cluster: [u32; 3],
    /// Whether the launch may begin before the previous one has ended
    /// (`CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`). The emulator still runs launches one after the
    /// other, which is one of the orders that a GPU may choose.
    pub overlap: bool,
    /// Whether all blocks must be resident at the same time, so that they can wait for each other, as
    /// `this_grid().sync()` of cooperative groups does (`cuLaunchCooperativeKernel`, `CU_LAUNCH_ATTRIBUTE_COOPERATIVE`).
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

/// Bounds on what a launch may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Warp-level instructions, over the whole launch.
    pub instructions: u64,
    /// Blocks of the grid.
    pub blocks: u64,
    /// Bytes of host memory for allocations; and the same amount again for what the blocks of a launch write, and for
    /// the registers, local and shared memory of the blocks that run at the same time.
    pub memory: u64,
    /// Bytes of a thread's call stack, in kernels with indirect or recursive calls
    /// (`CU_LIMIT_STACK_SIZE`). A GPU's default is 1 KiB, and its frames hold registers too.
    pub stack: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            instructions: 1 << 40,
            blocks: 1 << 24,
            memory: 8 << 30,
            stack: 16 << 10,
        }
    }
}

impl Limits {
    pub(crate) fn out_of_instructions(self) -> Error {
        let limit = self.instructions;
        Error::InstructionLimit { limit }
    }
    pub(crate) fn out_of_memory(self) -> Error {
        let limit = self.memory;
        Error::MemoryLimit { limit }
    }
}

/// Which CPU instructions the emulator may use; results do not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Simd {
    /// The widest vectors that this CPU has.
    #[default]
    Auto,
    /// `None` beyond what the program was compiled for.
    Scalar,
}

/// How launches are run.
#[derive(Clone, Default)]
pub struct Options {
    /// Also look for races, uninitialized reads and missing waits. Each launch is then run twice, the second time in
    /// another order of warps and with the variables of the module as the first has left them; memory and counters are
    /// those of the first.
    pub sanitize: bool,
    /// The host launches each kernel repeatedly without resetting the variables of its module: under `sanitize` it is
    /// then an error, and not a note, if the values that a launch leaves in them change what the same launch computes
    /// next.
    pub relaunched: bool,
    /// 0 is the default order of warps; other values shuffle it.
    pub schedule: u64,
    /// Which GPU is emulated.
    pub card: Card,
    /// When to stop a launch.
    pub limits: Limits,
    /// For tests of the vector paths.
    pub simd: Simd,
    /// Record the patterns of addresses that warps access.
    pub patterns: bool,
    /// Record the factors of f16 matrix products; in WebAssembly, none.
    pub factors: bool,
    /// Record how early asynchronous copies were issued. It requires `sanitize`, whose vector clocks know which
    /// products are ordered before an issue. In WebAssembly, none.
    pub lookahead: bool,
    /// Count the bytes that threads load from shared memory and have stored there themselves. It requires `sanitize`, which knows
    /// the last store. In WebAssembly, none.
    pub own_loads: bool,
    /// Record the instructions that the warps of these blocks execute.
    pub trace: Option<TraceRequest>,
    /// Called before each load from memory, with the shared memory of the block: whether a result depends on what it holds can be
    /// found out by changing it.
    pub before_load: Option<BeforeLoad>,
    /// Record the state of a block when its warps reach given instructions.
    pub snapshot: Option<SnapshotRequest>,
    /// Called with (blocks done, total blocks), from any thread.
    pub progress: Option<Progress>,
}

/// Receives the number of blocks done and the total.
pub type Progress = Arc<dyn Fn(u64, u64) + Send + Sync>;

/// Receives the index of a block and its shared memory, in 4-byte words, before one of its warps executes an instruction
/// that loads from memory, and may change what is there. Blocks run in parallel.
/// Loads from the shared memory of another block of the cluster see that block's as it is. In WebAssembly nothing is called.
pub type BeforeLoad = Arc<dyn Fn([u32; 3], &mut [u32]) + Send + Sync>;

/// What a launch did, besides writing memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchReport {
    /// One entry for each of [`crate::Function::instructions`]; none after a fatal finding.
    pub counters: Vec<Counters>,
    /// By instruction, then by mbarrier; none after a fatal finding.
    pub waits: Vec<Wait>,
    /// Every pattern of addresses once, by instruction, if [`Options::patterns`] is set.
    pub patterns: Vec<AccessPattern>,
    /// What warps executed, by block and warp, if [`Options::trace`] is set; none after a fatal finding, unless no other
    /// blocks were to run and a snapshot is kept.
    pub traces: Vec<WarpTrace>,
    /// The state of a block, if [`Options::snapshot`] is set; empty after a fatal finding, with the same exception.
    pub snapshot: Snapshot,
    /// By block and warp, in the order of execution, if [`Options::factors`] is set; none after a fatal finding.
    pub factors: Vec<MatrixFactors>,
    /// By block, warp and number of products before, if [`Options::lookahead`] is set; none after a fatal finding.
    pub leads: Vec<CopyLead>,
    /// The most mbarriers that a block has had in bytes that held nothing else.
    pub mbarriers: u32,
    /// Bytes that ordinary loads of a thread brought from shared memory, and that the same thread was the last to store there or to
    /// copy there by `cp.async`, if [`Options::own_loads`] is set.
    pub own_loads: u64,
    /// Mistakes of the kernel; empty if nothing was found wrong.
    pub findings: Vec<Finding>,
    /// Findings that are not, or not certainly, mistakes: warnings and notes, by [`Finding::severity`].
    pub remarks: Vec<Finding>,
    /// What threads printed, cluster by cluster in the order of their numbers, within a cluster in the order in which it
    /// was printed. A GPU keeps 1 MiB and prints blocks in no particular order.
    pub printed: Vec<Printed>,
}

/// The output of one call of `printf`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    /// The thread and the call.
    pub location: Location,
    /// The text; bytes that are not UTF-8 are replaced.
    pub text: String,
}
