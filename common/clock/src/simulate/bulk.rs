//! Bulk copies (TMA).
use emulator::Effect;

use super::state::Item;
use super::{Simulator, Unit};
use crate::memory::Bytes;

impl Simulator<'_> {
    pub(super) fn bulk_copy(
        &mut self,
        number: usize,
        effects: &[emulator::TraceEffect],
        time: f64,
        is_box: bool,
    ) {
        let (card, latency) = (self.card, &self.card.latency);
        let own = self.warps[number].cta;
        let mut time = time;
        let mut again = false;
        for one in effects {
            let Effect::BulkCopy {
                bytes,
                mbarrier,
                ranks,
                ..
            } = one.effect
            else {
                continue;
            };
            // The lanes of a warp issue their copies one after the other.
            if again {
                time += card.interval.tma_lane;
            }
            again = true;
            let amount = f64::from(bytes);
            let sm = self.ctas[own].sm;
            let Some(at) = mbarrier else {
                let read = self.sms[sm]
                    .memory
                    .store(card, time, amount, amount / 128.0);
                let warp = &mut self.warps[number];
                warp.open_bulk = warp.open_bulk.max(read + latency.shared);
                continue;
            };
            let rate = card.bytes.tma;
            let map = if is_box && !self.ctas[own].has_map {
                self.ctas[own].has_map = true;
                latency.tensor_map
            } else {
                0.0
            };
            let start = self.sms[sm].tma_free.max(time + map);
            let least = match is_box {
                true => card.interval.tma_box,
                false => card.interval.tma_copy,
            };
            self.sms[sm].tma_free = start + (amount / rate).max(least);
            let targets: Vec<usize> = (0..32)
                .filter(|rank| ranks >> rank & 1 == 1)
                .filter_map(|rank: usize| {
                    self.clusters[self.ctas[own].cluster]
                        .ctas
                        .get(rank)
                        .copied()
                })
                .collect();
            let bytes = Bytes {
                arrive: amount,
                asked: amount / targets.len().max(1) as f64,
            };
            for cta in targets {
                let target = self.ctas[cta].sm;
                let memory = &mut self.sms[target].memory;
                let landed = memory.fetch(card, start, bytes, rate, latency.tma);
                let state = &mut self.sms[target];
                state.bulk_landed = state.bulk_landed.max(landed);
                self.act(target, Unit::BulkCopies, start, landed);
                self.push(
                    landed,
                    Item::Arrive {
                        cta,
                        at,
                        count: 0,
                        bytes: -(amount as i64),
                    },
                );
            }
        }
        let warp = &mut self.warps[number];
        warp.next = warp.next.max(time);
    }
}
