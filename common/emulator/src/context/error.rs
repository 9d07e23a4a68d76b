//! The errors of loading, memory and launches.
use crate::{Card, PtxError, TensorMapError};

/// An error of loading PTX, of using memory or of a launch.
///
/// A kernel's own faults are not errors: they are [findings](crate::LaunchReport::findings). After an
/// error, device memory is as it was before the call.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Text that is not PTX, or PTX that the emulator does not execute.
    #[error(transparent)]
    Ptx(#[from] PtxError),
    /// The module has no such kernel.
    #[error(
        "there is no kernel `{name}` in this PTX, {}; declare it as extern \"C\" __global__ void {name}(…)",
        only(.kernels)
    )]
    NoKernel {
        /// The requested name.
        name: String,
        /// The kernels of the module.
        kernels: Vec<String>,
    },
    /// The module has no such variable.
    #[error(
        "there is no __device__ or __constant__ variable `{name}` in this PTX; declare it extern \"C\", and use it in a kernel so that the compiler keeps it"
    )]
    NoVariable {
        /// The requested name.
        name: String,
    },
    /// More device memory than allowed.
    #[error(
        "{wanted} bytes of device memory are needed, but {limit} are allowed; raise the limit if the machine has them"
    )]
    OutOfMemory {
        /// Bytes that would have been in use.
        wanted: u64,
        /// [`crate::Limits::memory`].
        limit: u64,
    },
    /// A buffer, module or function of another context.
    #[error("this {0} belongs to another context")]
    OtherContext(&'static str),
    /// A buffer that was freed, or whose module was unloaded.
    #[error("the buffer at 0x{address:x} has been freed")]
    Freed {
        /// Where it was.
        address: u64,
    },
    /// A variable cannot be freed before its module.
    #[error("the buffer at 0x{address:x} is a variable of a module; unload the module instead")]
    NotFromAlloc {
        /// Where it is.
        address: u64,
    },
    /// A module that was unloaded, or a function of one.
    #[error("the module has been unloaded")]
    Unloaded,
    /// A copy that is longer than the buffer.
    #[error("a copy of {wanted} bytes into a buffer of {bytes}")]
    PastEnd {
        /// Bytes to copy.
        wanted: usize,
        /// Bytes that the buffer has.
        bytes: usize,
    },
    /// A rule of TMA that a tensor map breaks.
    #[error(transparent)]
    TensorMap(#[from] TensorMapError),
    /// Something that the card cannot run.
    #[error("{0}")]
    Card(String),
    /// The shape of a block.
    #[error(
        "a block of {} threads; a GPU takes 1 to 1024, and no more than 64 in z",
        shape(.0)
    )]
    Block([u32; 3]),
    /// The shape of the grid.
    #[error(
        "a grid of {} blocks; a GPU takes 1 to 2147483647 x 65535 x 65535",
        shape(.0)
    )]
    Grid([u32; 3]),
    /// More threads than the kernel is compiled for.
    #[error(
        "a block of {threads} threads, but the kernel is compiled for at most {most}; see __launch_bounds__"
    )]
    LaunchBounds {
        /// Threads of a block.
        threads: u64,
        /// What `.maxntid` allows.
        most: u64,
    },
    /// The cluster size of the launch differs from the kernel's.
    #[error(
        "clusters of {} blocks, but the kernel is compiled for {}; see __cluster_dims__",
        shape(given),
        shape(compiled)
    )]
    ClusterDims {
        /// The launch's.
        given: [u32; 3],
        /// What `.reqnctapercluster` says.
        compiled: [u32; 3],
    },
    /// The shape of a cluster.
    #[error("clusters of {} blocks; a GPU takes 1 to 16", shape(.0))]
    Cluster([u32; 3]),
    /// Clusters that do not divide the grid.
    #[error(
        "a grid of {} blocks is not a multiple of clusters of {}",
        shape(grid),
        shape(cluster)
    )]
    ClusterGrid {
        /// Blocks of the grid.
        grid: [u32; 3],
        /// Blocks of a cluster.
        cluster: [u32; 3],
    },
    /// Clusters on a card that has none.
    #[error("clusters of {0} blocks, which came with Hopper: emulate an h100")]
    NoClusters(u64),
    /// A kernel that needs clusters.
    #[error("the kernel says .explicitcluster, but the launch has no clusters")]
    ClusterMissing,
    /// More blocks in a cluster than the kernel is compiled for.
    #[error(
        "clusters of {blocks} blocks, but the kernel is compiled for at most {most}; see .maxclusterrank"
    )]
    ClusterRank {
        /// Blocks of a cluster.
        blocks: u64,
        /// What `.maxclusterrank` allows.
        most: u32,
    },
    /// More shared memory than a block can have.
    #[error("{wanted} bytes of shared memory a block; an {} has {most}", .card.name().to_uppercase())]
    SharedMemory {
        /// Static and dynamic bytes.
        wanted: u32,
        /// The card's.
        most: u32,
        /// Which card.
        card: Card,
    },
    /// A cooperative launch of more blocks than can be resident at once (`CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE`).
    #[error(
        "too many blocks in a cooperative launch: {blocks}, but an {} holds {most} at once, {per_sm} on each of its {} SMs; launch \
         no more, each with more of the work, or with less shared memory or fewer threads per block",
        .card.name().to_uppercase(), .card.sms()
    )]
    CooperativeLaunchTooLarge {
        /// Blocks of the grid.
        blocks: u64,
        /// Blocks that the card can hold, limited by threads and shared memory; on a GPU, registers may allow fewer.
        most: u64,
        /// Blocks that an SM can hold.
        per_sm: u32,
        /// Which card.
        card: Card,
    },
    /// The number of arguments.
    #[error("{given} arguments for a kernel that takes {takes}")]
    ParameterCount {
        /// Parameters of the kernel.
        takes: usize,
        /// Arguments of the launch.
        given: usize,
    },
    /// The size of an argument.
    #[error("parameter {name} takes {takes} bytes, not {given}")]
    ParameterSize {
        /// Its name in the PTX.
        name: String,
        /// Bytes of the parameter.
        takes: u32,
        /// Bytes of the argument.
        given: usize,
    },
    /// More blocks than [`crate::Limits::blocks`].
    #[error(
        "a grid of {blocks} blocks, but only {limit} are allowed; raise the limit if it is meant"
    )]
    BlockLimit {
        /// Blocks of the grid.
        blocks: u64,
        /// Blocks allowed.
        limit: u64,
    },
    /// More work than [`crate::Limits::instructions`].
    #[error(
        "the kernel was stopped after {limit} warp instructions; raise the limit if it is not stuck"
    )]
    InstructionLimit {
        /// Warp-level instructions allowed.
        limit: u64,
    },
    /// The blocks of a launch need more host memory than [`crate::Limits::memory`].
    #[error(
        "the kernel's blocks need more than {limit} bytes of memory; raise the limit if the machine has them"
    )]
    MemoryLimit {
        /// Bytes allowed.
        limit: u64,
    },
}

fn shape([x, y, z]: &[u32; 3]) -> String {
    format!("{x} x {y} x {z}")
}

fn only(kernels: &[String]) -> String {
    match kernels {
        [] => "no kernel at all".into(),
        some => format!("only {}", some.join(", ")),
    }
}
