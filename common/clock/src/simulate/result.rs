//! What comes of a simulation.
use crate::class::PIPES;
use crate::memory::MemoryBusy;
use crate::stall::{STALLS, Stall};

/// What a warp did for some clocks.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Span {
    /// The SM in the cluster, and the CTA in the order of their start.
    pub sm: u32,
    /// The CTA in the order of their start.
    pub cta: u32,
    /// The warp in its CTA.
    pub warp: u32,
    /// Clocks.
    pub from: f64,
    /// Clocks.
    pub to: f64,
    /// The machine instruction that waited, or that was issued.
    pub instruction: u32,
    /// Why it waited; [`Stall::Selected`] for the clock of its issue.
    pub stall: Stall,
}

/// What an SM did beside its warps' issuing.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Activity {
    /// The SM in the cluster.
    pub sm: u32,
    /// What.
    pub what: Unit,
    /// Clocks.
    pub from: f64,
    /// Clocks.
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
    /// Loads and `cp.async` on their way from the L2.
    Loads,
    /// Boxes of TMA and other bulk copies on their way.
    BulkCopies,
    /// A phase of an mbarrier, from the completion of the one before.
    Phase,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Simulation {
    /// When each cluster ended, in clocks from the start of the first, in their order.
    pub ends: Vec<f64>,
    /// For each machine instruction, clocks of warps by [`STALLS`].
    pub stalls: Vec<[f64; STALLS.len()]>,
    /// Warp instructions issued.
    pub issued: u64,
    /// Clocks for which a pipe of a sub-partition was busy, summed over the sub-partitions of all simulated SMs.
    pub busy: [f64; PIPES],
    /// Clocks for which shared memory's data pipe was busy, over all simulated SMs.
    pub shared_busy: f64,
    /// Clocks for which the memory behind the SMs was busy.
    pub memory: MemoryBusy,
    /// SMs that were simulated.
    pub sms: u32,
    /// What warps did, if a window was asked for.
    pub spans: Vec<Span>,
    /// What else the SM did in that window.
    pub activities: Vec<Activity>,
    /// When the warp with the longest program, in the first CTA, came to what it waits at most often.
    pub steps: Vec<f64>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimulationError {
    /// Some warps wait for what never happens: what was walked through is not what ran.
    #[error("the model's warps wait for each other after {clocks} clocks, at PTX line {line}")]
    Stuck {
        /// When.
        clocks: u64,
        /// Where the first of them waits.
        line: u32,
    },
    /// There is nothing to simulate.
    #[error("no warp was traced")]
    Nothing,
}

/// Keeps a span that is in the window.
pub(super) fn keep(spans: &mut Vec<Span>, window: Option<(f64, f64)>, span: impl FnOnce() -> Span) {
    if let Some((from, to)) = window {
        let span = span();
        if span.to > from && span.from < to {
            spans.push(span);
        }
    }
}
