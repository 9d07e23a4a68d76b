//! Waits for a phase of an mbarrier: `test_wait`, `try_wait` (PTX ISA, "mbarrier.test_wait / mbarrier.try_wait").
use super::{Checked, Misuse, missing, name};
use crate::banks::LANES;
use crate::exec::block::{Execution, Unheeded};
use crate::exec::lanes::{lanes, mask_of};
use crate::exec::step::Stop;
use crate::exec::warp::{Split, State, Warp};
use crate::exec::warp_sync::{Arrival, Pause, Synced};
use crate::finding::AccessKind;
use crate::happens_before::Actor;
use crate::op::{Class, MbarrierWait};
use crate::random::random;
use crate::trace::Effect;

/// How often a `try_wait` returns false in a row where it hesitates for long. Waits that give up after a number of tries that somebody has
/// chosen by hand give up before.
const PATIENCE: u32 = 1 << 11;

impl Warp {
    /// `test_wait` and `try_wait`. `try_wait` blocks until a lane finds its phase complete, or until no
    /// other warp can make progress: then it times out. So does a `test_wait` that is repeated: a loop of them would otherwise be
    /// endless if it also reads a clock, as that of `cuda::barrier` does.
    #[inline(never)]
    pub(in crate::exec) fn wait_mbarrier(
        &mut self,
        wait: &MbarrierWait,
        arrival: Arrival,
        cx: &mut Execution<'_>,
    ) -> Synced {
        let (op, active) = (arrival.pc as usize, arrival.active);
        let addresses = self.addresses(wait.address, active);
        let (mut complete, mut views) = (0, Vec::new());
        let first = active.trailing_zeros() as usize & 31;
        let parity = match wait.phase.class {
            Class::B32 => self.get(wait.phase, first),
            // A state contains the phase in which it was returned.
            Class::B64 | Class::Predicate => self.get(wait.phase, first) >> 40,
        };
        cx.profiler.effect(|| Effect::MbarrierWait {
            at: addresses[first] as u32,
            parity: parity as u32 & 1,
        });
        let phases: [u64; LANES] = std::array::from_fn(|lane| self.get(wait.phase, lane));
        let mut rest = active;
        while rest != 0 {
            // Usually all lanes wait for the same phase of one mbarrier.
            let lane = rest.trailing_zeros() as usize;
            let (address, phase) = (addresses[lane], phases[lane]);
            let mut together = 0;
            for other in 0..LANES {
                let same = addresses[other] == address && phases[other] == phase;
                together |= u32::from(same) << other;
            }
            together &= rest;
            rest &= !together;
            let site = self.site(op, lane);
            let found = cx.find_mbarrier(wait.space, address, AccessKind::Read, site);
            let Ok((rank, at)) = found else {
                return Err(Pause::Stop(Stop::Fatal));
            };
            let done = if rank == cx.rank {
                cx.check_mbarrier_by_lanes(rank, at, together, |lane| self.site(op, lane));
                phase_complete(cx, at, phase, wait.phase.class == Class::B32)
            } else {
                Err("a block can only wait at its own mbarriers".into())
            };
            match done {
                Err(reason) => {
                    cx.invalid_mbarrier(reason, site);
                    return Err(Pause::Stop(Stop::Fatal));
                }
                Ok(true) => {
                    if let Some(barrier) = cx.block.mbarriers.get_mut(&at) {
                        barrier.seen = barrier.phase;
                    }
                    complete |= together;
                    views.push((together, at));
                }
                Ok(false) => {}
            }
        }
        let hesitates =
            cx.machine.hesitates && wait.blocking && complete != 0 && self.hesitate(op, active, cx);
        if hesitates {
            complete = 0;
            views.clear();
        }
        if cx.machine.hesitates {
            let at = |lane: usize| addresses[lane] as u32;
            cx.note_heeded(self.actor, op, complete, active, at);
        }
        let mut repeats = false;
        let mut joint = None;
        match views.first() {
            Some(&(_, at)) => {
                let barrier = cx.block.mbarriers.get(&at);
                let issued = barrier.and_then(|barrier| barrier.copied);
                let brought = barrier.map_or_else(Vec::new, |barrier| barrier.brought.clone());
                let arrived = barrier.map_or_else(Vec::new, |one| one.arrived_warps.clone());
                match issued {
                    // A second wait for the same phase gives the warp no new information.
                    Some(_) => {
                        let again = self.has_waited_for(&brought, cx);
                        self.note_wait(&brought, cx);
                        joint = (!again).then_some((arrived, brought));
                    }
                    None => self.note_empty_wait(cx),
                }
                self.end_wait(op, complete, at, issued, cx);
            }
            None => {
                let lane = active.trailing_zeros() as usize & 31;
                repeats = self.begin_wait(op, active, addresses[lane] as u32, cx);
            }
        }
        let expired = self.expired & active != 0;
        if complete == 0 && (wait.blocking || repeats) && !expired && !hesitates {
            let own = self.part(arrival, |_| true);
            let state = State::Mbarrier(cx.block.phases, self.steps(cx));
            return self.wait(arrival, own, state, cx);
        }
        self.expired &= !active;
        if complete == 0 && wait.blocking && cx.machine.hesitates {
            let lane = active.trailing_zeros() as usize & 31;
            cx.common.unheeded.push(Unheeded {
                lanes: active,
                mbarrier: addresses[lane] as u32,
                site: self.site(op, lane),
            });
        }
        let p = &mut self.predicates[wait.d as usize];
        *p = *p & !active | complete;
        if !wait.relaxed && cx.machine.options.sanitize {
            // Lanes at the same mbarrier acquire together: if they are all lanes of the warp, the warp does.
            if let Some(&(_, at)) = views.first()
                && views.iter().all(|&(_, other)| other == at)
            {
                views = vec![(complete, at)];
            }
            for (lanes, at) in views {
                if let Some(barrier) = cx.block.mbarriers.get(&at) {
                    cx.order
                        .acquire(self.actor, lanes, self.alive, &barrier.done);
                    if !wait.within_block {
                        cx.order
                            .acquire(self.actor, lanes, self.alive, &barrier.remote_done);
                    }
                }
            }
        }
        // Only now does the warp know what the phase tells it of others.
        if let Some((arrived, brought)) = joint {
            self.note_joint_wait(complete, arrived, &brought, cx);
        }
        Ok((arrival.mask, arrival.join))
    }

    /// Whether a `try_wait` returns false although its phase is complete, as on a GPU where the phase completes just
    /// after the time limit: the first time at each instruction, and now and then after that. In the first cluster, a wait that is not simply
    /// repeated does so for long, for the first warp that executes it: if it gives up after some tries, it does so here.
    fn hesitate(&mut self, op: usize, lanes: u32, cx: &mut Execution<'_>) -> bool {
        if let Some(long) = &mut cx.common.long_hesitations {
            let ops = &cx.machine.program.ops;
            let patience = || match self.only_repeats_at(ops, lanes, op) {
                true => 0,
                false => PATIENCE,
            };
            let (warp, left) = long.entry(op).or_insert_with(|| (self.actor, patience()));
            if *warp == self.actor && *left > 0 {
                *left -= 1;
                // The warp may be the only one that runs, and it does not loop forever.
                cx.block.activity += 1;
                return true;
            }
        }
        if !self.hesitated.contains(&op) {
            self.hesitated.push(op);
            return true;
        }
        let mut state = self.clock ^ (op as u64) << 32 ^ (self.actor as u64) << 48;
        random(&mut state).is_multiple_of(16)
    }

    /// Describes what a split at an mbarrier waits for: the end of its current phase, since any other has ended.
    pub(in crate::exec) fn waits_for(
        &self,
        wait: &MbarrierWait,
        split: &Split,
        cx: &Execution<'_>,
    ) -> String {
        let at = self.waits_at(wait, split);
        let name = name(cx.machine.program, &cx.block.mbarriers, at);
        let Some(barrier) = cx.block.mbarriers.get(&at) else {
            return format!("mbarrier {name}");
        };
        let (current, pending) = (barrier.current(), barrier.pending());
        let mut words = format!("{current} of mbarrier {name}: {pending}");
        let arrived = barrier.arrivals(cx.machine).warps;
        if !arrived.is_empty() {
            words += &format!("; arrived: {}", arrived.join(", "));
        }
        words
    }

    /// The mbarrier at which the first lane of a split waits.
    pub(in crate::exec) fn waits_at(&self, wait: &MbarrierWait, split: &Split) -> u32 {
        let addresses = self.addresses(wait.address, split.mask);
        addresses[split.mask.trailing_zeros() as usize & 31] as u32
    }
}

impl Execution<'_> {
    /// Lanes of a warp repeat a wait, or a wait for the same mbarrier has ended: they did not ignore the returned
    /// false.
    fn note_heeded(
        &mut self,
        actor: Actor,
        op: usize,
        complete: u32,
        active: u32,
        at: impl Fn(usize) -> u32,
    ) {
        self.common.unheeded.retain_mut(|one| {
            if one.site.warp == actor {
                let here = lanes(complete).filter(|&lane| at(lane) == one.mbarrier);
                one.lanes &= !mask_of(here);
                if one.site.op == op {
                    one.lanes &= !active;
                }
            }
            one.lanes != 0
        });
    }
}

/// Whether the phase with this parity, or of this state, is complete. A parity refers to the current phase
/// or the immediately preceding one (PTX ISA, "mbarrier.test_wait").
fn phase_complete(cx: &mut Execution<'_>, at: u32, phase: u64, parity: bool) -> Checked<bool> {
    let (program, all) = (cx.machine.program, &cx.block.mbarriers);
    let barrier = all.get(&at).ok_or_else(|| missing(program, at))?;
    let named = |misuse: Misuse| misuse.of(&name(program, all, at));
    barrier.check(at, &cx.block.shared).map_err(named)?;
    let current = barrier.phase & 0x7f_ffff;
    if parity {
        return match phase {
            0 | 1 => Ok(current & 1 != phase),
            _ => Err(format!("a parity of {phase}; it is 0 or 1").into()),
        };
    }
    let asked = phase >> 40 & 0x7f_ffff;
    match current.wrapping_sub(asked) & 0x7f_ffff {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(format!(
            "a state of phase {asked} at the mbarrier {}, which is in phase {current}",
            name(program, all, at)
        )
        .into()),
    }
}
