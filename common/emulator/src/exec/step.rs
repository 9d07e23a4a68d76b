//! The interpreter's loop, which runs one warp until it must wait.
use super::block::Execution;
use super::warp::{Split, State, Warp};
use super::warp_sync::{Arrival, Pause, Synced};
use crate::finding::FindingKind;
use crate::op::{Code, MatrixOp};

/// Why a warp stopped running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// `None` of its threads can continue: they wait or have exited.
    Blocked,
    /// It has used its budget.
    Paused,
    /// It arrived at a barrier without waiting; the barrier must be checked first.
    Arrived,
    /// It would communicate with other clusters next, which it must not do yet.
    Parked,
    /// The launch cannot continue.
    Fatal,
}

/// Runs a warp for about `budget` instructions, with the vector instructions that this CPU has.
#[cfg(not(target_family = "wasm"))]
pub(super) fn run(warp: &mut Warp, cx: &mut Execution<'_>, budget: u64) -> Stop {
    let arch = cx.machine.arch;
    if cx.machine.options.sanitize {
        on(arch, Interpreter::<true> { warp, cx, budget })
    } else {
        on(arch, Interpreter::<false> { warp, cx, budget })
    }
}

/// Without a copy for AVX-512, which would not be faster; a CPU that has it has AVX2, too.
#[cfg(not(target_family = "wasm"))]
fn on<O: pulp::WithSimd<Output = Stop>>(arch: pulp::Arch, op: O) -> Stop {
    match arch {
        #[cfg(target_arch = "x86_64")]
        pulp::Arch::V4(v4) => pulp::Simd::vectorize(*v4, op),
        #[cfg(target_arch = "x86_64")]
        pulp::Arch::V3(v3) => pulp::Simd::vectorize(v3, op),
        _ => op.with_simd(pulp::Scalar),
    }
}

/// WebAssembly has only the vector instructions that it was compiled for, and is downloaded: there is one copy of the interpreter.
#[cfg(target_family = "wasm")]
pub(super) fn run(warp: &mut Warp, cx: &mut Execution<'_>, budget: u64) -> Stop {
    let sanitize = cx.machine.options.sanitize;
    interpret(warp, cx, budget, sanitize)
}

#[cfg(not(target_family = "wasm"))]
struct Interpreter<'a, 'b, const SANITIZE: bool> {
    warp: &'a mut Warp,
    cx: &'a mut Execution<'b>,
    budget: u64,
}

#[cfg(not(target_family = "wasm"))]
impl<const SANITIZE: bool> pulp::WithSimd for Interpreter<'_, '_, SANITIZE> {
    type Output = Stop;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _simd: S) -> Stop {
        interpret(self.warp, self.cx, self.budget, SANITIZE)
    }
}

#[inline(always)]
fn interpret(warp: &mut Warp, cx: &mut Execution<'_>, budget: u64, sanitize: bool) -> Stop {
    let end = warp.clock.saturating_add(budget);
    if let Some(tracer) = &mut cx.profiler.tracer {
        tracer.enter(cx.block.index, cx.rank as u32, warp.index as u32);
    }
    loop {
        let Some(next) = warp
            .splits
            .iter()
            .position(|split| split.state == State::Ready)
        else {
            if warp.waits_outside() {
                return Stop::Blocked;
            }
            if warp.report_divergent_barrier(cx) {
                return Stop::Fatal;
            }
            if warp.alive != 0 && warp.has_joining() {
                warp.release_joins();
                continue;
            }
            return Stop::Blocked;
        };
        // Round robin: each split gets its turn, even if others wait.
        let split = warp.splits.remove(next);
        if let Some(stop) = warp.run_split(split, cx, end, sanitize) {
            return stop;
        }
    }
}

impl Warp {
    /// Runs one split until it ends, waits or has used its budget. `None`: choose another split.
    #[inline(always)]
    fn run_split(
        &mut self,
        split: Split,
        cx: &mut Execution<'_>,
        end: u64,
        sanitize: bool,
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
            if op.communicates && active != 0 && cx.common.parks {
                self.split(pc, mask, join, State::Ready);
                return Some(Stop::Parked);
            }
            self.clock += 1;
            let counters = &mut cx.profiler.ops[pc as usize];
            counters.executions += 1;
            counters.threads += u64::from(active.count_ones());
            if let Some(tracer) = &mut cx.profiler.tracer
                && op.first
            {
                tracer.execute(op.instruction, active);
                self.inspect(pc, active, cx);
            }
            if sanitize && active != 0 && !program.watched.is_empty() {
                self.touch(pc, active, cx);
            }
            if sanitize && program.flows.get(pc as usize).is_some_and(Option::is_some) {
                self.trace(pc, mask, active, cx);
            }
            match &op.code {
                Code::Branch {
                    target,
                    reconvergence,
                } => {
                    let backwards = *target <= pc;
                    if backwards && active != 0 && std::mem::take(&mut self.leaves_loop) {
                        pc += 1;
                    } else if active == mask {
                        pc = *target;
                    } else if active == 0 {
                        pc += 1;
                    } else {
                        join = self.open_join(*reconvergence, mask, join);
                        join_pc = self.join_pc(join);
                        self.split(*target, active, join, State::Ready);
                        mask &= !active;
                        pc += 1;
                    }
                    if backwards && self.clock >= end {
                        self.split(pc, mask, join, State::Ready);
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
                        // The exit may have closed the join over the other threads; the remaining ones still have to
                        // reach it.
                        join_pc = self.join_pc(join);
                    }
                }
                Code::Call(call) => {
                    if active != 0 {
                        let stop = self.call(call, pc, (mask, active), join, cx);
                        return stop.or((self.clock >= end).then_some(Stop::Paused));
                    }
                }
                Code::Return => {
                    if active != 0 {
                        self.ret(pc, (mask, active), join, cx);
                        return (self.clock >= end).then_some(Stop::Paused);
                    }
                }
                Code::Matrix(op) => {
                    let mut together = active;
                    if active != self.alive {
                        if active == 0 {
                            pc += 1;
                            continue;
                        }
                        let at = Arrival {
                            pc,
                            mask,
                            active,
                            join,
                        };
                        let own = self.part(at, |_| true);
                        match self.whole_warp(own, at, cx) {
                            Ok(at) => {
                                (mask, join, together) = (at.mask, at.join, at.mask);
                                join_pc = self.join_pc(join);
                            }
                            Err(Pause::Stop(stop)) => return Some(stop),
                            Err(Pause::Waiting) => return None,
                        }
                    }
                    let done = match op {
                        MatrixOp::Move(access) => self.matrix(access, pc as usize, together, cx),
                        MatrixOp::Transpose(regs) => {
                            self.transpose(*regs);
                            Ok(())
                        }
                        MatrixOp::Mma(mma) => {
                            self.note_product(cx);
                            if cx.profiler.keeps_factors()
                                && let Some(factors) = self.mma_factors(mma)
                            {
                                self.keep_factors(pc as usize, factors, cx);
                            }
                            self.mma(mma, cx.machine.options.card);
                            Ok(())
                        }
                        MatrixOp::MmaF64(mma) => {
                            self.mma_f64(mma);
                            Ok(())
                        }
                        MatrixOp::Wgmma(op) => match self.wgmma(op, pc as usize, together, cx) {
                            Ok(Some(wanted)) => {
                                let at = Arrival {
                                    pc,
                                    mask,
                                    active: together,
                                    join,
                                };
                                let _: Synced = self.wait(at, mask, State::Warpgroup(wanted), cx);
                                return None;
                            }
                            done => done.map(drop),
                        },
                    };
                    if done.is_err() {
                        return Some(Stop::Fatal);
                    }
                }
                Code::Sync(op) => {
                    if active == 0 {
                        pc += 1;
                        continue;
                    }
                    let at = Arrival {
                        pc,
                        mask,
                        active,
                        join,
                    };
                    match self.synchronize(op, at, cx) {
                        Ok(united) => {
                            (mask, join) = united;
                            join_pc = self.join_pc(join);
                        }
                        Err(Pause::Waiting) => return None,
                        Err(Pause::Stop(stop)) => return Some(stop),
                    }
                }
                Code::Trap => {
                    if active != 0 {
                        self.report(FindingKind::Trap, pc, active, cx);
                        return Some(Stop::Fatal);
                    }
                }
                Code::Lane(op) => {
                    let done = self.execute(op, pc as usize, active, cx, sanitize);
                    if done.is_err() {
                        return Some(Stop::Fatal);
                    }
                }
            }
            pc += 1;
        }
    }

    /// Threads have exited: adds their view to the block's exit view, for accesses of other blocks of the
    /// cluster.
    #[inline(never)]
    fn leave(&mut self, mask: u32, cx: &mut Execution<'_>) {
        if cx.machine.ranks() > 1 {
            cx.order
                .release(self.actor, mask, self.alive | mask, &mut cx.block.exit);
        }
    }

    pub(super) fn report(&self, kind: FindingKind, pc: u32, mask: u32, cx: &mut Execution<'_>) {
        let lane = mask.trailing_zeros() as usize & 31;
        cx.report(kind, self.site(pc as usize, lane));
    }
}
