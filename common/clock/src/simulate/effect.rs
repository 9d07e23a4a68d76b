//! The effect of an issued instruction.
use emulator::Effect;

use super::{Simulator, Unit};
use crate::class::Does;
use crate::memory::Bytes;
use crate::path::Step;
use crate::stall::Stall;

/// What a store of so many bytes in so many sectors costs the L2, as bytes of whole sectors: one that is not written as a whole costs
/// twice as much (microbenchmark `row_stores_4`).
fn sent_bytes(sectors: u32, written: u32) -> u32 {
    let whole = 32 * sectors;
    if written < whole { 2 * whole } else { whole }
}

impl Simulator<'_> {
    /// Performs the effect of an issued instruction; true if its warp is now parked until something else happens.
    pub(super) fn effect(&mut self, number: usize, index: usize, step: Step, time: f64) -> bool {
        let (card, class) = (self.card, self.classes[index]);
        let (write, read) = (self.code[index].write, self.code[index].read);
        let warp = &self.warps[number];
        let (cta, program) = (warp.cta, warp.program);
        let effects = step.event.map_or(&[][..], |event| program.effects(event));
        let active = (step.event)
            .and_then(|event| program.trace.events.get(event as usize))
            .map_or(0, |event| event.active.count_ones());
        let sm = self.ctas[cta].sm;
        let latency = &card.latency;
        match class.does {
            Does::Computes | Does::Scoreboard => {
                self.release(number, write, time + class.latency, Stall::ShortScoreboard);
                self.release(number, read, time + class.interval, Stall::ShortScoreboard);
            }
            Does::Branch => {}
            Does::PrefetchMap => self.ctas[cta].has_map = true,
            Does::Fence(clocks) => {
                let warp = &mut self.warps[number];
                (warp.released, warp.why) = (time + clocks, Stall::Membar);
            }
            Does::FenceOfCopies(clocks) => {
                let landed = self.sms[sm].bulk_landed.max(time);
                let warp = &mut self.warps[number];
                (warp.released, warp.why) = (landed + clocks, Stall::Membar);
            }
            Does::Shared => {
                let wavefronts: u32 = (effects.iter())
                    .map(|one| match one.effect {
                        Effect::Shared { wavefronts } => wavefronts,
                        _ => 0,
                    })
                    .sum();
                let wavefronts = f64::from(wavefronts);
                let start = self.enqueue(number, time, wavefronts);
                let done =
                    start + latency.shared + latency.shared_wavefront * (wavefronts - 1.0).max(0.0);
                self.release(number, write, done, Stall::ShortScoreboard);
                self.release(number, read, start + wavefronts, Stall::ShortScoreboard);
            }
            Does::Shuffle => {
                let start = self.enqueue(number, time, card.interval.shuffle);
                self.release(number, write, start + class.latency, Stall::ShortScoreboard);
            }
            Does::GlobalLoad | Does::Atomic => {
                let mut done = time + latency.l1;
                for one in effects {
                    if let Effect::Global { first, count } = one.effect {
                        let start = self.enqueue(number, time, f64::from(count));
                        let memory = &mut self.sms[sm].memory;
                        let missing = memory.missing(program.lines(first, count));
                        done = done.max(start + latency.l1 + f64::from(count));
                        if missing > 0 || class.does == Does::Atomic {
                            let bytes = Bytes::own(32.0 * f64::from(missing.max(1)));
                            let rate = card.bytes.l2_port;
                            let fetched = memory.fetch(card, start, bytes, rate, latency.l2);
                            done = done.max(fetched);
                            self.act(sm, Unit::Loads, start, fetched);
                        }
                    }
                }
                self.release(number, write, done, Stall::LongScoreboard);
                self.release(number, read, time + 8.0, Stall::ShortScoreboard);
            }
            Does::GlobalStore { bytes } => {
                let mut taken = time;
                for one in effects {
                    if let Effect::Global { first, count } = one.effect {
                        // The data pipe is in order: a store waits in it until the L2 has accepted those before it.
                        let accepted = self.sms[sm].memory.stored().max(time);
                        let start = self.enqueue(number, accepted, f64::from(count));
                        taken = start + f64::from(count);
                        let sectors: u32 = (program.lines(first, count).iter())
                            .map(|line| line.sectors.count_ones())
                            .sum();
                        let memory = &mut self.sms[sm].memory;
                        let sent = sent_bytes(sectors, active * bytes);
                        memory.store(card, start, f64::from(sent), f64::from(count));
                    }
                }
                self.release(number, read, taken + 4.0, Stall::ShortScoreboard);
                self.release(number, write, taken + 4.0, Stall::ShortScoreboard);
            }
            Does::AsyncCopy { bytes } => {
                let opcode_bypasses = self.code[index].opcode.contains("BYPASS");
                for one in effects {
                    if let Effect::Global { first, count } = one.effect {
                        // By bytes, wherever they come from: a full warp's copy takes 4 wavefronts whatever the addresses
                        // (`ladder calibrate`).
                        let wavefronts = (active * bytes).div_ceil(128);
                        let passes = f64::from(wavefronts) * card.queue.copy_passes;
                        let start = self.enqueue(number, time, passes);
                        let lines = program.lines(first, count);
                        let memory = &mut self.sms[sm].memory;
                        let sectors = match opcode_bypasses {
                            true => lines.iter().map(|line| line.sectors.count_ones()).sum(),
                            false => memory.missing(lines),
                        };
                        let rate = card.bytes.l2_port_copy;
                        let bytes = Bytes::own(32.0 * f64::from(sectors));
                        let found = memory.look_up(card, start, lines.len());
                        let done = memory.fetch(card, found, bytes, rate, latency.l2);
                        self.act(sm, Unit::Loads, start, done);
                        let warp = &mut self.warps[number];
                        warp.open_copies = warp.open_copies.max(done);
                        self.release(number, read, start + 4.0, Stall::ShortScoreboard);
                    }
                }
            }
            Does::CommitCopies => {
                let warp = &mut self.warps[number];
                let done = std::mem::take(&mut warp.open_copies);
                warp.copies.push(done);
                warp.waits_bulk = false;
            }
            Does::CommitBulk => {
                let warp = &mut self.warps[number];
                let done = std::mem::take(&mut warp.open_bulk);
                warp.bulk.push(done);
                warp.waits_bulk = true;
            }
            Does::WaitGroups(_) => {}
            Does::Barrier { waits } => return self.barrier(number, effects, waits, time),
            Does::Mbarrier => {
                self.release(
                    number,
                    write,
                    time + latency.mbarrier_arrive,
                    Stall::ShortScoreboard,
                );
                self.release(number, read, time + 4.0, Stall::ShortScoreboard);
                self.mbarrier(number, effects, time);
            }
            Does::MbarrierWait => return self.wait_mbarrier(number, effects, write, time),
            Does::BulkCopy => {
                self.release(number, read, time + 8.0, Stall::ShortScoreboard);
                self.release(number, write, time + 8.0, Stall::ShortScoreboard);
                let is_box = self.code[index].opcode.starts_with("UTMA");
                self.bulk_copy(number, effects, time, is_box);
            }
            Does::Wgmma(ends) => self.wgmma(number, class, ends, time),
            Does::WaitWgmma(left) => return self.wait_wgmma(number, left, time),
            Does::ClusterArrive => self.cluster_arrive(number, time),
            Does::ClusterWait => return self.cluster_wait(number, time),
        }
        false
    }
}
