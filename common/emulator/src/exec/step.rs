//! The interpreter's loop: one warp until it must wait.
use pulp::{Simd, WithSimd};

use super::block::Context;
use super::checked::{Fatal, map_to_rank, rank_of, space_of};
use super::convert::{float_to_half, half_to_float, nvidia_nan};
use super::lanes::{
    Doubles, Words, compare, lanes, map2, map2_double, map3, put, put_bits, put_double,
};
use super::meet::Meeting;
use super::warp::{Split, State, Warp};
use crate::finding::{Finding, Kind};
use crate::op::{Class, Code, Compare, Double, Logic, Op, Reg, Space, Word};

/// Why a warp stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// Nothing of it can go on by itself: it waits, or has exited.
    Blocked,
    /// It has run for as long as it may at a time.
    Paused,
    /// It arrived at a barrier without waiting; the barrier must be looked at first.
    Arrived,
    /// The launch cannot go on.
    Fatal,
}

/// Runs a warp for about `budget` instructions, with the vector instructions that this CPU has.
pub(super) fn run(warp: &mut Warp, cx: &mut Context<'_>, budget: u64) -> Stop {
    let arch = cx.machine.arch;
    if cx.machine.options.sanitize {
        arch.dispatch(Run::<true> { warp, cx, budget })
    } else {
        arch.dispatch(Run::<false> { warp, cx, budget })
    }
}

struct Run<'a, 'b, const SANITIZE: bool> {
    warp: &'a mut Warp,
    cx: &'a mut Context<'b>,
    budget: u64,
}

impl<const SANITIZE: bool> WithSimd for Run<'_, '_, SANITIZE> {
    type Output = Stop;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> Stop {
        let end = self.warp.clock.saturating_add(self.budget);
        loop {
            let Some(next) = self
                .warp
                .splits
                .iter()
                .position(|split| split.state == State::Ready)
            else {
                if self.warp.waits_outside() {
                    return Stop::Blocked;
                }
                if self.warp.report_divergent_barrier(self.cx) {
                    return Stop::Fatal;
                }
                if self.warp.alive != 0 && self.warp.has_joining() {
                    self.warp.release_joins();
                    continue;
                }
                return Stop::Blocked;
            };
            // First come, first served: each split has its turn, whatever the others wait for.
            let split = self.warp.splits.remove(next);
            if let Some(stop) = self.warp.run_split::<SANITIZE>(split, self.cx, end) {
                return stop;
            }
        }
    }
}

impl Warp {
    /// Runs one split until it ends, waits or has used its budget. `None`: look for another split.
    #[inline(always)]
    fn run_split<const SANITIZE: bool>(
        &mut self,
        split: Split,
        cx: &mut Context<'_>,
        end: u64,
    ) -> Option<Stop> {
        let program = cx.machine.program;
        let Split {
            mut pc,
            mut mask,
            mut join,
            ..
        } = split;
        let mut join_pc = self.join_pc(join);
        loop {
            if pc == join_pc {
                self.arrive(join, mask);
                return None;
            }
            let op = &program.ops[pc as usize];
            let active = match op.guard {
                None => mask,
                Some((p, negated)) => {
                    mask & if negated {
                        !self.predicates[p as usize]
                    } else {
                        self.predicates[p as usize]
                    }
                }
            };
            self.clock += 1;
            let counters = &mut cx.tally.ops[pc as usize];
            counters.executions += 1;
            counters.threads += u64::from(active.count_ones());
            if SANITIZE && active != 0 && !program.watched.is_empty() {
                self.touch(pc, active, cx);
            }
            match &op.code {
                Code::Branch { target, rejoin } => {
                    let backwards = *target <= pc;
                    if active == mask {
                        pc = *target;
                    } else if active == 0 {
                        pc += 1;
                    } else {
                        join = self.open_join(*rejoin, mask, join);
                        join_pc = self.join_pc(join);
                        self.splits.push(Split {
                            pc: *target,
                            mask: active,
                            join,
                            state: State::Ready,
                        });
                        mask &= !active;
                        pc += 1;
                    }
                    if backwards && self.clock >= end {
                        self.splits.push(Split {
                            pc,
                            mask,
                            join,
                            state: State::Ready,
                        });
                        return Some(Stop::Paused);
                    }
                    continue;
                }
                Code::Exit => {
                    if active != 0 {
                        self.exit(active);
                        cx.block.alive -= active.count_ones();
                        self.leave(active, cx);
                        mask &= !active;
                        if mask == 0 {
                            return None;
                        }
                        // The join may have closed over the others; they still have to come to it.
                        join_pc = self.join_pc(join);
                    }
                }
                Code::Matrix(_)
                | Code::Mma(_)
                | Code::Wgmma(_)
                | Code::WgmmaFence
                | Code::WgmmaCommit
                | Code::WgmmaWait { .. } => {
                    let mut together = active;
                    if active != self.alive {
                        if active == 0 {
                            pc += 1;
                            continue;
                        }
                        match self.meet(op, pc, mask, active, join, cx) {
                            Meeting::Done(united) => {
                                (mask, join) = united;
                                join_pc = self.join_pc(join);
                                together = mask;
                            }
                            Meeting::Waiting => return None,
                            Meeting::Stop(stop) => return Some(stop),
                        }
                    }
                    let done = match &op.code {
                        Code::Matrix(access) => self.matrix(access, pc as usize, together, cx),
                        Code::Mma(mma) => {
                            self.mma(mma, cx.machine.options.card);
                            Ok(())
                        }
                        Code::WgmmaWait { pending, .. } => {
                            match self.wait_wgmma(*pending, pc as usize, together, cx) {
                                Ok(Some(wanted)) => {
                                    let counters = &mut cx.tally.ops[pc as usize];
                                    counters.executions -= 1;
                                    counters.threads -= u64::from(together.count_ones());
                                    self.splits.push(Split {
                                        pc,
                                        mask,
                                        join,
                                        state: State::Warpgroup(wanted),
                                    });
                                    return None;
                                }
                                done => done.map(drop),
                            }
                        }
                        _ => self.wgmma(op, pc as usize, together, cx),
                    };
                    if done.is_err() {
                        return Some(Stop::Fatal);
                    }
                }
                Code::Barrier(_)
                | Code::WarpSync { .. }
                | Code::Shuffle(_)
                | Code::Vote(_)
                | Code::Match { .. }
                | Code::Reduce { .. }
                | Code::Elect { .. }
                | Code::MbarrierWait(_)
                | Code::ClusterBarrier(_)
                | Code::SetRegisters { .. } => {
                    if active == 0 {
                        pc += 1;
                        continue;
                    }
                    match self.meet(op, pc, mask, active, join, cx) {
                        Meeting::Done(united) => {
                            (mask, join) = united;
                            join_pc = self.join_pc(join);
                        }
                        Meeting::Waiting => return None,
                        Meeting::Stop(stop) => return Some(stop),
                    }
                }
                Code::Trap => {
                    if active != 0 {
                        self.report(Kind::Trap, pc, active, cx);
                        return Some(Stop::Fatal);
                    }
                }
                _ => {
                    if self
                        .execute::<SANITIZE>(op, pc as usize, active, cx)
                        .is_err()
                    {
                        return Some(Stop::Fatal);
                    }
                }
            }
            pc += 1;
        }
    }

    /// Threads have exited: blocks of the cluster may want to know what they knew, and the last one of a block
    /// closes it.
    #[inline(never)]
    fn leave(&mut self, mask: u32, cx: &mut Context<'_>) {
        if cx.machine.ranks() > 1 {
            cx.order
                .release(self.actor, mask, self.alive | mask, &mut cx.block.exit);
        }
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

    pub(super) fn report(&self, kind: Kind, pc: u32, mask: u32, cx: &mut Context<'_>) {
        let place = cx
            .machine
            .place(pc as usize, self.first_thread(mask), cx.block.index);
        cx.block.findings.add(Finding {
            kind,
            place,
            count: 1,
        });
    }

    /// Everything that one split does alone.
    #[inline(always)]
    fn execute<const SANITIZE: bool>(
        &mut self,
        op: &Op,
        pc: usize,
        mask: u32,
        cx: &mut Context<'_>,
    ) -> Result<(), Fatal> {
        if mask == 0 {
            return Ok(());
        }
        let w = &mut self.words[..];
        match op.code {
            Code::FmaF32 { d, a, b, c } => map3(w, [d, a, b, c], mask, |x, y, z| {
                nvidia_nan(f32::from_bits(x).mul_add(f32::from_bits(y), f32::from_bits(z)))
            }),
            Code::Word { op, d, a, b } => match op {
                Word::Add => map2(w, d, a, b, mask, u32::wrapping_add),
                Word::Sub => map2(w, d, a, b, mask, u32::wrapping_sub),
                Word::Mul => map2(w, d, a, b, mask, u32::wrapping_mul),
                Word::And => map2(w, d, a, b, mask, |x, y| x & y),
                Word::Or => map2(w, d, a, b, mask, |x, y| x | y),
                Word::Xor => map2(w, d, a, b, mask, |x, y| x ^ y),
                Word::Shl => map2(
                    w,
                    d,
                    a,
                    b,
                    mask,
                    |x, n| if n > 31 { 0 } else { x << (n & 31) },
                ),
                Word::ShrU => map2(
                    w,
                    d,
                    a,
                    b,
                    mask,
                    |x, n| if n > 31 { 0 } else { x >> (n & 31) },
                ),
                Word::ShrS => map2(w, d, a, b, mask, |x, n| (x as i32 >> n.min(31)) as u32),
                Word::AddF32 => map2(w, d, a, b, mask, |x, y| {
                    nvidia_nan(f32::from_bits(x) + f32::from_bits(y))
                }),
                Word::MulF32 => map2(w, d, a, b, mask, |x, y| {
                    nvidia_nan(f32::from_bits(x) * f32::from_bits(y))
                }),
            },
            Code::MadLo { d, a, b, c } => map3(w, [d, a, b, c], mask, |x, y, z| {
                x.wrapping_mul(y).wrapping_add(z)
            }),
            Code::Double { op, d, a, b } => {
                let v = &mut self.doubles[..];
                match op {
                    Double::Add => map2_double(v, d, a, b, mask, u64::wrapping_add),
                    Double::Sub => map2_double(v, d, a, b, mask, u64::wrapping_sub),
                    Double::And => map2_double(v, d, a, b, mask, |x, y| x & y),
                    Double::Or => map2_double(v, d, a, b, mask, |x, y| x | y),
                    Double::Xor => map2_double(v, d, a, b, mask, |x, y| x ^ y),
                }
            }
            Code::MadWide { signed, d, a, b, c } => {
                let (x, y, z) = (
                    &w[a as usize].0,
                    &w[b as usize].0,
                    &self.doubles[c as usize].0,
                );
                let mut out = Doubles::ZERO;
                for i in 0..32 {
                    let product = if signed {
                        (i64::from(x[i] as i32) * i64::from(y[i] as i32)) as u64
                    } else {
                        u64::from(x[i]) * u64::from(y[i])
                    };
                    out.0[i] = product.wrapping_add(z[i]);
                }
                put_double(&mut self.doubles[d as usize], &out, mask);
            }
            Code::Extend { signed, d, a } => {
                let x = &w[a as usize].0;
                let mut out = Doubles::ZERO;
                for i in 0..32 {
                    out.0[i] = if signed {
                        i64::from(x[i] as i32) as u64
                    } else {
                        u64::from(x[i])
                    };
                }
                put_double(&mut self.doubles[d as usize], &out, mask);
            }
            Code::Truncate { d, a } => {
                let mut out = Words::ZERO;
                for i in 0..32 {
                    out.0[i] = self.doubles[a as usize].0[i] as u32;
                }
                put(&mut w[d as usize], &out, mask);
            }
            Code::MoveWord { d, a } => {
                let value = w[a as usize];
                put(&mut w[d as usize], &value, mask);
            }
            Code::MoveDouble { d, a } => {
                let value = self.doubles[a as usize];
                put_double(&mut self.doubles[d as usize], &value, mask);
            }
            Code::HalfToFloat { d, a } => {
                let out = half_to_float(&w[a as usize]);
                put(&mut w[d as usize], &out, mask);
            }
            Code::FloatToHalf { d, a } => {
                let out = float_to_half(&w[a as usize]);
                put(&mut w[d as usize], &out, mask);
            }
            Code::Compare { op, d, a, b } => {
                let bits = match op {
                    Compare::Eq => compare(w, a, b, |x, y| x == y),
                    Compare::Ne => compare(w, a, b, |x, y| x != y),
                    Compare::LtS => compare(w, a, b, |x, y| (x as i32) < y as i32),
                    Compare::LeS => compare(w, a, b, |x, y| x as i32 <= y as i32),
                    Compare::GtS => compare(w, a, b, |x, y| x as i32 > y as i32),
                    Compare::GeS => compare(w, a, b, |x, y| x as i32 >= y as i32),
                    Compare::LtU => compare(w, a, b, |x, y| x < y),
                    Compare::LeU => compare(w, a, b, |x, y| x <= y),
                    Compare::GtU => compare(w, a, b, |x, y| x > y),
                    Compare::GeU => compare(w, a, b, |x, y| x >= y),
                };
                put_bits(&mut self.predicates[d as usize], bits, mask);
            }
            Code::Select { d, a, b, p } => {
                let chosen = self.predicates[p as usize];
                let mut out = w[b as usize];
                put(&mut out, &w[a as usize].clone(), chosen);
                put(&mut w[d as usize], &out, mask);
            }
            Code::Logic {
                op,
                d,
                a,
                b,
                negate_b,
            } => {
                let (x, y) = (self.predicates[a as usize], self.predicates[b as usize]);
                let y = if negate_b { !y } else { y };
                let bits = match op {
                    Logic::And => x & y,
                    Logic::Or => x | y,
                    Logic::Xor => x ^ y,
                    Logic::Not => !x,
                    Logic::Move => x,
                };
                put_bits(&mut self.predicates[d as usize], bits, mask);
            }
            Code::AsyncCopy(ref copy) => return self.copy_async(copy, pc, mask, cx),
            Code::AsyncCommit => self.commit_async(mask),
            Code::AsyncWait { pending } => self.wait_async(pending, pc, mask, cx),
            Code::Load(ref access) => return self.load::<SANITIZE>(access, pc, mask, cx),
            Code::Store(ref access) => return self.store::<SANITIZE>(access, pc, mask, cx),
            Code::Atomic(ref access) => return self.atomic(access, pc, mask, cx),
            _ => return self.execute_rarely(op, pc, mask, cx),
        }
        Ok(())
    }

    #[inline(never)]
    fn execute_rarely(
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
}
