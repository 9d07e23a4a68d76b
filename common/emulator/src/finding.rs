//! What a run found wrong, in the words of compute-sanitizer.
use std::collections::HashMap;
use std::fmt;
use std::mem::{Discriminant, discriminant};

use crate::program::SourceLine;

/// A state space, printed as compute-sanitizer does (`__shared__`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    /// `__global__`
    Global,
    /// `__shared__`
    Shared,
    /// `__local__`
    Local,
    /// `__constant__`
    Const,
    /// Kernel parameters.
    Param,
    /// A generic address that lies in no space.
    Generic,
}

/// Read, write or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Access {
    /// A load.
    Read,
    /// A store.
    Write,
    /// `atom` or `red`.
    Atomic,
    /// A read by the async proxy: a bulk copy's source, a `wgmma`'s operand.
    AsyncRead,
    /// A write by the async proxy: what a bulk copy brings.
    AsyncWrite,
}

/// A thread and the instruction it was at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// `threadIdx`.
    pub thread: [u32; 3],
    /// `blockIdx`.
    pub block: [u32; 3],
    /// Index into [`crate::Program::instructions`].
    pub instruction: usize,
    /// 1-based line of the PTX.
    pub ptx_line: u32,
    /// Line of the CUDA source.
    pub source: Option<SourceLine>,
}

/// One mistake, with the first place where it was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What is wrong.
    pub kind: Kind,
    /// Where it was first seen.
    pub place: Place,
    /// How often it was seen, at this line (and, for a race, against the same other one).
    pub count: u64,
}

/// What can be wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// memcheck: no allocation holds these bytes.
    OutOfBounds {
        /// Where the address points.
        space: Space,
        /// What was tried.
        access: Access,
        /// Size of the access.
        bytes: u32,
        /// Address in its space.
        address: u64,
        /// Where the address lies, in words.
        nearest: String,
    },
    /// memcheck: the address is no multiple of the access's size.
    Misaligned {
        /// Where the address points.
        space: Space,
        /// What was tried.
        access: Access,
        /// Size of the access.
        bytes: u32,
        /// Address in its space.
        address: u64,
    },
    /// initcheck: nobody wrote what is read.
    Uninitialised {
        /// Where the address points.
        space: Space,
        /// Size of the access.
        bytes: u32,
        /// Address in its space.
        address: u64,
    },
    /// racecheck: two threads, no order between them, and at least one of them writes.
    Race {
        /// What this thread did.
        access: Access,
        /// What the other had done.
        other_access: Access,
        /// The other thread.
        other: Box<Place>,
        /// Address in shared memory.
        address: u64,
    },
    /// The async proxy reads or overwrites what a thread wrote before, and though the two are ordered, no
    /// `fence.proxy.async` stands between them (PTX ISA, "Proxies" and "membar/fence").
    MissingProxyFence {
        /// What the async proxy does.
        access: Access,
        /// The thread that wrote.
        other: Box<Place>,
        /// Address in shared memory.
        address: u64,
    },
    /// Something other than an mbarrier instruction touches an mbarrier between its `mbarrier.init` and
    /// `mbarrier.inval` (PTX ISA, "Size and alignment of mbarrier object").
    MbarrierTouched {
        /// What was tried.
        access: Access,
        /// The thread that initialised it.
        other: Box<Place>,
        /// Address in shared memory.
        address: u64,
    },
    /// synccheck: some threads of a warp are not at its barrier.
    DivergentBarrier {
        /// How many live threads of the warp are elsewhere.
        missing: u32,
    },
    /// synccheck: a barrier number above 15, or a thread count that is no multiple of 32.
    InvalidBarrier {
        /// What is wrong with it.
        reason: String,
    },
    /// An mbarrier instruction on what is no mbarrier, or with counts that it cannot take (PTX ISA,
    /// "mbarrier").
    InvalidMbarrier {
        /// What is wrong with it.
        reason: String,
    },
    /// All arrivals of an mbarrier's phase are there, but other bytes than were announced: it can never end.
    /// Placed where the bytes were announced.
    TransactionCount {
        /// How many bytes, and which way.
        reason: String,
    },
    /// A `wgmma` reads a tile with another swizzle than the bulk copy that brought it.
    SwizzleMismatch {
        /// Which operand, and both swizzles.
        reason: String,
    },
    /// A bulk copy that no hardware can execute: alignment, size, tensor map.
    InvalidBulkCopy {
        /// What is wrong with it.
        reason: String,
    },
    /// The block has exited, and a bulk copy may still read or write its shared memory.
    UnfinishedCopy {
        /// What nobody has waited for.
        reason: String,
    },
    /// Shared memory of a block of the cluster that has exited, or may have.
    ExitedBlock {
        /// Which block, and what was done.
        reason: String,
    },
    /// synccheck: a cluster's barrier used out of turn, or a block that the cluster does not have.
    InvalidCluster {
        /// What is wrong with it.
        reason: String,
    },
    /// `setmaxnreg` that the block's registers cannot satisfy.
    InvalidRegisters {
        /// What is wrong with it.
        reason: String,
    },
    /// synccheck: a `wgmma` that no hardware can execute: its descriptor, or who executes it.
    InvalidWgmma {
        /// What is wrong with it.
        reason: String,
    },
    /// synccheck: registers of a `wgmma` without the fence or the wait that orders them, or one that nobody
    /// waits for.
    UnorderedWgmma {
        /// What is wrong with it.
        reason: String,
    },
    /// Nobody can go on.
    Deadlock {
        /// What each warp that is left waits for.
        waiting: Vec<String>,
    },
    /// The kernel executed `trap`.
    Trap,
}

impl Finding {
    /// Whether the launch stopped here.
    pub fn is_fatal(&self) -> bool {
        !matches!(
            self.kind,
            Kind::Uninitialised { .. }
                | Kind::Race { .. }
                | Kind::MissingProxyFence { .. }
                | Kind::MbarrierTouched { .. }
                | Kind::TransactionCount { .. }
                | Kind::SwizzleMismatch { .. }
                | Kind::UnfinishedCopy { .. }
                | Kind::ExitedBlock { .. }
                | Kind::UnorderedWgmma { .. }
        )
    }
}

impl Finding {
    /// Puts the two sides of a race in the order of the text: which of them is noticed depends on the
    /// order of the warps.
    fn order(&mut self) {
        if let Kind::Race {
            access,
            other_access,
            other,
            ..
        } = &mut self.kind
        {
            let key = |place: &Place| (place.instruction, place.linear());
            if key(&self.place) < key(other) {
                std::mem::swap(access, other_access);
                std::mem::swap(&mut self.place, other);
            }
        }
    }

    /// The other thread, where two are involved.
    fn other(&self) -> Option<&Place> {
        match &self.kind {
            Kind::Race { other, .. }
            | Kind::MissingProxyFence { other, .. }
            | Kind::MbarrierTouched { other, .. } => Some(other),
            _ => None,
        }
    }

    fn threads(&self) -> ([u32; 3], [u32; 3]) {
        let other = self.other().map_or([0; 3], Place::linear);
        (self.place.linear(), other)
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Space::Global => "__global__",
            Space::Shared => "__shared__",
            Space::Local => "__local__",
            Space::Const => "__constant__",
            Space::Param => "parameter",
            Space::Generic => "generic",
        })
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Access::Read => "read",
            Access::Write => "write",
            Access::Atomic => "atomic",
            Access::AsyncRead => "asynchronous read",
            Access::AsyncWrite => "asynchronous write",
        })
    }
}

impl Place {
    /// Compares as the thread's number in its block.
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
    pub(crate) fn at(&self) -> String {
        match &self.source {
            Some(source) => format!("{source} (PTX line {})", self.ptx_line),
            None => format!("PTX line {}", self.ptx_line),
        }
    }
    fn by(&self) -> String {
        let ([x, y, z], [bx, by, bz]) = (self.thread, self.block);
        format!("thread ({x},{y},{z}) in block ({bx},{by},{bz})")
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, by) = (self.place.at(), self.place.by());
        match &self.kind {
            Kind::OutOfBounds {
                space,
                access,
                bytes,
                address,
                nearest,
            } => {
                writeln!(f, "Invalid {space} {access} of size {bytes} bytes")?;
                writeln!(f, "    at {at}\n    by {by}")?;
                write!(
                    f,
                    "    Access at 0x{address:x} is out of bounds\n    and is {nearest}"
                )?;
            }
            Kind::Misaligned {
                space,
                access,
                bytes,
                address,
            } => {
                writeln!(f, "Invalid {space} {access} of size {bytes} bytes")?;
                write!(
                    f,
                    "    at {at}\n    by {by}\n    Access at 0x{address:x} is misaligned"
                )?;
            }
            Kind::Uninitialised {
                space,
                bytes,
                address,
            } => {
                writeln!(f, "Uninitialized {space} memory read of size {bytes} bytes")?;
                write!(f, "    at {at}\n    by {by}\n    Access at 0x{address:x}")?;
            }
            Kind::Race {
                access,
                other_access,
                other,
                address,
            } => {
                let name = |access: &Access| match access {
                    Access::Read => "Read",
                    Access::Write => "Write",
                    Access::Atomic => "Atomic",
                    Access::AsyncRead => "Asynchronous Read",
                    Access::AsyncWrite => "Asynchronous Write",
                };
                writeln!(
                    f,
                    "Race reported between {} access at {}",
                    name(other_access),
                    other.at()
                )?;
                writeln!(f, "    by {}", other.by())?;
                writeln!(f, "    and {} access at {at}\n    by {by}", name(access))?;
                write!(f, "    at __shared__ address 0x{address:x}")?;
            }
            Kind::MissingProxyFence {
                access,
                other,
                address,
            } => {
                writeln!(f, "Missing fence.proxy.async before an {access} at {at}")?;
                writeln!(f, "    by {by}")?;
                writeln!(f, "    of what was written at {}", other.at())?;
                write!(
                    f,
                    "    by {}\n    at __shared__ address 0x{address:x}",
                    other.by()
                )?;
            }
            Kind::MbarrierTouched {
                access,
                other,
                address,
            } => {
                writeln!(f, "Invalid {access} of an mbarrier at {at}\n    by {by}")?;
                writeln!(f, "    initialised at {}", other.at())?;
                write!(
                    f,
                    "    by {}\n    at __shared__ address 0x{address:x}",
                    other.by()
                )?;
            }
            Kind::DivergentBarrier { missing } => {
                writeln!(f, "Barrier error detected. Divergent thread(s) in warp")?;
                write!(
                    f,
                    "    at {at}\n    by {by}\n    {missing} live threads of the warp are elsewhere"
                )?;
            }
            Kind::InvalidBarrier { reason } => {
                writeln!(f, "Barrier error detected. Invalid arguments")?;
                write!(f, "    at {at}\n    by {by}\n    {reason}")?;
            }
            Kind::InvalidMbarrier { reason } => {
                writeln!(f, "Invalid use of an mbarrier")?;
                write!(f, "    at {at}\n    by {by}\n    {reason}")?;
            }
            Kind::TransactionCount { reason } => {
                writeln!(f, "Wrong transaction count")?;
                write!(f, "    at {at}\n    by {by}\n    {reason}")?;
            }
            Kind::SwizzleMismatch { reason } => {
                writeln!(f, "Swizzle mismatch between tensor map and descriptor")?;
                write!(f, "    at {at}\n    by {by}\n    {reason}")?;
            }
            Kind::InvalidBulkCopy { reason } => {
                writeln!(f, "Invalid bulk copy")?;
                write!(f, "    at {at}\n    by {by}\n    {reason}")?;
            }
            Kind::UnfinishedCopy { reason } => {
                writeln!(f, "Unfinished bulk copy")?;
                write!(f, "    at {at}\n    by {by}\n    {reason}")?;
            }
            Kind::ExitedBlock { reason } => {
                writeln!(f, "Invalid access to a block that has exited")?;
                write!(f, "    at {at}\n    by {by}\n    {reason}")?;
            }
            Kind::InvalidCluster { reason } => {
                writeln!(f, "Invalid use of a cluster")?;
                write!(f, "    at {at}\n    by {by}\n    {reason}")?;
            }
            Kind::InvalidRegisters { reason } => {
                writeln!(f, "Invalid setmaxnreg")?;
                write!(f, "    at {at}\n    by {by}\n    {reason}")?;
            }
            Kind::InvalidWgmma { reason } => {
                writeln!(f, "Invalid wgmma")?;
                write!(f, "    at {at}\n    by {by}\n    {reason}")?;
            }
            Kind::UnorderedWgmma { reason } => {
                writeln!(f, "Unordered wgmma")?;
                write!(f, "    at {at}\n    by {by}\n    {reason}")?;
            }
            Kind::Deadlock { waiting } => {
                writeln!(f, "Deadlock: no thread can go on")?;
                write!(f, "    at {at}\n    by {by}")?;
                for line in waiting {
                    write!(f, "\n    {line}")?;
                }
            }
            Kind::Trap => write!(f, "Trap instruction executed\n    at {at}\n    by {by}")?,
        }
        if self.count > 1 {
            write!(f, "\n    {} times in all", self.count)?;
        }
        Ok(())
    }
}

/// Where a mistake stands for a reader: the line of the CUDA source, of which an unrolled loop makes many
/// instructions; without one the instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Spot {
    Line(SourceLine),
    Instruction(usize),
}

/// Findings of a launch, each mistake once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Findings {
    list: Vec<Finding>,
    seen: HashMap<(Discriminant<Kind>, Spot, Option<Spot>), usize>,
}

impl Findings {
    pub fn add(&mut self, mut finding: Finding) {
        finding.order();
        let other = finding.other().map(Place::spot);
        let key = (discriminant(&finding.kind), finding.place.spot(), other);
        let Some(known) = self.seen.get(&key).and_then(|&i| self.list.get_mut(i)) else {
            self.seen.insert(key, self.list.len());
            self.list.push(finding);
            return;
        };
        // The first thread of the first block, in whatever order the warps ran.
        let count = known.count + finding.count;
        if known.place.block == finding.place.block && finding.threads() < known.threads() {
            *known = finding;
        }
        known.count = count;
    }
    pub fn take(&mut self) -> Vec<Finding> {
        self.seen.clear();
        std::mem::take(&mut self.list)
    }
}
