//! One kernel launch: from arguments to counters.
use crate::{Asked, Card, Counters, Finding, Memory, Program, Wait, exec};

/// One kernel argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arg {
    /// An int.
    U32(u32),
    /// A pointer.
    U64(u64),
    /// A struct.
    Bytes(Vec<u8>),
}

/// Grid, block and arguments, as cuLaunchKernel takes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Blocks of a cluster in x, y and z; 1 in each for none, or for what the kernel itself asks for
    /// (`__cluster_dims__`). They must divide the grid.
    pub cluster: [u32; 3],
    /// One for each parameter.
    pub args: Vec<Arg>,
}

/// Bounds on what a launch may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Warp-level instructions, over the whole launch.
    pub instructions: u64,
    /// Blocks of the grid.
    pub blocks: u64,
    /// Bytes of this machine's memory for what the blocks write, and for the registers, local and
    /// shared memory of those that run at the same time.
    pub memory: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            instructions: 1 << 40,
            blocks: 1 << 24,
            memory: 8 << 30,
        }
    }
}

/// Which CPU instructions the emulator may use; the bits are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Simd {
    /// The widest vectors that this CPU has.
    #[default]
    Auto,
    /// None beyond what the program was compiled for.
    Scalar,
}

/// How to run, apart from what to run.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// Look for shared-memory races and uninitialised shared reads as well.
    pub sanitize: bool,
    /// 0: the default order of warps. Others shuffle it.
    pub schedule: u64,
    /// Which GPU it is.
    pub card: Card,
    /// When to give up.
    pub limits: Limits,
    /// For tests of the vector paths.
    pub simd: Simd,
    /// Keep the patterns of addresses that warps ask for.
    pub patterns: bool,
    /// Called with (blocks done, blocks in all), from any thread.
    pub progress: Option<&'a (dyn Fn(u64, u64) + Sync)>,
}

/// What a launch did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// One entry for each of [`Program::instructions`]; none after a fatal finding.
    pub counters: Vec<Counters>,
    /// By instruction, then by mbarrier; none after a fatal finding.
    pub waits: Vec<Wait>,
    /// Every pattern of addresses once, by instruction, if [`Options::patterns`] asked for them.
    pub patterns: Vec<Asked>,
    /// Empty if nothing was found wrong.
    pub findings: Vec<Finding>,
}

/// Why a launch could not be made or finished.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// Something about the launch that a GPU would refuse too.
    #[error("{0}")]
    Invalid(String),
    /// More work than allowed.
    #[error(
        "the kernel was stopped after {0} warp instructions; raise the limit with --max-instructions if it is not stuck"
    )]
    InstructionLimit(u64),
    /// More memory than allowed.
    #[error(
        "the kernel's blocks need more than {0} bytes of memory; raise the limit with --max-memory"
    )]
    MemoryLimit(u64),
}

/// Runs `program` over the whole grid; global memory is changed in `memory`.
///
/// The result is the same on every run and on any number of cores, but for one thing: of a fault and a
/// limit that blocks running side by side meet, either may be reported.
///
/// # Errors
/// If a GPU would refuse the launch, or a limit was met. Faults are no errors here: they are in
/// [`Run::findings`].
pub fn launch(
    program: &Program,
    memory: &mut Memory,
    launch: &Launch,
    options: &Options<'_>,
) -> Result<Run, LaunchError> {
    exec::run(program, memory, launch, options)
}
