//! What one split does alone: operations that are too rare to stand in the interpreter's loop.
use super::block::Context;
use super::checked::{Fatal, map_to_rank, rank_of, space_of};
use super::lanes::{lanes, map3};
use super::warp::Warp;
use crate::finding::Kind;
use crate::op::{Class, Code, Op, Reg, Space};

impl Warp {
    #[inline(never)]
    pub(super) fn execute_rarely(
        &mut self,
        op: &Op,
        pc: usize,
        mask: u32,
        cx: &mut Context<'_>,
    ) -> Result<(), Fatal> {
        match op.code {
            Code::Scalar { f, d, a, b, c } => {
                for lane in lanes(mask) {
                    let result = f([self.get(a, lane), self.get(b, lane), self.get(c, lane)]);
                    self.set(d, lane, result);
                }
            }
            Code::Lop3 { d, a, b, c, table } => {
                map3(&mut self.words, [d, a, b, c], mask, |x, y, z| {
                    (0..8).filter(|i| table >> i & 1 == 1).fold(0, |result, i| {
                        let pick = |v: u32, bit: u32| if i >> bit & 1 == 1 { v } else { !v };
                        result | pick(x, 2) & pick(y, 1) & pick(z, 0)
                    })
                })
            }
            Code::Pack { d, ref parts, bits } => {
                for lane in lanes(mask) {
                    let value = parts.iter().rev().fold(0, |value, &part| {
                        value << bits | self.get(part, lane) & ((1 << bits) - 1)
                    });
                    self.set(d, lane, value);
                }
            }
            Code::Unpack { ref parts, a, bits } => {
                for lane in lanes(mask) {
                    let value = self.get(a, lane);
                    for (i, &part) in parts.iter().enumerate() {
                        self.set(part, lane, value >> (i as u32 * bits) & ((1 << bits) - 1));
                    }
                }
            }
            Code::Mbarrier(ref access) => return self.mbarrier(access, pc, mask, cx),
            Code::BulkCopy(ref copy) => return self.bulk_copy(copy, pc, mask, cx),
            Code::BulkCommit => self.commit_bulk(mask),
            Code::BulkWait { pending, read } => self.wait_bulk(pending, read, mask, cx),
            Code::MapShared { d, a, rank } => return self.map_shared(d, a, rank, pc, mask, cx),
            Code::RankOf { d, a } => {
                for lane in lanes(mask) {
                    let own = cx.rank as u32;
                    self.words[d as usize].0[lane] = rank_of(self.get(a, lane)).unwrap_or(own);
                }
            }
            Code::FenceProxy => cx.order.fence_proxy(self.actor, mask, self.alive),
            Code::FenceInit => cx.order.fence_inits(self.actor, mask),
            Code::ActiveMask { d } => {
                lanes(mask).for_each(|lane| self.words[d as usize].0[lane] = mask)
            }
            Code::Clock { d } => lanes(mask).for_each(|lane| self.set(d, lane, self.clock)),
            Code::IsSpace { d, a, space } => {
                for lane in lanes(mask) {
                    let address = self.get(a, lane);
                    let is = match (space_of(address), space) {
                        (Space::Shared, Space::Shared) => rank_of(address).is_none(),
                        (Space::Shared, Space::Cluster) => true,
                        (is, asked) => is == asked,
                    };
                    let is = u64::from(is);
                    self.set(
                        Reg {
                            class: Class::Predicate,
                            index: d,
                        },
                        lane,
                        is,
                    );
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// `mapa`: the address of the same place in the block of another rank.
    fn map_shared(
        &mut self,
        d: Reg,
        a: Reg,
        rank: u32,
        pc: usize,
        mask: u32,
        cx: &mut Context<'_>,
    ) -> Result<(), Fatal> {
        for lane in lanes(mask) {
            let rank = self.words[rank as usize].0[lane];
            if rank as usize >= cx.machine.ranks() {
                let reason = format!(
                    "mapa to block {rank} of a cluster of {}",
                    cx.machine.ranks()
                );
                let kind = Kind::InvalidCluster { reason };
                self.report(kind, pc as u32, 1 << lane, cx);
                return Err(Fatal);
            }
            let mapped = map_to_rank(self.get(a, lane), rank);
            self.set(d, lane, mapped);
        }
        Ok(())
    }
}
