//! The mistakes found by a run, reported in compute-sanitizer's terms.
use std::collections::HashMap;
use std::fmt;
use std::mem::{Discriminant, discriminant};

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

/// A thread and the instruction it was at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// `threadIdx`.
    pub thread: [u32; 3],
    /// `blockIdx`.
    pub block: [u32; 3],
    /// Index into [`crate::Function::instructions`].
    pub instruction: usize,
    /// 1-based line of the PTX.
    pub ptx_line: u32,
    /// Line of the CUDA source.
    pub source: Option<SourceLine>,
}

/// One mistake, and where it was first seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What is wrong.
    pub kind: FindingKind,
    /// Where it was first seen.
    pub location: Location,
    /// How often it was seen at this line (for a race, against the same other line).
    pub count: u64,
    /// How bad it is.
    pub severity: Severity,
    /// The variable or allocation that holds the bytes in question, and the offset in it.
    pub symbol: Option<(String, u64)>,
    /// The order of warps that shows it ([`Options::schedule`](crate::Options::schedule)), if it is not the requested
    /// one: `sanitize` runs a launch twice.
    pub schedule: Option<u64>,
    /// Where it was first seen in the steps of a block that is stepped through ([`crate::Snapshot::steps`]).
    pub step: Option<usize>,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It may be intended, or the kernel's author cannot fix it.
    Note,
    /// A mistake after which the launch continued, as it may on a GPU; `sanitize` reports it as an error.
    Warning,
    /// A mistake.
    Error,
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
    /// A factor or an addend of a matrix product.
    Matrix,
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
    /// Another operation on an mbarrier: its initialisation, an arrival, or a change of its expected bytes.
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
    /// Whether the other access was the initialisation of an mbarrier.
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

/// What can be wrong. A `String` gives the details in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FindingKind {
    /// memcheck: no allocation holds these bytes.
    OutOfBounds {
        /// What was tried.
        access: MemoryAccess,
        /// Where the address points, in words.
        nearest: String,
    },
    /// memcheck: the address is not a multiple of the access's size.
    Misaligned(MemoryAccess),
    /// initcheck: no thread has written the bytes that are read.
    Uninitialised(MemoryAccess),
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
    /// An mbarrier instruction at an address without an mbarrier, or with counts out of range (PTX
    /// ISA, "mbarrier").
    InvalidMbarrier(String),
    /// `mbarrier.try_wait` may return false when its time limit expires; the thread ignored that and continued to this
    /// access (PTX ISA, "mbarrier.try_wait").
    UnheededWait {
        /// The access that the wait should have preceded.
        access: Box<Location>,
    },
    /// All arrivals of an mbarrier's phase have come, but its tx-count is not zero: it can never complete.
    /// Reported at `expect_tx`; how many bytes are missing or too many.
    TransactionCount(String),
    /// A `wgmma` reads a tile with a different swizzle from the bulk copy that wrote it: which operand, and both
    /// swizzles.
    SwizzleMismatch(String),
    /// A bulk copy that no hardware can execute: alignment, size, tensor map.
    InvalidBulkCopy(String),
    /// The block has exited while a bulk copy may still read or write its shared memory: which copy no thread waited
    /// for.
    UnfinishedCopy(String),
    /// An access to shared memory of a block of the cluster that has exited, or may have: which block, and which
    /// access.
    ExitedBlock(String),
    /// synccheck: arrivals and waits at a cluster's barrier out of order, or a rank beyond the cluster.
    InvalidCluster(String),
    /// A call of an address where no function starts, or a call stack overflow.
    InvalidCall(String),
    /// `setmaxnreg` that the block's registers cannot satisfy.
    InvalidRegisters(String),
    /// synccheck: a `wgmma` that no hardware can execute: an invalid descriptor, or not executed by a whole warpgroup.
    InvalidWgmma(String),
    /// synccheck: registers of a `wgmma` are accessed without the fence or wait that orders them, or no
    /// thread waits for it.
    UnorderedWgmma(String),
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
        waiting: Vec<String>,
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

impl Finding {
    /// A finding that was seen once.
    pub(crate) fn new(kind: FindingKind, location: Location) -> Self {
        let (count, severity) = (1, Severity::Error);
        Self {
            kind,
            location,
            count,
            severity,
            symbol: None,
            schedule: None,
            step: None,
        }
    }

    /// Whether the launch stopped here, so that there are no counters.
    pub fn is_fatal(&self) -> bool {
        self.schedule.is_none() && self.kind.is_fatal()
    }

    /// Puts the two sides of a race in program order: which of them is detected depends on the order
    /// of the warps.
    fn order(&mut self) {
        if let FindingKind::Race(Conflict {
            access,
            other_access,
            other,
            is_later,
            ..
        }) = &mut self.kind
        {
            let key = |location: &Location| (location.instruction, location.linear());
            if key(&self.location) < key(other) {
                std::mem::swap(access, other_access);
                *is_later = !*is_later;
                std::mem::swap(&mut self.location, other);
            }
        }
    }
    /// The other thread, if two are involved.
    fn other(&self) -> Option<&Location> {
        match &self.kind {
            FindingKind::Race(conflict)
            | FindingKind::MissingProxyFence(conflict)
            | FindingKind::MbarrierTouched(conflict) => Some(&conflict.other),
            FindingKind::UnheededWait { access } => Some(access),
            FindingKind::OutOfBounds { .. }
            | FindingKind::Misaligned(_)
            | FindingKind::Uninitialised(_)
            | FindingKind::UndefinedRegister { .. }
            | FindingKind::DivergentBarrier { .. }
            | FindingKind::InvalidBarrier(_)
            | FindingKind::InvalidMbarrier(_)
            | FindingKind::TransactionCount(_)
            | FindingKind::SwizzleMismatch(_)
            | FindingKind::InvalidBulkCopy(_)
            | FindingKind::UnfinishedCopy(_)
            | FindingKind::ExitedBlock(_)
            | FindingKind::InvalidCluster(_)
            | FindingKind::InvalidCall(_)
            | FindingKind::InvalidRegisters(_)
            | FindingKind::InvalidWgmma(_)
            | FindingKind::UnorderedWgmma(_)
            | FindingKind::BeforePreviousGrid(_)
            | FindingKind::StateLeft { .. }
            | FindingKind::NeverExecuted { .. }
            | FindingKind::Deadlock { .. }
            | FindingKind::Trap
            | FindingKind::Assertion { .. } => None,
        }
    }

    /// The space and the address of the access.
    pub(crate) fn address(&self) -> Option<(Space, u64)> {
        match &self.kind {
            FindingKind::Race(conflict)
            | FindingKind::MissingProxyFence(conflict)
            | FindingKind::MbarrierTouched(conflict) => Some((conflict.space, conflict.address)),
            FindingKind::Misaligned(access)
            | FindingKind::Uninitialised(access)
            | FindingKind::BeforePreviousGrid(access) => Some((access.space, access.address)),
            FindingKind::OutOfBounds { .. }
            | FindingKind::UndefinedRegister { .. }
            | FindingKind::UnheededWait { .. }
            | FindingKind::DivergentBarrier { .. }
            | FindingKind::InvalidBarrier(_)
            | FindingKind::InvalidMbarrier(_)
            | FindingKind::TransactionCount(_)
            | FindingKind::SwizzleMismatch(_)
            | FindingKind::InvalidBulkCopy(_)
            | FindingKind::UnfinishedCopy(_)
            | FindingKind::ExitedBlock(_)
            | FindingKind::InvalidCluster(_)
            | FindingKind::InvalidCall(_)
            | FindingKind::InvalidRegisters(_)
            | FindingKind::InvalidWgmma(_)
            | FindingKind::UnorderedWgmma(_)
            | FindingKind::StateLeft { .. }
            | FindingKind::NeverExecuted { .. }
            | FindingKind::Deadlock { .. }
            | FindingKind::Trap
            | FindingKind::Assertion { .. } => None,
        }
    }

    fn threads(&self) -> ([u32; 3], [u32; 3]) {
        let other = self.other().map_or([0; 3], Location::linear);
        (self.location.linear(), other)
    }
}

impl FindingKind {
    /// Whether a launch stops where it is found.
    pub fn is_fatal(&self) -> bool {
        match self {
            FindingKind::Uninitialised(_)
            | FindingKind::UndefinedRegister { .. }
            | FindingKind::Race(_)
            | FindingKind::MissingProxyFence(_)
            | FindingKind::MbarrierTouched(_)
            | FindingKind::UnheededWait { .. }
            | FindingKind::TransactionCount(_)
            | FindingKind::SwizzleMismatch(_)
            | FindingKind::UnfinishedCopy(_)
            | FindingKind::ExitedBlock(_)
            | FindingKind::BeforePreviousGrid(_)
            | FindingKind::StateLeft { .. }
            | FindingKind::NeverExecuted { .. }
            | FindingKind::UnorderedWgmma(_) => false,
            FindingKind::OutOfBounds { .. }
            | FindingKind::Misaligned(_)
            | FindingKind::DivergentBarrier { .. }
            | FindingKind::InvalidBarrier(_)
            | FindingKind::InvalidMbarrier(_)
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
            FindingKind::MissingProxyFence(_) if at.is_some_and(|at| at.in_library) => {
                Severity::Note
            }
            FindingKind::Uninitialised(_) if at.is_some_and(|at| at.in_cub) => Severity::Note,
            FindingKind::StateLeft { .. } if !options.relaunched => Severity::Note,
            FindingKind::NeverExecuted { .. } => Severity::Note,
            FindingKind::StateLeft { .. }
            | FindingKind::ExitedBlock(_)
            | FindingKind::MissingProxyFence(_)
            | FindingKind::OutOfBounds { .. }
            | FindingKind::Misaligned(_)
            | FindingKind::Uninitialised(_)
            | FindingKind::UndefinedRegister { .. }
            | FindingKind::Race(_)
            | FindingKind::MbarrierTouched(_)
            | FindingKind::UnheededWait { .. }
            | FindingKind::DivergentBarrier { .. }
            | FindingKind::InvalidBarrier(_)
            | FindingKind::InvalidMbarrier(_)
            | FindingKind::TransactionCount(_)
            | FindingKind::SwizzleMismatch(_)
            | FindingKind::InvalidBulkCopy(_)
            | FindingKind::UnfinishedCopy(_)
            | FindingKind::InvalidCluster(_)
            | FindingKind::InvalidCall(_)
            | FindingKind::InvalidRegisters(_)
            | FindingKind::InvalidWgmma(_)
            | FindingKind::UnorderedWgmma(_)
            | FindingKind::BeforePreviousGrid(_)
            | FindingKind::Deadlock { .. }
            | FindingKind::Trap
            | FindingKind::Assertion { .. } => Severity::Error,
        }
    }
}

impl AccessKind {
    /// As compute-sanitizer's racecheck writes it.
    fn title(self) -> &'static str {
        match self {
            AccessKind::Read => "Read",
            AccessKind::Write => "Write",
            AccessKind::Atomic => "Atomic",
            AccessKind::AsyncRead => "Asynchronous Read",
            AccessKind::AsyncWrite => "Asynchronous Write",
        }
    }
}

impl fmt::Display for UndefinedUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UndefinedUse::Address => "used as an address",
            UndefinedUse::Condition => "used as a condition",
            UndefinedUse::Store => "stored to memory",
            UndefinedUse::Matrix => "used in a matrix product",
            UndefinedUse::Operand => "used as an operand",
        })
    }
}

impl fmt::Display for Synchronization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Synchronization::Copy => "an asynchronous copy",
            Synchronization::Wait => "a wait",
            Synchronization::Barrier => "a barrier",
            Synchronization::Fence => "a fence",
            Synchronization::Arrival => "an operation on an mbarrier",
        })
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

impl fmt::Display for AccessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.title().to_lowercase())
    }
}

impl Location {
    /// Sorts like the thread's linear number in its block.
    fn linear(&self) -> [u32; 3] {
        let [x, y, z] = self.thread;
        [z, y, x]
    }
    fn spot(&self) -> Spot {
        match &self.source {
            Some(line) => Spot::Line(line.clone()),
            None => Spot::Instruction(self.instruction),
        }
    }
    /// The line of the source and the line of the PTX.
    pub fn at(&self) -> String {
        match &self.source {
            Some(source) => format!("{source} (PTX line {})", self.ptx_line),
            None => format!("PTX line {}", self.ptx_line),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([x, y, z], [bx, by, bz]) = (self.thread, self.block);
        let at = self.at();
        write!(
            f,
            "{at}\n    by thread ({x},{y},{z}) in block ({bx},{by},{bz})"
        )
    }
}

/// The last line of a report.
impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {} address 0x{:x}", self.space, self.address)
    }
}

impl fmt::Display for MemoryAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} of size {} bytes",
            self.space, self.access, self.bytes
        )
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let here = self.location.to_string();
        let mut report = |title: &str, detail: &str| {
            write!(f, "{title}\n    at {here}")?;
            detail
                .lines()
                .try_for_each(|line| write!(f, "\n    {line}"))
        };
        match &self.kind {
            FindingKind::OutOfBounds { access, nearest } => report(
                &format!("Invalid {access}"),
                &format!(
                    "Access at 0x{:x} is out of bounds\nand is {nearest}",
                    access.address
                ),
            ),
            FindingKind::Misaligned(access) => report(
                &format!("Invalid {access}"),
                &format!("Access at 0x{:x} is misaligned", access.address),
            ),
            FindingKind::Uninitialised(MemoryAccess {
                space,
                bytes,
                address,
                ..
            }) => report(
                &format!("Uninitialized {space} memory read of size {bytes} bytes"),
                &format!("Access at 0x{address:x}"),
            ),
            FindingKind::UndefinedRegister { of, first_read } => {
                let detail = first_read.as_ref().map_or(String::new(), |first| {
                    format!(
                        "read at {} before any instruction had written it",
                        first.at()
                    )
                });
                report(&format!("Uninitialized register {of}"), &detail)
            }
            FindingKind::Race(conflict) => write!(
                f,
                "Race reported between {} access at {}\n    and {} access at {here}\n    {conflict}",
                conflict.other_access.title(),
                conflict.other,
                conflict.access.title()
            ),
            FindingKind::MissingProxyFence(conflict) if conflict.of_init => write!(
                f,
                "Missing fence.mbarrier_init before an {} at {here}\n    at the mbarrier initialised at {}\n    {conflict}",
                conflict.access, conflict.other
            ),
            FindingKind::MissingProxyFence(conflict) => write!(
                f,
                "Missing fence.proxy.async before an {} at {here}\n    of what was written at {}\n    {conflict}",
                conflict.access, conflict.other
            ),
            FindingKind::MbarrierTouched(conflict) => write!(
                f,
                "Invalid {} of an mbarrier at {here}\n    initialised at {}\n    {conflict}",
                conflict.access, conflict.other
            ),
            FindingKind::DivergentBarrier { missing } => report(
                "Barrier error detected. Divergent thread(s) in warp",
                &format!("{missing} live threads of the warp are elsewhere"),
            ),
            FindingKind::InvalidBarrier(why) => {
                report("Barrier error detected. Invalid arguments", why)
            }
            FindingKind::InvalidMbarrier(why) => report("Invalid use of an mbarrier", why),
            FindingKind::UnheededWait { access } => report(
                "mbarrier.try_wait without a loop: it may return false before the phase is complete",
                &format!("the thread then goes on to {}", access.at()),
            ),
            FindingKind::TransactionCount(why) => report("Wrong transaction count", why),
            FindingKind::SwizzleMismatch(why) => {
                report("Swizzle mismatch between tensor map and descriptor", why)
            }
            FindingKind::InvalidBulkCopy(why) => report("Invalid bulk copy", why),
            FindingKind::UnfinishedCopy(why) => report("Unfinished bulk copy", why),
            FindingKind::ExitedBlock(why) => {
                report("Invalid access to a block that has exited", why)
            }
            FindingKind::InvalidCluster(why) => report("Invalid use of a cluster", why),
            FindingKind::InvalidCall(why) => report("Invalid call", why),
            FindingKind::InvalidRegisters(why) => report("Invalid setmaxnreg", why),
            FindingKind::InvalidWgmma(why) => report("Invalid wgmma", why),
            FindingKind::UnorderedWgmma(why) => report("Unordered wgmma", why),
            FindingKind::StateLeft {
                variables,
                consequence,
                ..
            } => report(
                &format!("State left for the next launch: {}", variables.join(", ")),
                &format!(
                    "a second launch on the same inputs has a different result: {consequence}"
                ),
            ),
            FindingKind::NeverExecuted { what, executed_by } => {
                let at = self.location.at();
                write!(f, "Never executed in this launch: {what}\n    at {at}")?;
                executed_by.as_ref().map_or(Ok(()), |by| {
                    write!(f, "\n    a launch with {by} executes it")
                })
            }
            FindingKind::BeforePreviousGrid(access) => report(
                &format!("Access before griddepcontrol.wait: {access}"),
                &format!(
                    "Access at 0x{:x}, while the previous launch may still be using it",
                    access.address
                ),
            ),
            FindingKind::Deadlock { waiting } => {
                report("Deadlock: no thread can go on", &waiting.join("\n"))
            }
            FindingKind::Trap => report("Trap instruction executed", ""),
            FindingKind::Assertion {
                message,
                file,
                function,
                line,
            } => report(
                &format!("Assertion `{message}` failed"),
                &format!("{file}:{line}, in {function}"),
            ),
        }?;
        if let FindingKind::Race(conflict) = &self.kind
            && conflict.access == AccessKind::Write
            && conflict.other_access == AccessKind::Write
            && conflict.of_one_instruction
        {
            let why = "lanes of one instruction write different values: which of them is kept is undefined";
            write!(f, "\n    {why}")?;
        }
        if let Some((name, offset)) = &self.symbol {
            write!(f, "\n    which is {name} + 0x{offset:x}")?;
        }
        if self.count > 1 {
            write!(f, "\n    {} times in all", self.count)?;
        }
        if let Some(schedule) = self.schedule {
            write!(f, "\n    in another order of warps (schedule {schedule})")?;
        }
        Ok(())
    }
}

/// Where a reader looks for a mistake: a line of the CUDA source, which an unrolled loop turns into many
/// instructions, or the instruction if the line is not known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Spot {
    Line(SourceLine),
    Instruction(usize),
}

/// The findings of a launch, one for each mistake.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    list: Vec<Finding>,
    seen: HashMap<Key, usize>,
}

/// What makes two findings the same mistake.
type Key = (Discriminant<FindingKind>, Spot, Option<Spot>);

fn key(finding: &Finding) -> Key {
    let other = finding.other().map(Location::spot);
    (discriminant(&finding.kind), finding.location.spot(), other)
}

impl Findings {
    pub fn add(&mut self, mut finding: Finding) {
        finding.order();
        let key = key(&finding);
        let Some(known) = self.seen.get(&key).and_then(|&i| self.list.get_mut(i)) else {
            self.seen.insert(key, self.list.len());
            self.list.push(finding);
            return;
        };
        // Keeps the first thread of the first block, independent of the order in which warps ran.
        let (count, step) = (known.count + finding.count, known.step.or(finding.step));
        if known.location.block == finding.location.block && finding.threads() < known.threads() {
            *known = finding;
        }
        (known.count, known.step) = (count, step);
    }

    /// Adds a finding of another launch, unless it is already known.
    pub fn add_new(&mut self, mut finding: Finding) {
        finding.order();
        if !self.seen.contains_key(&key(&finding)) {
            self.add(finding);
        }
    }

    pub fn take(&mut self) -> Vec<Finding> {
        self.seen.clear();
        std::mem::take(&mut self.list)
    }
}
