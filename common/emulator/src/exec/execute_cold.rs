//! Operations of single lanes that are too rare for the interpreter's inlined loop.
use super::block::Execution;
use super::lane_access::{Fatal, map_to_rank, rank_of, space_of};
use super::lanes::{lanes, map3};
use super::warp::Warp;
use crate::Space;
use crate::finding::FindingKind;
use crate::op::{ColdOp, Reg};

/// The initial value of `%clock` and `%globaltimer`. It differs between schedules, so that `sanitize` sees what a kernel does at several
/// times. It is odd, and positive as a signed number of 64 and of 32 bits.
fn begin(schedule: u64) -> u64 {
    match schedule {
        0 => 0,
        _ => (schedule.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 2 | 1) & !(1 << 31),
    }
}

impl Warp {
    #[inline(never)]
    pub(super) fn execute_cold(
        &mut self,
        op: &ColdOp,
        pc: usize,
        mask: u32,
        cx: &mut Execution<'_>,
    ) -> Result<(), Fatal> {
        match *op {
            ColdOp::Scalar(f, d, sources) => {
                for lane in lanes(mask) {
                    self.set(d, lane, f(sources.map(|source| self.get(source, lane))));
                }
            }
            ColdOp::Lop3(table, regs) => {
                let rows: [u32; 8] =
                    std::array::from_fn(|i| 0u32.wrapping_sub(u32::from(table >> i & 1)));
                map3(&mut self.b32, regs, mask, |x, y, z| {
                    rows.iter().zip(0..).fold(0, |result, (row, i)| {
                        let pick = |v: u32, bit: u32| if i >> bit & 1 == 1 { v } else { !v };
                        result | row & pick(x, 2) & pick(y, 1) & pick(z, 0)
                    })
                });
            }
            ColdOp::Pack(bits, d, ref parts) => {
                for lane in lanes(mask) {
                    let value = parts.iter().rev().fold(0, |value, &part| {
                        value << bits | self.get(part, lane) & ((1 << bits) - 1)
                    });
                    self.set(d, lane, value);
                }
            }
            ColdOp::Unpack(bits, ref parts, a) => {
                for lane in lanes(mask) {
                    let value = self.get(a, lane);
                    for (i, &part) in parts.iter().enumerate() {
                        self.set(part, lane, value >> (i as u32 * bits) & ((1 << bits) - 1));
                    }
                }
            }
            ColdOp::Mbarrier(ref access) => return self.mbarrier(access, pc, mask, cx),
            ColdOp::BulkCopy(ref copy) => return self.bulk_copy(copy, pc, mask, cx),
            ColdOp::StoreAsync(ref store) => return self.store_async(store, pc, mask, cx),
            ColdOp::BulkCommit => self.commit_bulk(mask),
            ColdOp::BulkWait { pending, read } => self.wait_bulk(pending, read, mask, cx),
            ColdOp::MapShared(regs, rank) => return self.map_shared(regs, rank, pc, mask, cx),
            ColdOp::RankOf { d, a } => {
                for lane in lanes(mask) {
                    let own = cx.rank as u32;
                    self.b32[d as usize].0[lane] = rank_of(self.get(a, lane)).unwrap_or(own);
                }
            }
            ColdOp::Fence(scope) => cx.order.fence(self.actor, mask, self.alive, scope),
            ColdOp::AwaitPreviousGrid => {
                cx.order.await_previous_grid(self.actor, mask, self.alive);
            }
            ColdOp::FenceProxy => cx.order.fence_proxy(self.actor, mask, self.alive),
            ColdOp::FenceInit => cx.order.fence_inits(self.actor, mask),
            ColdOp::ActiveMask { d } => {
                lanes(mask).for_each(|lane| self.b32[d as usize].0[lane] = mask)
            }
            ColdOp::Clock { d } => {
                let now = begin(cx.machine.options.schedule) + self.clock;
                lanes(mask).for_each(|lane| self.set(d, lane, now));
            }
            ColdOp::FrameBase { d } => {
                lanes(mask).for_each(|lane| self.b32[d as usize].0[lane] = self.calls.base(lane));
            }
            ColdOp::IsSpace(space, d, a) => {
                for lane in lanes(mask) {
                    let address = self.get(a, lane);
                    let is = match (space_of(address), space) {
                        (Space::Shared, Space::Shared) => rank_of(address).is_none(),
                        (Space::Shared, Space::Cluster) => true,
                        (is, asked) => is == asked,
                    };
                    self.set(Reg::predicate(d), lane, is.into());
                }
            }
            ColdOp::System(call) => return self.system_call(call, pc, mask, cx),
            ColdOp::Nothing => {}
        }
        Ok(())
    }

    /// `mapa`: the corresponding address in the block of another rank.
    fn map_shared(
        &mut self,
        [d, a]: [Reg; 2],
        rank: u32,
        pc: usize,
        mask: u32,
        cx: &mut Execution<'_>,
    ) -> Result<(), Fatal> {
        for lane in lanes(mask) {
            let rank = self.b32[rank as usize].0[lane];
            if rank as usize >= cx.machine.ranks() {
                let reason = format!(
                    "mapa to block {rank} of a cluster of {}",
                    cx.machine.ranks()
                );
                let kind = FindingKind::InvalidCluster(reason);
                self.report(kind, pc as u32, 1 << lane, cx);
                return Err(Fatal);
            }
            let mapped = map_to_rank(self.get(a, lane), rank);
            self.set(d, lane, mapped);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::begin;

    #[test]
    fn clocks_begin_at_positive_numbers() {
        for schedule in 1..=64 {
            let at = begin(schedule);
            assert!(
                at as i32 > 0 && at as i64 > 1 << 32 && at % 2 == 1,
                "{schedule}: {at}"
            );
            assert_ne!(at, begin(schedule + 1));
        }
    }
}
