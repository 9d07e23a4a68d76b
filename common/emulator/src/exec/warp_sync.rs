//! Synchronization: barriers, and exchange between the lanes of a warp (shuffles, votes).
use super::block::{BARRIERS, Execution};
use super::lanes::{lanes, mask_of};
use super::step::Stop;
use super::warp::{State, Warp};
use crate::finding::FindingKind;
use crate::op::{Barrier, Reg, ShuffleMode, SyncOp, VoteMode, WarpOp};
use crate::trace::Effect;

/// The result of an instruction that synchronizes threads: the lanes that continue together, and their join.
pub(super) type Synced = Result<(u32, u32), Pause>;

/// Why the lanes do not continue.
pub(super) enum Pause {
    Waiting,
    Stop(Stop),
}

/// The `active` lanes of a split at an operation.
#[derive(Clone, Copy)]
pub(super) struct Arrival {
    pub pc: u32,
    pub mask: u32,
    pub active: u32,
    pub join: u32,
}

impl Warp {
    /// Executes a warp-level instruction or a barrier for the lanes that have reached it.
    #[inline(never)]
    pub fn synchronize(&mut self, op: &SyncOp, at: Arrival, cx: &mut Execution<'_>) -> Synced {
        match op {
            SyncOp::Warp { mask, op } => self.warp_sync(op, *mask, at, cx),
            SyncOp::Barrier(barrier) => self.barrier(barrier, at, cx),
            SyncOp::MbarrierWait(wait) => self.wait_mbarrier(wait, at, cx),
            &SyncOp::ClusterBarrier(barrier) => self.cluster_barrier(barrier, at, cx),
            &SyncOp::SetRegisters { count, increase } => {
                self.set_registers(count, increase, at, cx)
            }
        }
    }

    /// Lanes that name different masks form groups of their own. If all groups have arrived at a shuffle or a barrier, they continue
    /// together: an H100 does not split a warp by such masks. Votes and reductions are executed for each group.
    fn warp_sync(&mut self, op: &WarpOp, mask: u32, at: Arrival, cx: &mut Execution<'_>) -> Synced {
        let masks = self.b32[mask as usize].0;
        let members = masks[at.active.trailing_zeros() as usize & 31];
        if members != at.active
            && matches!(op, WarpOp::Shuffle(_) | WarpOp::Barrier)
            && let Some(groups) = complete_groups(&masks, at.active)
        {
            for group in groups {
                self.exchange_in(op, at.pc, group, cx);
            }
            return Ok((at.mask, at.join));
        }
        let own = self.part(at, |lane| masks[lane] == members);
        // PTX ISA, "shfl.sync", "vote.sync" and others: "The behavior … is undefined if the executing thread is not in the membermask."
        let strangers = own & !members;
        if strangers != 0 && cx.machine.options.sanitize {
            let why = format!(
                "Lanes 0x{strangers:08x} execute this with the mask 0x{members:08x}, which does not name them"
            );
            self.report(FindingKind::InvalidMask(why), at.pc, strangers, cx);
            return Err(Pause::Stop(Stop::Fatal));
        }
        let state = State::Warp(members);
        let Some(there) = self.gather(at.pc, state, members, own) else {
            return self.wait(at, own, state, cx);
        };
        recount(at, there, cx);
        self.exchange_in(op, at.pc, there & members, cx);
        Ok(self.unite(at.pc, state, own, at.join))
    }

    /// Executes it for a group whose lanes have all arrived.
    fn exchange_in(&mut self, op: &WarpOp, pc: u32, group: u32, cx: &mut Execution<'_>) {
        if cx.machine.options.sanitize {
            self.trace_exchange(op, pc, group, cx);
        }
        self.exchange(op, group);
        // Shuffles, votes, `match` and `redux` order no memory (CUDA C++ Programming Guide, "Warp Shuffle Functions").
        if matches!(op, WarpOp::Barrier) {
            cx.order.synchronize_lanes(self.actor, group, self.alive);
        }
    }

    /// At a barrier: with `.aligned`, gathers all threads of the warp; otherwise these lanes continue alone.
    pub(super) fn gather_if(
        &mut self,
        aligned: bool,
        own: u32,
        at: Arrival,
        cx: &mut Execution<'_>,
    ) -> Result<Arrival, Pause> {
        if aligned {
            return self.whole_warp(own, at, cx);
        }
        recount(at, own, cx);
        Ok(Arrival { mask: own, ..at })
    }

    /// `.aligned`: gathers all threads of the warp; until they have arrived, returns a pause.
    #[inline(never)]
    pub(super) fn whole_warp(
        &mut self,
        own: u32,
        at: Arrival,
        cx: &mut Execution<'_>,
    ) -> Result<Arrival, Pause> {
        let Some(all) = self.gather(at.pc, State::WholeWarp, u32::MAX, own) else {
            return self.wait(at, own, State::WholeWarp, cx);
        };
        recount(at, all, cx);
        let (mask, join) = self.unite(at.pc, State::WholeWarp, own, at.join);
        Ok(Arrival {
            mask,
            active: mask,
            join,
            ..at
        })
    }

    /// Returns the active lanes that agree. The other active lanes execute the instruction separately,
    /// and the lanes with a false guard continue.
    pub(super) fn part(&mut self, at: Arrival, agrees: impl Fn(usize) -> bool) -> u32 {
        let own = mask_of(lanes(at.active).filter(|&lane| agrees(lane)));
        for (pc, mask) in [(at.pc, at.active & !own), (at.pc + 1, at.mask & !at.active)] {
            if mask != 0 {
                self.split(pc, mask, at.join, State::Ready);
            }
        }
        own
    }

    /// Makes these lanes wait, and undoes the count of the execution: the instruction counts once all lanes have arrived.
    pub(super) fn wait<T>(
        &mut self,
        at: Arrival,
        mask: u32,
        state: State,
        cx: &mut Execution<'_>,
    ) -> Result<T, Pause> {
        let counters = &mut cx.profiler.ops[at.pc as usize];
        counters.executions -= 1;
        counters.threads -= u64::from(at.active.count_ones());
        if let Some(tracer) = &mut cx.profiler.tracer {
            tracer.take_back();
        }
        self.split(at.pc, mask, at.join, state);
        Err(Pause::Waiting)
    }

    fn barrier(&mut self, barrier: &Barrier, at: Arrival, cx: &mut Execution<'_>) -> Synced {
        let ids = self.b32[barrier.id as usize].0;
        let counts = barrier.threads.map(|threads| self.b32[threads as usize].0);
        let lane = at.active.trailing_zeros() as usize & 31;
        let (id, threads) = (ids[lane], counts.map(|counts| counts[lane]));
        let own = self.part(at, |lane| {
            ids[lane] == id && counts.map(|counts| counts[lane]) == threads
        });
        let at = self.gather_if(barrier.aligned, own, at, cx)?;
        let (pc, own, join) = (at.pc, at.mask, at.join);
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
            self.report(FindingKind::InvalidBarrier(reason), pc, own, cx);
            return Err(Pause::Stop(Stop::Fatal));
        }
        // An explicit thread count counts whole warps.
        let arriving = match threads {
            Some(_) if own == self.alive => 32,
            _ => own.count_ones(),
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
        cx.profiler.effect(|| Effect::Barrier {
            number: id,
            threads,
        });
        if barrier.wait {
            if threads.unwrap_or(32 * cx.machine.warps as u32) > 32 {
                self.note_barrier(cx);
            }
            self.split(pc, own, join, State::Barrier(id));
            return Err(Pause::Waiting);
        }
        self.split(pc + 1, own, join, State::Ready);
        Err(Pause::Stop(Stop::Arrived))
    }

    /// Reports threads at an aligned barrier that wait for the rest of their warp, which cannot arrive.
    pub fn report_divergent_barrier(&self, cx: &mut Execution<'_>) -> bool {
        let Some(split) = self
            .splits
            .iter()
            .find(|split| split.state == State::WholeWarp)
        else {
            return false;
        };
        let missing = (self.alive & !split.mask).count_ones();
        self.report(
            FindingKind::DivergentBarrier { missing },
            split.pc,
            split.mask,
            cx,
        );
        true
    }

    /// A warp-level instruction, for all lanes that take part.
    pub(super) fn exchange(&mut self, op: &WarpOp, mask: u32) {
        match op {
            WarpOp::Barrier => {}
            WarpOp::Shuffle(s) => {
                let [a, b, c] = s.sources.map(|reg| self.b32[reg as usize]);
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
                    self.b32[s.d as usize].0[lane] = a.0[from as usize];
                    if let Some(p) = s.p {
                        self.set(Reg::predicate(p), lane, inside.into());
                    }
                }
            }
            WarpOp::Vote(v) => {
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
            WarpOp::Elect { d, p } => {
                // Which lane is elected is unspecified, but it is always the same one.
                let leader = mask.trailing_zeros();
                lanes(mask).for_each(|lane| self.b32[*d as usize].0[lane] = leader);
                let p = &mut self.predicates[*p as usize];
                *p = *p & !mask | mask & mask.wrapping_neg();
            }
            WarpOp::Match(m) => {
                let values: Vec<u64> = (0..32).map(|lane| self.get(m.a, lane)).collect();
                for lane in lanes(mask) {
                    let alike = |&other: &usize| values[other] == values[lane];
                    let same = mask_of(lanes(mask).filter(alike));
                    let everyone = same == mask;
                    self.b32[m.d as usize].0[lane] = if m.all && !everyone { 0 } else { same };
                    self.set(Reg::predicate(m.p), lane, everyone.into());
                }
            }
            WarpOp::Reduce { f, d, a } => {
                let values = lanes(mask).map(|lane| u64::from(self.b32[*a as usize].0[lane]));
                let result = values
                    .reduce(|x, y| f([x, y, 0]) & 0xffff_ffff)
                    .unwrap_or(0);
                lanes(mask).for_each(|lane| self.b32[*d as usize].0[lane] = result as u32);
            }
        }
    }
}

/// The distinct masks of the active lanes, if they partition the active lanes and each lane's mask is that of its
/// group.
fn complete_groups(masks: &[u32; 32], active: u32) -> Option<Vec<u32>> {
    let (mut groups, mut rest) = (Vec::new(), active);
    while rest != 0 {
        let group = masks[rest.trailing_zeros() as usize & 31];
        let is_whole = group & rest == group && lanes(group).all(|lane| masks[lane] == group);
        if !is_whole || group == 0 {
            return None;
        }
        groups.push(group);
        rest &= !group;
    }
    Some(groups)
}

/// Counts all lanes that execute an instruction together; the active ones were already counted at their arrival.
fn recount(at: Arrival, there: u32, cx: &mut Execution<'_>) {
    let threads = &mut cx.profiler.ops[at.pc as usize].threads;
    *threads = *threads + u64::from(there.count_ones()) - u64::from(at.active.count_ones());
}
