//! Operations of threads on an mbarrier: `init`, `inval`, arrivals, `expect_tx` (PTX ISA, "mbarrier.arrive").
use super::{Checked, MAX_COUNT, Mbarrier, Misuse, name};
use crate::exec::block::Execution;
use crate::exec::lane_access::Result;
use crate::exec::lanes::lanes;
use crate::exec::warp::{Signal, Warp};
use crate::finding::{AccessKind, MbarrierMisuse};
use crate::happens_before::HappensBefore;
use crate::op::{MbarrierAccess, MbarrierAction, Scope};
use crate::shadow::{AccessMode, Site};
use crate::trace::Effect;

impl Warp {
    /// Executes an mbarrier instruction, one thread after the other; the order on hardware is unspecified.
    #[inline(never)]
    pub(in crate::exec) fn mbarrier(
        &mut self,
        access: &MbarrierAccess,
        op: usize,
        mask: u32,
        cx: &mut Execution<'_>,
    ) -> Result<()> {
        let addresses = self.addresses(access.address, mask);
        for lane in lanes(mask) {
            let site = self.site(op, lane);
            let found =
                cx.find_mbarrier(access.space, addresses[lane], AccessKind::Atomic, site)?;
            if let Err(reason) = self.at_mbarrier(access, found, site, cx) {
                return Err(cx.invalid_mbarrier(reason, site));
            }
        }
        Ok(())
    }

    fn at_mbarrier(
        &mut self,
        access: &MbarrierAccess,
        (rank, at): (usize, u32),
        site: Site,
        cx: &mut Execution<'_>,
    ) -> Checked<()> {
        let Site { op, lane, .. } = site;
        let count = self.b32[access.count as usize].0[lane];
        let (actor, alive, bit) = (self.actor, self.alive, 1 << lane);
        let own = rank == cx.rank;
        let local_only = match access.action {
            MbarrierAction::Init | MbarrierAction::Invalidate | MbarrierAction::Copies { .. } => {
                true
            }
            MbarrierAction::ExpectTx
            | MbarrierAction::CompleteTx
            | MbarrierAction::Arrive { .. }
            | MbarrierAction::ArriveExpectTx { .. } => false,
        };
        if local_only && !own {
            return Err("it is in another block's shared memory".into());
        }
        if access.action != MbarrierAction::Init {
            cx.check_mbarrier(rank, at, false, site);
        }
        if !own {
            cx.visit(rank, site);
        }
        let MbarrierAccess {
            relaxed,
            within_block,
            ..
        } = *access;
        let scope = if own { Scope::Block } else { Scope::Cluster };
        // PTX ISA, "mbarrier.arrive": without a scope it is `.cta`. CUTLASS arrives at the mbarriers of other blocks
        // without a scope, and its pipelines work, so only an explicit `.cta` is reported.
        let release = |barrier: &mut Mbarrier, order: &mut HappensBefore| {
            let view = match own {
                true => &mut barrier.arriving,
                false if within_block => return,
                false => &mut barrier.remote_arriving,
            };
            match relaxed {
                true => order.release_fenced(actor, bit, scope, view),
                false => order.release(actor, bit, alive, view),
            }
        };
        let recorded = cx.common.lookahead().is_some() || cx.machine.options.sanitize;
        let arrived = |barrier: &mut Mbarrier| {
            barrier.arrived = Some(site);
            if recorded {
                barrier.note_arrival(actor);
            }
        };
        let tx = |count: u32| -> Checked<i64> {
            match count {
                0..=MAX_COUNT => Ok(count.into()),
                _ => Err(format!("{count} bytes; a tx-count takes up to {MAX_COUNT}").into()),
            }
        };
        cx.profiler.effect(|| {
            let arrive = |count, bytes| Effect::MbarrierArrive {
                rank: rank as u32,
                at,
                count,
                bytes,
            };
            match access.action {
                MbarrierAction::Init => Effect::MbarrierInit { at, count },
                MbarrierAction::Invalidate => arrive(0, 0),
                MbarrierAction::ExpectTx => arrive(0, count.into()),
                MbarrierAction::CompleteTx => arrive(0, -i64::from(count)),
                MbarrierAction::Arrive { .. } => arrive(count, 0),
                MbarrierAction::ArriveExpectTx { .. } => arrive(1, count.into()),
                MbarrierAction::Copies { noinc } => Effect::MbarrierCopies { at, noinc },
            }
        });
        let state = match access.action {
            MbarrierAction::Invalidate => {
                cx.change_mbarrier(rank, at, |_, _| Ok(()))?;
                cx.check(AccessMode::Invalidate, at, 8, site);
                cx.block.mbarriers.remove(&at);
                let last = cx.block.last_writes(at);
                if let Some(known) = cx.block.only_mbarriers.get_mut(&at) {
                    *known = last;
                }
                return Ok(());
            }
            MbarrierAction::Init => {
                if count == 0 || count > MAX_COUNT {
                    return Err(format!("a count of {count}; it takes 1 to {MAX_COUNT}").into());
                }
                if cx.block.mbarriers.contains_key(&at) {
                    let name = name(cx.machine.program, &cx.block.mbarriers, at);
                    let why =
                        format!("there is an mbarrier at {name} already; mbarrier.inval ends it");
                    return Err(Misuse(MbarrierMisuse::Present, why));
                }
                let known = cx.block.only_mbarriers.remove(&at).unwrap_or_default();
                if cx.block.last_writes(at) == known {
                    cx.block.only_mbarriers.insert(at, 0);
                }
                cx.check(AccessMode::Init, at, 8, site);
                let new = Mbarrier::new(count, cx.common.mbarriers);
                let barrier = Mbarrier { init: op, ..new };
                cx.common.mbarriers += 1;
                cx.block.shared[at as usize / 4..][..2].copy_from_slice(&barrier.words());
                cx.block.mbarriers.insert(at, barrier);
                cx.block.activity += 1;
                return Ok(());
            }
            MbarrierAction::ExpectTx => {
                if cx.machine.options.sanitize {
                    cx.check_expected(rank, at, count, site);
                }
                cx.change_mbarrier(rank, at, |barrier, _| {
                    barrier.announced = Some(site);
                    barrier.transact(tx(count)?)
                })?;
                return Ok(());
            }
            MbarrierAction::CompleteTx => {
                cx.change_mbarrier(rank, at, |barrier, _| {
                    // A wait for these bytes is a wait for this warp.
                    if recorded {
                        barrier.note_arrival(actor);
                    }
                    barrier.transact(-tx(count)?)
                })?;
                return Ok(());
            }
            MbarrierAction::Arrive { drop, no_complete } => {
                cx.change_mbarrier(rank, at, |barrier, order| {
                    let state = barrier.state();
                    release(barrier, order);
                    arrived(barrier);
                    barrier.arrive(count, drop, no_complete)?;
                    Ok(state)
                })?
            }
            MbarrierAction::ArriveExpectTx { drop } => {
                cx.change_mbarrier(rank, at, |barrier, order| {
                    let state = barrier.state();
                    release(barrier, order);
                    barrier.announced = Some(site);
                    arrived(barrier);
                    barrier.transact(tx(count)?)?;
                    barrier.arrive(1, drop, false)?;
                    Ok(state)
                })?
            }
            MbarrierAction::Copies { noinc } => {
                cx.change_mbarrier(rank, at, |barrier, order| {
                    release(barrier, order);
                    if !noinc {
                        barrier.pending += 1;
                        if barrier.pending > MAX_COUNT {
                            return Err("more arrivals pending than it can count".into());
                        }
                    }
                    Ok(())
                })?;
                self.signals.push(Signal {
                    lane,
                    copies: self.copies,
                    mbarrier: at,
                    op,
                });
                return Ok(());
            }
        };
        if let Some(d) = access.state {
            self.b64[d as usize].0[lane] = state;
        }
        Ok(())
    }
}
