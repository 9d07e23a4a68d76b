//! What can be wrong with a launch, and how bad it is.
use super::{Location, Severity};
use crate::Space;
use crate::launch::Options;
use crate::program::{Instruction, SourceLine};

/// Read, write or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessKind {
    /// A load.
    Read,
    /// A store.
    Write,
    /// `atom` or `red`.
    Atomic,
    /// A read by the async proxy: the source of a bulk copy, or an operand of `wgmma`.
    AsyncRead,
    /// A write by the async proxy: the destination of a bulk copy.
    AsyncWrite,
}

/// What an undefined value is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndefinedUse {
    /// An address.
    Address,
    /// The condition of a branch or the guard of an instruction.
    Condition,
    /// It is stored in global or shared memory.
    Store,
    /// A factor or an addend of a matrix product: the operand's name in the PTX ISA, and the number of the register in it, where they are known.
    Matrix(Option<(char, u8)>),
    /// Another operand with an effect: of a barrier, a copy, or the member mask of a shuffle.
    Operand,
}

/// How an instruction orders others, the most telling kind first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Synchronization {
    /// An asynchronous copy.
    Copy,
    /// A wait for an mbarrier, for copies, for a `wgmma` or for the previous grid.
    Wait,
    /// A barrier of a warp, a block or a cluster.
    Barrier,
    /// A fence.
    Fence,
    /// Another operation on an mbarrier: its initialization, an arrival, or a change of its expected bytes.
    Arrival,
}

/// An access that memcheck or initcheck reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryAccess {
    /// Where the address points.
    pub space: Space,
    /// What was tried.
    pub access: AccessKind,
    /// Size of the access.
    pub bytes: u32,
    /// Address in its space.
    pub address: u64,
}

/// Two conflicting accesses to the same bytes; the second is reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// What this thread did.
    pub access: AccessKind,
    /// What the other thread had done.
    pub other_access: AccessKind,
    /// Whether the other access was the initialization of an mbarrier.
    pub of_init: bool,
    /// The other thread.
    pub other: Box<Location>,
    /// Where the bytes are: shared or global memory.
    pub space: Space,
    /// The address in that space.
    pub address: u64,
    /// Whether both are lanes of one warp at the same instruction.
    pub of_one_instruction: bool,
    /// Whether this thread's access came after the other's in this run, so that it is the one that should have waited.
    pub is_later: bool,
}

/// Threads that wait while no warp can make progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingThreads {
    /// What they wait at.
    pub at: WaitsAt,
    /// The line where they wait.
    pub source: Option<SourceLine>,
    /// Which threads, and what they wait for, in words.
    pub text: String,
    /// The arrivals of the mbarrier's phase, if they wait at an mbarrier.
    pub arrivals: Option<Arrivals>,
}

/// The arrivals of an mbarrier's current phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrivals {
    /// How many are missing.
    pub pending: u32,
    /// How many the phase counts.
    pub expected: u32,
    /// The warps that have arrived: `warp 4`.
    pub warps: Vec<String>,
}

/// What threads wait at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsAt {
    /// `bar.sync`.
    Barrier,
    /// An mbarrier.
    Mbarrier,
    /// Nothing: it repeats a loop whose condition no longer changes.
    Loop,
    /// Anything else, such as other lanes or registers.
    Other,
}

/// How an mbarrier is used wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MbarrierMisuse {
    /// It is not initialized.
    Absent,
    /// It is initialized again.
    Present,
    /// An arrival in a phase that waits for bytes only.
    EarlyArrival,
    /// More arrivals than a phase counts.
    Overrun,
    /// Something else has been stored in its bytes.
    Overwritten,
    /// Any other, such as a count that it does not take.
    Other,
}

/// What is missing between a `wgmma` and an access to its registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WgmmaOrder {
    /// `wgmma.fence` before it.
    Fence,
    /// `wgmma.wait_group` after it.
    Wait,
}

/// What can be wrong. A `String` gives the details in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FindingKind {
    /// memcheck: no allocation holds these bytes.
    OutOfBounds {
        /// What was tried.
        access: MemoryAccess,
        /// Where the address points, in words.
        nearest: String,
        /// The name of the nearest allocation, if the address is after its beginning, and the distance from there.
        after: Option<(String, u64)>,
        /// Whether it is an address of shared memory in the other form: a generic one where the shared window's is due, or the reverse.
        other_window: bool,
    },
    /// memcheck: the address is not a multiple of the access's size.
    Misaligned(MemoryAccess),
    /// initcheck: no thread has written the bytes that are read.
    Uninitialized(MemoryAccess),
    /// The outcome depends on a register or on local memory that no instruction has written: how the value is used, and
    /// where it was first read.
    UndefinedRegister {
        /// What it is used for.
        of: UndefinedUse,
        /// The first instruction that read it, if it is not this one.
        first_read: Option<Box<Location>>,
    },
    /// racecheck: two unordered accesses by different threads, at least one of them a write.
    Race(Conflict),
    /// The async proxy reads or overwrites what a thread wrote before. The two are ordered, but there is
    /// no `fence.proxy.async` between them (PTX ISA, "Proxies" and "membar/fence").
    MissingProxyFence(Conflict),
    /// Something other than an mbarrier instruction touches an mbarrier between its `mbarrier.init` (the other
    /// access) and `mbarrier.inval` (PTX ISA, "Size and alignment of mbarrier object").
    MbarrierTouched(Conflict),
    /// synccheck: some threads of a warp are not at its barrier.
    DivergentBarrier {
        /// How many live threads of the warp are elsewhere.
        missing: u32,
    },
    /// synccheck: a barrier number above 15, or a thread count that is not a multiple of 32.
    InvalidBarrier(String),
    /// synccheck: lanes execute a shuffle, a vote or a barrier of their warp with a mask that does not name them.
    InvalidMask(String),
    /// An mbarrier instruction at an address without an mbarrier, or with counts out of range (PTX
    /// ISA, "mbarrier").
    InvalidMbarrier(MbarrierMisuse, String),
    /// `mbarrier.try_wait` may return false when its time limit expires; the thread ignored that and continued to this
    /// access (PTX ISA, "mbarrier.try_wait").
    UnheededWait {
        /// The access that the wait should have preceded.
        access: Box<Location>,
    },
    /// No arrival of an mbarrier's phase is pending, but its tx-count is not zero: the phase can never complete.
    /// Reported at `expect_tx`; how many bytes are missing or too many.
    TransactionCount(String),
    /// A `wgmma` reads a tile with a different swizzle from the bulk copy that wrote it: which operand, and both
    /// swizzles.
    SwizzleMismatch(String),
    /// A bulk copy that no hardware can execute: alignment, size, tensor map.
    InvalidBulkCopy(String),
    /// The block has exited while a bulk copy may still read or write its shared memory: which copy no thread waited
    /// for.
    UnfinishedCopy(Space, String),
    /// An access to shared memory of a block of the cluster that has exited, or may have: which block, and which
    /// access.
    ExitedBlock(String),
    /// synccheck: arrivals and waits at a cluster's barrier out of order, or a rank beyond the cluster.
    InvalidCluster(String),
    /// A call of an address where no function starts, or a call stack overflow.
    InvalidCall(String),
    /// `setmaxnreg` that the block's registers cannot satisfy, or that only some warps of a warpgroup execute.
    InvalidRegisters(String),
    /// The registers of a `wgmma` are more than `setmaxnreg` has left its warp. ptxas then ignores each `setmaxnreg` of the
    /// kernel.
    TooFewRegisters(String),
    /// synccheck: a `wgmma` that no hardware can execute: an invalid descriptor, or not executed by a whole warpgroup.
    InvalidWgmma(String),
    /// synccheck: registers of a `wgmma` are accessed without the fence or wait that orders them, or no
    /// thread waits for it.
    UnorderedWgmma(WgmmaOrder, String),
    /// The launch leaves values in variables of its module that make the same launch compute something else, or fail,
    /// when it is repeated.
    StateLeft {
        /// Their names.
        variables: Vec<String>,
        /// What happens in the second launch.
        consequence: String,
    },
    /// An access before `griddepcontrol.wait` to global memory that the previous launch may still be using, in a launch
    /// that may overlap with it (PTX ISA, "griddepcontrol").
    BeforePreviousGrid(MemoryAccess),
    /// No thread reached this instruction in this launch, so it was not checked.
    NeverExecuted {
        /// What it does.
        what: Synchronization,
        /// A launch that executes it, if the caller has found one.
        executed_by: Option<String>,
    },
    /// No warp can make progress.
    Deadlock {
        /// What each remaining warp waits for.
        waiting: Vec<WaitingThreads>,
    },
    /// The kernel executed `trap`.
    Trap,
    /// An `assert` failed.
    Assertion {
        /// The condition as written.
        message: String,
        /// The file, as passed to the compiler.
        file: String,
        /// The signature of the function.
        function: String,
        /// 1-based line of the file.
        line: u32,
    },
}

impl FindingKind {
    /// Whether a launch stops where it is found.
    pub fn is_fatal(&self) -> bool {
        match self {
            FindingKind::Uninitialized(_)
            | FindingKind::UndefinedRegister { .. }
            | FindingKind::Race(_)
            | FindingKind::MissingProxyFence(_)
            | FindingKind::MbarrierTouched(_)
            | FindingKind::UnheededWait { .. }
            | FindingKind::TransactionCount(_)
            | FindingKind::SwizzleMismatch(_)
            | FindingKind::UnfinishedCopy(..)
            | FindingKind::ExitedBlock(_)
            | FindingKind::BeforePreviousGrid(_)
            | FindingKind::StateLeft { .. }
            | FindingKind::NeverExecuted { .. }
            | FindingKind::TooFewRegisters(_)
            | FindingKind::UnorderedWgmma(..) => false,
            FindingKind::OutOfBounds { .. }
            | FindingKind::Misaligned(_)
            | FindingKind::DivergentBarrier { .. }
            | FindingKind::InvalidBarrier(_)
            | FindingKind::InvalidMask(_)
            | FindingKind::InvalidMbarrier(..)
            | FindingKind::InvalidBulkCopy(_)
            | FindingKind::InvalidCluster(_)
            | FindingKind::InvalidCall(_)
            | FindingKind::InvalidRegisters(_)
            | FindingKind::InvalidWgmma(_)
            | FindingKind::Deadlock { .. }
            | FindingKind::Trap
            | FindingKind::Assertion { .. } => true,
        }
    }

    /// Its severity in a launch with these options, at this instruction.
    pub(crate) fn severity(&self, options: &Options, at: Option<&Instruction>) -> Severity {
        match self {
            FindingKind::ExitedBlock(_) if !options.sanitize => Severity::Warning,
            // The kernel computes the same without `setmaxnreg`.
            FindingKind::TooFewRegisters(_) => Severity::Warning,
            FindingKind::MissingProxyFence(_) if at.is_some_and(|at| at.in_library) => {
                Severity::Note
            }
            FindingKind::Uninitialized(_) if at.is_some_and(|at| at.in_cub) => Severity::Note,
            FindingKind::StateLeft { .. } if !options.relaunched => Severity::Note,
            FindingKind::NeverExecuted { .. } => Severity::Note,
            FindingKind::StateLeft { .. }
            | FindingKind::ExitedBlock(_)
            | FindingKind::MissingProxyFence(_)
            | FindingKind::OutOfBounds { .. }
            | FindingKind::Misaligned(_)
            | FindingKind::Uninitialized(_)
            | FindingKind::UndefinedRegister { .. }
            | FindingKind::Race(_)
            | FindingKind::MbarrierTouched(_)
            | FindingKind::UnheededWait { .. }
            | FindingKind::DivergentBarrier { .. }
            | FindingKind::InvalidBarrier(_)
            | FindingKind::InvalidMask(_)
            | FindingKind::InvalidMbarrier(..)
            | FindingKind::TransactionCount(_)
            | FindingKind::SwizzleMismatch(_)
            | FindingKind::InvalidBulkCopy(_)
            | FindingKind::UnfinishedCopy(..)
            | FindingKind::InvalidCluster(_)
            | FindingKind::InvalidCall(_)
            | FindingKind::InvalidRegisters(_)
            | FindingKind::InvalidWgmma(_)
            | FindingKind::UnorderedWgmma(..)
            | FindingKind::BeforePreviousGrid(_)
            | FindingKind::Deadlock { .. }
            | FindingKind::Trap
            | FindingKind::Assertion { .. } => Severity::Error,
        }
    }

    /// The other instruction that takes part, and the bytes in question, for the kinds that have them.
    pub(super) fn other_and_address(&self) -> (Option<&Location>, Option<(Space, u64)>) {
        match self {
            FindingKind::Race(conflict)
            | FindingKind::MissingProxyFence(conflict)
            | FindingKind::MbarrierTouched(conflict) => (
                Some(&conflict.other),
                Some((conflict.space, conflict.address)),
            ),
            FindingKind::UnheededWait { access } => (Some(access), None),
            FindingKind::Misaligned(access)
            | FindingKind::Uninitialized(access)
            | FindingKind::BeforePreviousGrid(access) => {
                (None, Some((access.space, access.address)))
            }
            FindingKind::OutOfBounds { .. }
            | FindingKind::UndefinedRegister { .. }
            | FindingKind::DivergentBarrier { .. }
            | FindingKind::InvalidBarrier(_)
            | FindingKind::InvalidMask(_)
            | FindingKind::InvalidMbarrier(..)
            | FindingKind::TransactionCount(_)
            | FindingKind::SwizzleMismatch(_)
            | FindingKind::InvalidBulkCopy(_)
            | FindingKind::UnfinishedCopy(..)
            | FindingKind::ExitedBlock(_)
            | FindingKind::InvalidCluster(_)
            | FindingKind::InvalidCall(_)
            | FindingKind::InvalidRegisters(_)
            | FindingKind::TooFewRegisters(_)
            | FindingKind::InvalidWgmma(_)
            | FindingKind::UnorderedWgmma(..)
            | FindingKind::StateLeft { .. }
            | FindingKind::NeverExecuted { .. }
            | FindingKind::Deadlock { .. }
            | FindingKind::Trap
            | FindingKind::Assertion { .. } => (None, None),
        }
    }
}
