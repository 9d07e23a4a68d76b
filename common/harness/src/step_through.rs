//! The instructions of the warps of one block, one by one, for stepping through a rung.
use std::rc::Rc;

use emulator::{Finding, Snapshot, SnapshotRequest, WarpTrace};

use crate::{Host, Kernel, Result, Rung, Settings, Target};

/// The first instructions of the first block, and information about the kernel.
pub struct StepThrough {
    /// The kernel.
    pub kernel: Rc<Kernel>,
    /// Steps in the emulator's order, with the changes to shared memory, and their operands.
    pub snapshot: Snapshot,
    /// Everything that the block's warps executed, by warp, with the effects on barriers and copies.
    pub traces: Vec<WarpTrace>,
    /// What `sanitize` finds in the first cluster.
    pub findings: Vec<Finding>,
}

impl StepThrough {
    /// Runs the first cluster on the emulator, as `sanitize` does, and keeps this many instructions of its first block.
    ///
    /// # Errors
    /// If it cannot be launched.
    pub fn new(rung: &Rung, settings: &Settings, target: &Target, most: usize) -> Result<Self> {
        let mut host = Host::new(rung, settings, target, None)?;
        host.run_one_cluster(Some(0));
        host.step_through(SnapshotRequest {
            steps: most,
            operands_of_steps: true,
            ..SnapshotRequest::default()
        });
        let finished = host.run()?;
        let report = finished.report.unwrap_or_default();
        let mut traces = report.traces;
        traces.retain(|trace| trace.block == [0, 0, 0]);
        Ok(Self {
            kernel: finished.kernel,
            snapshot: report.snapshot,
            traces,
            findings: report.findings,
        })
    }
}
