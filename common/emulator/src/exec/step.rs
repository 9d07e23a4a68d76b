//! The interpreter's loop: one warp until it must wait.
use pulp::{Simd, WithSimd};

use super::block::Context;
use super::meet::Meeting;
use super::warp::{Split, State, Warp};
use crate::finding::{Finding, Kind};
use crate::op::Code;

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
}
