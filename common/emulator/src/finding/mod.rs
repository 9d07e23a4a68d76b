//! The mistakes found by a run.
mod kind;
mod merge;
mod text;

pub use kind::{
    AccessKind, Arrivals, Conflict, FindingKind, MbarrierMisuse, MemoryAccess, Synchronization,
    UndefinedUse, WaitingThreads, WaitsAt, WgmmaOrder,
};
pub(crate) use merge::Findings;

use std::sync::Arc;

use crate::Space;
use crate::program::{Callee, SourceLine};

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
    /// Line of the CUDA source: usually of the call, if the instruction is in an inlined function.
    pub source: Option<SourceLine>,
    /// The inlined function, its line, and that of the call.
    pub callee: Option<Arc<Callee>>,
    /// For a `wgmma`, which four warps execute together: the warp that issued it.
    pub warpgroup_warp: Option<u32>,
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

    /// The other instruction, if two take part.
    fn other(&self) -> Option<&Location> {
        self.kind.other_and_address().0
    }

    /// The space and the address of the access.
    pub(crate) fn address(&self) -> Option<(Space, u64)> {
        self.kind.other_and_address().1
    }
}
