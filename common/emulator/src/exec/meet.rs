//! Barriers, shuffles, votes: what needs more threads than a split has.
use super::block::{BARRIERS, Context};
use super::lanes::lanes;
use super::step::Stop;
use super::warp::{Split, State, Warp};
use crate::finding::Kind;
use crate::op::{Barrier, Class, Code, Op, Reg, ShuffleMode, VoteMode};

/// How a split fared at an instruction that concerns others too.
pub(super) enum Meeting {
    /// These lanes go on together, on their way to this join.
    Done((u32, u32)),
    Waiting,
    Stop(Stop),
}

impl Warp {
    /// Lanes `active` of the split `mask` are at a warp-level instruction or a barrier.
    #[inline(never)]
    pub fn meet(
        &mut self,
        op: &Op,
        pc: u32,
        mask: u32,
        active: u32,
        join: u32,
        cx: &mut Context<'_>,
    ) -> Meeting {
        if op.code.is_for_the_whole_warp() {
            // `.aligned`: every thread of the warp comes.
            let own = self.part(pc, mask, active, join, |_| true);
            let Some(all) = self.gather(pc, State::Mates, u32::MAX, own) else {
                return self.wait(pc, own, join, State::Mates, active, cx);
            };
            count(pc, active, all, cx);
            return Meeting::Done(self.unite(pc, State::Mates, own, join));
        }
        let wanted = match &op.code {
            Code::Barrier(barrier) => return self.barrier(barrier, pc, mask, active, join, cx),
            Code::MbarrierWait(wait) => {
                return self.wait_mbarrier(wait, pc, (mask, active), join, cx);
            }
            &Code::ClusterBarrier(barrier) => {
                return self.cluster_barrier(barrier, pc, (mask, active), join, cx);
            }
            &Code::SetRegisters { count, increase } => {
                return self.set_registers((count, increase), pc, (mask, active), join, cx);
            }
            Code::WarpSync { mask }
            | Code::Match { mask, .. }
            | Code::Reduce { mask, .. }
            | Code::Elect { mask, .. } => *mask,
            Code::Shuffle(s) => s.mask,
            Code::Vote(v) => v.mask,
            _ => return Meeting::Done((mask, join)),
        };
        // Lanes that name different masks form groups of their own.
        let masks = self.words[wanted as usize].0;
        let members = masks[active.trailing_zeros() as usize & 31];
        let own = self.part(pc, mask, active, join, |lane| masks[lane] == members);
        let state = State::Warp(members);
        let Some(there) = self.gather(pc, state, members, own) else {
            return self.wait(pc, own, join, state, active, cx);
        };
        count(pc, active, there, cx);
        self.together(op, there & members);
        // To elect a lane orders no memory.
        if !matches!(op.code, Code::Elect { .. }) {
            cx.order.meet(self.actor, there & members, self.alive);
        }
        Meeting::Done(self.unite(pc, state, own, join))
    }

    /// Keeps those active lanes that agree; the other active ones try by themselves, and those that the
    /// guard has switched off go on.
    pub(super) fn part(
        &mut self,
        pc: u32,
        mask: u32,
        active: u32,
        join: u32,
        agrees: impl Fn(usize) -> bool,
    ) -> u32 {
        let own = lanes(active)
            .filter(|&lane| agrees(lane))
            .fold(0, |m, lane| m | 1 << lane);
        for (pc, mask) in [(pc, active & !own), (pc + 1, mask & !active)] {
            if mask != 0 {
                let state = State::Ready;
                self.splits.push(Split {
                    pc,
                    mask,
                    join,
                    state,
                });
            }
        }
        own
    }

    /// Waits, and takes back that the instruction was executed: it is once all are there.
    pub(super) fn wait(
        &mut self,
        pc: u32,
        mask: u32,
        join: u32,
        state: State,
        active: u32,
        cx: &mut Context<'_>,
    ) -> Meeting {
        let counters = &mut cx.tally.ops[pc as usize];
        counters.executions -= 1;
        counters.threads -= u64::from(active.count_ones());
        self.splits.push(Split {
            pc,
            mask,
            join,
            state,
        });
        Meeting::Waiting
    }

    fn barrier(
        &mut self,
        barrier: &Barrier,
        pc: u32,
        mask: u32,
        active: u32,
        join: u32,
        cx: &mut Context<'_>,
    ) -> Meeting {
        let ids = self.words[barrier.id as usize].0;
        let counts = barrier
            .threads
            .map(|threads| self.words[threads as usize].0);
        let lane = active.trailing_zeros() as usize & 31;
        let (id, threads) = (ids[lane], counts.map(|counts| counts[lane]));
        let mut own = self.part(pc, mask, active, join, |lane| {
            ids[lane] == id && counts.map(|counts| counts[lane]) == threads
        });
        let mut join = join;
        if barrier.aligned {
            let Some(all) = self.gather(pc, State::Mates, u32::MAX, own) else {
                return self.wait(pc, own, join, State::Mates, active, cx);
            };
            count(pc, active, all, cx);
            (own, join) = self.unite(pc, State::Mates, own, join);
        } else {
            count(pc, active, own, cx);
        }
        let limit = cx.machine.threads.next_multiple_of(32);
        let before = cx.block.barriers.get(id as usize);
        let reason = match (threads, before) {
            (_, None) => Some(format!("barrier {id}, but there are only {BARRIERS}")),
            (Some(n), _) if n % 32 != 0 || n == 0 => {
                Some(format!("{n} threads are not a multiple of 32"))
            }
            (Some(n), _) if n as usize > limit => Some(format!(
                "{n} threads, but the block has {}",
                cx.machine.threads
            )),
            (_, Some(before)) if before.arrived > 0 && before.threads != threads => {
                let say = |threads: Option<u32>| match threads {
                    Some(n) => format!("{n} threads"),
                    None => "all threads".into(),
                };
                let (now, before) = (say(threads), say(before.threads));
                Some(format!(
                    "barrier {id} for {now}, but others wait there for {before}"
                ))
            }
            _ => None,
        };
        if let Some(reason) = reason {
            self.report(Kind::InvalidBarrier { reason }, pc, own, cx);
            return Meeting::Stop(Stop::Fatal);
        }
        // A named number of threads counts whole warps.
        let arriving = if threads.is_some() && own == self.alive {
            32
        } else {
            own.count_ones()
        };
        let state = &mut cx.block.barriers[id as usize];
        state.arrived += arriving;
        cx.order
            .release(self.actor, own, self.alive, &mut state.view);
        state.threads = threads;
        if let Some((_, _, p, negated)) = barrier.reduce {
            let votes = self.predicates[p as usize];
            let votes = if negated { !votes } else { votes };
            state.yes += (votes & own).count_ones();
            state.waiting += own.count_ones();
        }
        if barrier.wait {
            let state = State::Barrier(id);
            self.splits.push(Split {
                pc,
                mask: own,
                join,
                state,
            });
            return Meeting::Waiting;
        }
        let (pc, state) = (pc + 1, State::Ready);
        self.splits.push(Split {
            pc,
            mask: own,
            join,
            state,
        });
        Meeting::Stop(Stop::Arrived)
    }

    /// Threads wait at an aligned barrier for the rest of their warp, which cannot come.
    pub fn report_divergent_barrier(&self, cx: &mut Context<'_>) -> bool {
        let Some(split) = self.splits.iter().find(|split| split.state == State::Mates) else {
            return false;
        };
        let missing = (self.alive & !split.mask).count_ones();
        self.report(Kind::DivergentBarrier { missing }, split.pc, split.mask, cx);
        true
    }

    /// Warp-level instructions, for all lanes that take part.
    fn together(&mut self, op: &Op, mask: u32) {
        match &op.code {
            Code::Shuffle(s) => {
                let (a, b, c) = (
                    self.words[s.a as usize],
                    self.words[s.b as usize],
                    self.words[s.c as usize],
                );
                for lane in lanes(mask) {
                    // PTX ISA, "shfl.sync": the clamp is in bits 0 to 4 of c, the segment mask in 8 to 12.
                    let (b, c) = (b.0[lane] & 31, c.0[lane]);
                    let (clamp, segment) = (c & 31, c >> 8 & 31);
                    let own = lane as u32;
                    let last = own & segment | clamp & !segment;
                    let first = own & segment;
                    let (from, inside) = match s.mode {
                        ShuffleMode::Up => (
                            own.wrapping_sub(b),
                            own as i64 - i64::from(b) >= i64::from(last),
                        ),
                        ShuffleMode::Down => (own + b, own + b <= last),
                        ShuffleMode::Bfly => (own ^ b, own ^ b <= last),
                        ShuffleMode::Idx => (first | b & !segment, (first | b & !segment) <= last),
                    };
                    let from = if inside { from & 31 } else { own };
                    self.words[s.d as usize].0[lane] = a.0[from as usize];
                    if let Some(p) = s.p {
                        self.set(
                            Reg {
                                class: Class::Predicate,
                                index: p,
                            },
                            lane,
                            inside.into(),
                        );
                    }
                }
            }
            Code::Vote(v) => {
                let votes = self.predicates[v.a as usize];
                let votes = (if v.negate { !votes } else { votes }) & mask;
                let result = match v.mode {
                    VoteMode::Ballot => votes,
                    VoteMode::All => u32::from(votes == mask),
                    VoteMode::Any => u32::from(votes != 0),
                    VoteMode::Uni => u32::from(votes == mask || votes == 0),
                };
                lanes(mask).for_each(|lane| self.set(v.d, lane, result.into()));
            }
            Code::Elect { d, p, .. } => {
                // Which lane is elected is open, but it is always the same one.
                let leader = mask.trailing_zeros();
                lanes(mask).for_each(|lane| self.words[*d as usize].0[lane] = leader);
                let p = &mut self.predicates[*p as usize];
                *p = *p & !mask | mask & mask.wrapping_neg();
            }
            Code::Match { all, d, p, a, .. } => {
                let values: Vec<u64> = (0..32).map(|lane| self.get(*a, lane)).collect();
                for lane in lanes(mask) {
                    let same = lanes(mask)
                        .filter(|&other| values[other] == values[lane])
                        .fold(0, |m, l| m | 1 << l);
                    let everyone = same == mask;
                    self.words[*d as usize].0[lane] = if *all && !everyone { 0 } else { same };
                    self.set(
                        Reg {
                            class: Class::Predicate,
                            index: *p,
                        },
                        lane,
                        everyone.into(),
                    );
                }
            }
            Code::Reduce { f, d, a, .. } => {
                let values = lanes(mask).map(|lane| u64::from(self.words[*a as usize].0[lane]));
                let result = values
                    .reduce(|x, y| f([x, y, 0]) & 0xffff_ffff)
                    .unwrap_or(0);
                lanes(mask).for_each(|lane| self.words[*d as usize].0[lane] = result as u32);
            }
            _ => {}
        }
    }
}

/// Counts the lanes that are at an instruction together; `counted` were counted when they came.
pub(super) fn count(pc: u32, counted: u32, there: u32, cx: &mut Context<'_>) {
    let threads = &mut cx.tally.ops[pc as usize].threads;
    *threads = *threads + u64::from(there.count_ones()) - u64::from(counted.count_ones());
}
