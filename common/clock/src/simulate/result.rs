//! The output of a simulation.
use crate::class::PIPES;
use crate::memory::MemoryBusy;
use crate::stall::{STALLS, Stall};

/// A span of time in which a warp did one thing.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Span {
    /// The SM in the cluster.
    pub sm: u32,
    /// The CTA, numbered by start.
    pub cta: u32,
    /// The warp in its CTA.
    pub warp: u32,
    /// Start, in clocks.
    pub from: f64,
    /// End, in clocks.
    pub to: f64,
    /// The machine instruction that waited or was issued.
    pub instruction: u32,
    /// Why it waited; [`Stall::Selected`] in the clock in which it issued.
    pub stall: Stall,
}

/// Something that an SM did apart from issuing.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Activity {
    /// The SM in the cluster.
    pub sm: u32,
    /// The part of the SM.
    pub what: Unit,
    /// Start, in clocks.
    pub from: f64,
    /// End, in clocks.
    pub to: f64,
}

/// A part of an SM that is not a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Tensor cores of a sub-partition.
    Tensor,
    /// The data pipe of shared memory and the L1.
    SharedMemory,
    /// Loads and `cp.async` in flight from the L2.
    Loads,
    /// Bulk copies in flight, such as TMA boxes.
    BulkCopies,
    /// A phase of an mbarrier, starting when the previous phase completed.
    Phase,
}

/// The output of a simulation.
#[derive(Clone, Debug, Default)]
pub struct Simulation {
    /// When each cluster ended, in clocks from the start of the first.
    pub ends: Vec<f64>,
    /// For each machine instruction, warp clocks by [`STALLS`].
    pub stalls: Vec<[f64; STALLS.len()]>,
    /// Warp instructions issued.
    pub issued: u64,
    /// Clocks for which each pipe was busy, summed over the sub-partitions of all simulated SMs.
    pub busy: [f64; PIPES],
    /// Clocks for which shared memory's data pipe was busy, over all simulated SMs.
    pub shared_busy: f64,
    /// Clocks for which the memory behind the SMs was busy.
    pub memory: MemoryBusy,
    /// Simulated SMs.
    pub sms: u32,
    /// What warps did, if a window was requested.
    pub spans: Vec<Span>,
    /// What else the SM did in that window.
    pub activities: Vec<Activity>,
    /// When the warp with the longest program, in the first CTA, reached the wait that it executes most often.
    pub steps: Vec<f64>,
}

/// Why a simulation has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimulationError {
    /// Some warps wait for something that never happens: the walk is not what ran.
    #[error("the model's warps wait for each other after {clocks} clocks, at PTX line {line}")]
    Stuck {
        /// When it got stuck.
        clocks: u64,
        /// The PTX line where the first of them waits.
        line: u32,
    },
    /// There is nothing to simulate.
    #[error("no warp was traced")]
    Nothing,
}

/// Records a span that is in the window.
pub(super) fn keep(spans: &mut Vec<Span>, window: Option<(f64, f64)>, span: impl FnOnce() -> Span) {
    if let Some((from, to)) = window {
        let span = span();
        if span.to > from && span.from < to {
            spans.push(span);
        }
    }
}
