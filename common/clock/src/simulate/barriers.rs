//! Block barriers and mbarriers.
use emulator::Effect;

use super::state::{Item, Mbarrier};
use super::{PARTITIONS, Simulator, Unit};
use crate::stall::Stall;

impl Simulator<'_> {
    pub(super) fn barrier(
        &mut self,
        number: usize,
        effects: &[emulator::TraceEffect],
        waits: bool,
        time: f64,
    ) -> bool {
        let named = effects.iter().find_map(|one| match one.effect {
            Effect::Barrier { number, threads } => Some((number, threads)),
            _ => None,
        });
        let Some((barrier, threads)) = named else {
            return false;
        };
        let latency = &self.card.latency;
        let cta = &mut self.ctas[self.warps[number].cta];
        let alive = 32 * cta.alive as u32;
        let wanted = threads.unwrap_or(cta.threads.min(alive));
        let state = cta.barriers.entry(barrier).or_default();
        state.arrived += 32;
        if waits {
            state.parked.push(number);
        }
        if state.arrived < wanted {
            return waits;
        }
        let parked = std::mem::take(&mut state.parked);
        state.arrived = 0;
        let free = time + latency.barrier + latency.barrier_warp * f64::from(wanted / 32);
        for warp in parked {
            self.unpark(warp, free, Stall::Barrier);
        }
        waits
    }

    pub(super) fn unpark(&mut self, number: usize, time: f64, why: Stall) {
        let warp = &mut self.warps[number];
        (warp.released, warp.why) = (time, why);
        let next = warp.next.max(time);
        self.push_warp(next, number);
    }

    pub(super) fn mbarrier(&mut self, number: usize, effects: &[emulator::TraceEffect], time: f64) {
        let latency = &self.card.latency;
        let own = self.warps[number].cta;
        let arrives =
            |one: &emulator::TraceEffect| matches!(one.effect, Effect::MbarrierArrive { .. });
        let performed = match effects.iter().any(arrives) {
            true => self.arrival(number, time),
            false => time,
        };
        for one in effects {
            match one.effect {
                Effect::MbarrierInit { at, count } => {
                    let barrier = Mbarrier {
                        expected: count,
                        pending: count.into(),
                        ..Mbarrier::default()
                    };
                    self.ctas[own].mbarriers.insert(at, barrier);
                }
                Effect::MbarrierArrive {
                    rank,
                    at,
                    count,
                    bytes,
                } => {
                    let cluster = &self.clusters[self.ctas[own].cluster];
                    let cta = cluster.ctas.get(rank as usize).copied().unwrap_or(own);
                    let remote = if cta == own {
                        0.0
                    } else {
                        latency.mbarrier_remote
                    };
                    let due = performed + latency.mbarrier_arrive + remote;
                    self.push(
                        due,
                        Item::Arrive {
                            cta,
                            at,
                            count,
                            bytes,
                        },
                    );
                }
                Effect::MbarrierCopies { at, noinc } => {
                    let count = u32::from(noinc);
                    let due = self.warps[number].open_copies.max(time) + latency.mbarrier_arrive;
                    self.push(
                        due,
                        Item::Arrive {
                            cta: own,
                            at,
                            count,
                            bytes: 0,
                        },
                    );
                }
                _ => {}
            }
        }
    }

    /// When the SM performs a warp's arrival: it serializes the arrivals of its warps, and performs a warp's 32 lanes
    /// at once.
    fn arrival(&mut self, number: usize, time: f64) -> f64 {
        let warp = &self.warps[number];
        let sm = &mut self.sms[self.ctas[warp.cta].sm];
        let start = sm.arrivals_free.max(time);
        sm.arrivals_free = start + self.card.interval.mbarrier_arrive;
        sm.queue[warp.index % PARTITIONS].push_back(start);
        start
    }

    pub(super) fn arrive(&mut self, cta: usize, at: u32, count: u32, bytes: i64, time: f64) {
        let Some(barrier) = self.ctas[cta].mbarriers.get_mut(&at) else {
            return;
        };
        barrier.pending -= i64::from(count);
        barrier.bytes += bytes;
        if barrier.pending > 0 || barrier.bytes != 0 {
            return;
        }
        barrier.phase += 1;
        barrier.pending += i64::from(barrier.expected);
        let parity = (barrier.phase as u32 - 1) & 1;
        let (free, parked): (Vec<_>, Vec<_>) = std::mem::take(&mut barrier.parked)
            .into_iter()
            .partition(|&(_, wanted)| wanted == parity);
        barrier.parked = parked;
        let since = std::mem::replace(&mut barrier.since, time);
        let sm = self.ctas[cta].sm;
        self.act(sm, Unit::Phase, since, time);
        let at = time + self.card.latency.mbarrier;
        for (warp, _) in free {
            self.unpark(warp, at, Stall::LongScoreboard);
        }
    }

    pub(super) fn wait_mbarrier(
        &mut self,
        number: usize,
        effects: &[emulator::TraceEffect],
        write: Option<u8>,
        time: f64,
    ) -> bool {
        let done = time + self.card.latency.mbarrier_test;
        self.release(number, write, done, Stall::LongScoreboard);
        let wanted = effects.iter().find_map(|one| match one.effect {
            Effect::MbarrierWait { at, parity } => Some((at, parity)),
            _ => None,
        });
        let Some((at, parity)) = wanted else {
            return false;
        };
        let cta = self.warps[number].cta;
        let Some(barrier) = self.ctas[cta].mbarriers.get_mut(&at) else {
            return false;
        };
        if barrier.phase & 1 != u64::from(parity) {
            return false;
        }
        barrier.parked.push((number, parity));
        true
    }
}
