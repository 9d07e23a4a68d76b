//! `wgmma`: the queue of a warpgroup to the tensor cores.
use super::{PARTITIONS, Simulator, Unit, WARPGROUP};
use crate::class::{Class, Pipe};
use crate::stall::Stall;

impl Simulator<'_> {
    pub(super) fn wgmma(&mut self, number: usize, class: Class, ends: bool, time: f64) {
        let warp = &mut self.warps[number];
        let nth = warp.wgmmas;
        warp.wgmmas += 1;
        if ends {
            warp.groups.push(warp.wgmmas);
        }
        let (cta, group) = (warp.cta, warp.index / WARPGROUP);
        let first = group * WARPGROUP;
        let cta = &mut self.ctas[cta];
        let warps = (self.job.clusters[0][cta.sm].len() - first).min(WARPGROUP);
        let group = &mut cta.warpgroups[group];
        if group.arrived.len() <= nth {
            group.arrived.resize(nth + 1, (0, 0.0));
        }
        group.arrived[nth] = (group.arrived[nth].0 + 1, class.interval);
        // It begins when all four warps have issued it and the earlier ones are complete.
        let mut begun = Vec::new();
        let at = cta.sm;
        let sm = &mut self.sms[cta.sm];
        while let Some(&(arrived, clocks)) = group.arrived.get(group.ends.len()) {
            if arrived < warps {
                break;
            }
            let mut start = time;
            for partition in 0..PARTITIONS {
                start = start.max(sm.pipe_free[partition][Pipe::Tensor as usize]);
            }
            for partition in 0..PARTITIONS {
                sm.pipe_free[partition][Pipe::Tensor as usize] = start + clocks;
            }
            self.result.busy[Pipe::Tensor as usize] += clocks * PARTITIONS as f64;
            group.ends.push(start + clocks);
            begun.push((start, start + clocks));
        }
        let known = group.ends.len();
        let (free, parked): (Vec<_>, Vec<_>) = std::mem::take(&mut group.parked)
            .into_iter()
            .partition(|&(_, wanted)| wanted <= known);
        group.parked = parked;
        let drain = self.card.latency.wgmma_drain;
        let free: Vec<_> = free
            .into_iter()
            .map(|(warp, wanted)| (warp, group.ends[wanted - 1] + drain))
            .collect();
        for (from, to) in begun {
            self.act(at, Unit::Tensor, from, to);
        }
        for (warp, at) in free {
            self.unpark(warp, at, Stall::Gmma);
        }
    }

    pub(super) fn wait_wgmma(&mut self, number: usize, left: u32, time: f64) -> bool {
        let warp = &mut self.warps[number];
        let until = warp.groups.len().checked_sub(left as usize + 1);
        let Some(wanted) = until.map(|last| warp.groups[last]) else {
            return false;
        };
        let (cta, group) = (warp.cta, warp.index / WARPGROUP);
        let group = &mut self.ctas[cta].warpgroups[group];
        if wanted > group.ends.len() {
            group.parked.push((number, wanted));
            return true;
        }
        let done = group.ends[wanted - 1] + self.card.latency.wgmma_drain;
        if done > time {
            (warp.released, warp.why) = (done, Stall::Gmma);
        }
        false
    }
}
