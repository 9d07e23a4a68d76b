//! `barrier.cluster`: all threads of a cluster's blocks (PTX ISA, "barrier.cluster").
use super::block::{Common, Context};
use super::meet::{Meeting, count};
use super::step::Stop;
use super::warp::{Split, State, Warp};
use crate::finding::Kind;
use crate::op::ClusterBarrier;

impl Warp {
    pub(super) fn cluster_barrier(
        &mut self,
        barrier: ClusterBarrier,
        pc: u32,
        (mask, active): (u32, u32),
        join: u32,
        cx: &mut Context<'_>,
    ) -> Meeting {
        let (mut own, mut join) = (self.part(pc, mask, active, join, |_| true), join);
        if barrier.aligned {
            if self.gather(pc, State::Mates, u32::MAX, own).is_none() {
                return self.wait(pc, own, join, State::Mates, active, cx);
            }
            (own, join) = self.unite(pc, State::Mates, own, join);
        }
        let known = self.cluster_arrived | self.cluster_released;
        let reason = match barrier.wait {
            true if own & !known != 0 => Some("it waits without having arrived"),
            false if own & known != 0 => Some("it arrives again before it has waited"),
            _ => None,
        };
        if let Some(reason) = reason {
            let reason = format!("barrier.cluster: {reason}");
            self.report(Kind::InvalidCluster { reason }, pc, own, cx);
            return Meeting::Stop(Stop::Fatal);
        }
        if !barrier.wait {
            self.cluster_arrived |= own;
            let view = &mut cx.common.arriving;
            if barrier.relaxed {
                cx.order.release_inits(self.actor, view);
            } else {
                cx.order.release(self.actor, own, self.alive, view);
            }
            cx.common.arrived = true;
            cx.block.activity += 1;
        } else if own & !self.cluster_released != 0 {
            let counters = &mut cx.tally.ops[pc as usize];
            counters.executions -= 1;
            counters.threads -= u64::from(active.count_ones());
            let state = State::Cluster;
            self.splits.push(Split {
                pc,
                mask: own,
                join,
                state,
            });
            return Meeting::Waiting;
        } else {
            self.cluster_released &= !own;
            if !barrier.relaxed {
                cx.order
                    .acquire(self.actor, own, self.alive, &cx.common.released);
            }
        }
        count(pc, active, own, cx);
        Meeting::Done((own, join))
    }
}

/// Lets go everybody at the cluster's barrier if all threads that are left have arrived.
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
