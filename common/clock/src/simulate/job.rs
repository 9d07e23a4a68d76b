//! The input of a simulation.
use std::sync::Arc;

use emulator::{TraceLine, WarpTrace};

use crate::path::Step;
use crate::sharing::Sharing;

/// The program of a warp.
#[derive(Clone, Debug)]
pub struct Program<'a> {
    /// Machine instructions in issue order; warps that took the same path share them.
    pub steps: Arc<[Step]>,
    /// The trace that says what they do.
    pub trace: &'a WarpTrace,
    /// For each event, the index of its first effect.
    effects: Arc<[u32]>,
}

impl<'a> Program<'a> {
    /// From a walk and the trace that it follows.
    pub fn new(steps: Arc<[Step]>, trace: &'a WarpTrace) -> Self {
        let mut effects = Vec::with_capacity(trace.events.len() + 1);
        let mut next = 0;
        for event in 0..=trace.events.len() as u32 {
            while (trace.effects.get(next)).is_some_and(|effect| effect.event < event) {
                next += 1;
            }
            effects.push(next as u32);
        }
        Self {
            steps,
            trace,
            effects: effects.into(),
        }
    }

    /// The same warp with other steps of the same trace.
    pub(crate) fn with_steps(&self, steps: Arc<[Step]>) -> Self {
        Self {
            steps,
            trace: self.trace,
            effects: self.effects.clone(),
        }
    }

    pub(super) fn effects(&self, event: u32) -> &[emulator::TraceEffect] {
        let at = event as usize;
        let (from, to) = (self.effects[at], self.effects.get(at + 1));
        let to = to.copied().unwrap_or(self.trace.effects.len() as u32);
        &self.trace.effects[from as usize..to as usize]
    }

    pub(super) fn lines(&self, first: u32, count: u32) -> &[TraceLine] {
        let first = first as usize;
        self.trace
            .lines
            .get(first..first + count as usize)
            .unwrap_or_default()
    }
}

/// The input of a simulation.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// Clusters as traced: CTAs by rank, and the warps of each. A kernel without clusters has one CTA in each.
    pub clusters: Vec<Vec<Vec<Program<'a>>>>,
    /// CTAs resident on an SM.
    pub resident: u32,
    /// Clusters to run on the same SMs, one after the other; the traced ones repeat.
    pub count: u64,
    /// Bytes of shared memory that a CTA takes.
    pub shared_bytes: u32,
    /// How the CTAs of the launch share the memory system.
    pub sharing: Sharing,
    /// Record the spans of each warp between these clocks.
    pub window: Option<(f64, f64)>,
}
