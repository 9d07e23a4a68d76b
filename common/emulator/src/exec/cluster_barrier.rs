//! `barrier.cluster`: all threads of a cluster's blocks (PTX ISA, "barrier.cluster").
use super::block::{Common, Execution};
use super::step::Stop;
use super::warp::{State, Warp};
use super::warp_sync::{Arrival, Pause, Synced};
use crate::finding::FindingKind;
use crate::op::ClusterBarrier;

impl Warp {
    pub(super) fn cluster_barrier(
        &mut self,
        barrier: ClusterBarrier,
        at: Arrival,
        cx: &mut Execution<'_>,
    ) -> Synced {
        let own = self.part(at, |_| true);
        let at = self.gather_if(barrier.aligned, own, at, cx)?;
        let own = at.mask;
        let known = self.cluster_arrived | self.cluster_released;
        let reason = match barrier.wait {
            true if own & !known != 0 => Some("it waits without having arrived"),
            false if own & known != 0 => Some("it arrives again before it has waited"),
            _ => None,
        };
        if let Some(reason) = reason {
            let reason = format!("barrier.cluster: {reason}");
            self.report(FindingKind::InvalidCluster(reason), at.pc, own, cx);
            return Err(Pause::Stop(Stop::Fatal));
        }
        if !barrier.wait {
            self.cluster_arrived |= own;
            let view = &mut cx.common.arriving;
            if barrier.relaxed {
                cx.order.release_relaxed(self.actor, own, view);
            } else {
                cx.order.release(self.actor, own, self.alive, view);
            }
            cx.common.arrived = true;
            cx.block.activity += 1;
        } else if own & !self.cluster_released != 0 {
            return self.wait(at, own, State::Cluster, cx);
        } else {
            self.note_barrier(cx);
            self.cluster_released &= !own;
            if !barrier.relaxed {
                cx.order
                    .acquire(self.actor, own, self.alive, &cx.common.released);
            }
        }
        Ok((own, at.join))
    }
}

/// Releases the threads at the cluster's barrier if all threads that have not exited have arrived.
pub(super) fn release_cluster(common: &mut Common, warps: &mut [Warp]) {
    let missing = |warp: &Warp| warp.alive & !warp.cluster_arrived != 0;
    if !common.arrived || warps.iter().any(missing) {
        return;
    }
    common.arrived = false;
    common.released = common.arriving.clone();
    for warp in warps {
        warp.cluster_released |= warp.cluster_arrived & warp.alive;
        warp.cluster_arrived = 0;
        for split in &mut warp.splits {
            if split.state == State::Cluster {
                split.state = State::Ready;
            }
        }
    }
}
