//! Clusters: their barrier, and how their CTAs end.
use super::Simulator;
use super::state::Item;
use crate::stall::Stall;

impl Simulator<'_> {
    pub(super) fn cluster_arrive(&mut self, number: usize, time: f64) {
        let cluster = self.ctas[self.warps[number].cta].cluster;
        let state = &mut self.clusters[cluster];
        state.arrived += 1;
        if state.arrived < state.warps {
            return;
        }
        state.arrived = 0;
        state.phase += 1;
        state.at = time + self.card.latency.cluster_barrier;
        let at = state.at;
        for warp in std::mem::take(&mut state.parked) {
            self.unpark(warp, at, Stall::Barrier);
        }
    }

    pub(super) fn cluster_wait(&mut self, number: usize, time: f64) -> bool {
        let cluster = self.ctas[self.warps[number].cta].cluster;
        let state = &mut self.clusters[cluster];
        if state.arrived > 0 {
            state.parked.push(number);
            return true;
        }
        let at = state.at;
        if at > time {
            let warp = &mut self.warps[number];
            (warp.released, warp.why) = (at, Stall::Barrier);
        }
        false
    }

    pub(super) fn exit(&mut self, number: usize, time: f64) {
        let cta = self.warps[number].cta;
        self.ctas[cta].alive -= 1;
        if self.ctas[cta].alive > 0 {
            return;
        }
        let state = &mut self.clusters[self.ctas[cta].cluster];
        state.alive -= 1;
        if state.alive == 0 {
            let number = state.number;
            self.result.ends[number] = time;
            self.push(time + self.card.latency.cta, Item::Refill);
        }
    }
}
