//! mbarriers: phases, pending arrivals, bytes that are still to come (PTX ISA, "mbarrier").
use super::block::{Execution, Unheeded};
use super::lane_access::{Fatal, LaneAccess, Result};
use super::lanes::{lanes, mask_of};
use super::lookahead::Issue;
use super::step::Stop;
use super::warp::{Signal, Split, State, Warp};
use super::warp_sync::{Arrival, Pause, Synced};
use crate::Space;
use crate::finding::{AccessKind, FindingKind};
use crate::happens_before::{Actor, HappensBefore, View};
use crate::op::{Class, MbarrierAccess, MbarrierAction, MbarrierWait, Scope};
use crate::random::random;
use crate::shadow::{AccessMode, Site};
use crate::trace::Effect;

/// Arrivals that an mbarrier can count, and bytes either way (PTX ISA, "Contents of the mbarrier object").
const MAX_COUNT: u32 = (1 << 20) - 1;

/// Or what is wrong.
type Checked<T> = std::result::Result<T, String>;

/// One mbarrier, beside the memory in which it lies.
#[derive(Clone, Default)]
pub(super) struct Mbarrier {
    /// Arrivals that each further phase takes.
    expected: u32,
    pending: u32,
    /// Bytes expected less bytes that have come.
    bytes: i64,
    /// Phases completed.
    pub phase: u64,
    /// Its number in the cluster, for the clock of what lands through it.
    pub number: usize,
    /// What those who have arrived, now or in earlier phases, release; and up to the last completed phase.
    pub arriving: View,
    done: View,
    /// Who announced bytes last, and who arrived last.
    pub announced: Option<Site>,
    arrived: Option<Site>,
    /// The latest phase that somebody has found running when his wait was over.
    seen: u64,
    /// The first phase that ended although nobody had noticed the end of the one before, and whose arrival ended it.
    pub overrun: Option<(u64, Option<Site>)>,
    /// The steps at which the last copy was issued that has landed in this phase, and in the last completed one.
    pub issued: Option<u64>,
    copied: Option<u64>,
    /// The copies that have landed in this phase, and in the last completed one, if their leads are kept.
    pub bringing: Vec<Issue>,
    brought: Vec<Issue>,
}

impl Mbarrier {
    fn new(count: u32, number: usize) -> Self {
        Self {
            expected: count,
            pending: count,
            number,
            ..Self::default()
        }
    }

    /// The 64 bits that lie in memory, which is opaque: arrivals pending and expected, the phase, a mark.
    fn state(&self) -> u64 {
        u64::from(self.pending)
            | u64::from(self.expected) << 20
            | (self.phase & 0x7f_ffff) << 40
            | 1 << 63
    }

    /// The same in two words.
    fn words(&self) -> [u32; 2] {
        [self.state() as u32, (self.state() >> 32) as u32]
    }

    /// That it is still in memory, at `at`.
    fn check(&self, at: u32, shared: &[u32]) -> Checked<()> {
        match shared[at as usize / 4..][..2] == self.words() {
            true => Ok(()),
            false => Err(format!(
                "the mbarrier at 0x{at:x} has been overwritten by something else"
            )),
        }
    }

    pub fn arrive(&mut self, count: u32, drop: bool, no_complete: bool) -> Checked<()> {
        let (pending, phase) = (self.pending, self.phase);
        if count == 0 || count > pending {
            let bytes = match (pending, self.bytes) {
                (0, bytes @ 1..) => format!(", and for {bytes} bytes: the phase has not ended yet"),
                _ => String::new(),
            };
            let overrun = if count > 0 { "phase overrun: " } else { "" };
            return Err(format!(
                "{overrun}{count} arrivals, but phase {phase} waits for {pending} more of {}{bytes}",
                self.expected
            ));
        }
        if no_complete && count == pending {
            return Err(format!(
                "{count} arrivals with .noComplete would complete phase {phase}"
            ));
        }
        self.pending -= count;
        if drop {
            self.expected = self.expected.saturating_sub(count);
        }
        Ok(())
    }

    /// Bytes that are expected, or less than none that have come.
    pub fn transact(&mut self, bytes: i64) -> Checked<()> {
        self.bytes += bytes;
        if self.bytes.abs() > i64::from(MAX_COUNT) {
            return Err(format!(
                "a tx-count of {}; it lies within {MAX_COUNT} either way",
                self.bytes
            ));
        }
        Ok(())
    }

    /// Whether the phase is complete now; then the next one begins.
    fn turn(&mut self) -> bool {
        let complete = self.pending == 0 && self.bytes == 0;
        if complete {
            if self.seen < self.phase && self.overrun.is_none() {
                self.overrun = Some((self.phase, self.arrived));
            }
            self.phase += 1;
            self.pending = self.expected;
            self.done = self.arriving.clone();
            self.copied = self.issued.take();
            self.brought = std::mem::take(&mut self.bringing);
        }
        complete
    }

    /// Whether all arrivals are there, but other bytes than were announced, so that the phase cannot end.
    pub fn is_stuck(&self) -> bool {
        self.pending == 0 && self.bytes != 0
    }

    /// When nothing can come any more: how what has come differs from what was announced.
    pub fn difference(&self) -> Option<String> {
        match self.bytes {
            0 => None,
            n @ 1.. => Some(format!("{n} of the bytes that were announced never come")),
            n => Some(format!("{} bytes more than were announced have come", -n)),
        }
    }

    /// Some arrivals of the phase are there.
    pub fn has_begun(&self) -> bool {
        self.pending < self.expected
    }

    /// What it waits for, in words.
    pub fn wanting(&self) -> String {
        let bytes = match self.bytes {
            0 => String::new(),
            n @ 1.. => format!(", {n} bytes still to come"),
            n => format!(", {} bytes more than were expected have come", -n),
        };
        format!(
            "phase {} (parity {}): {} of {} arrivals pending{bytes}",
            self.phase,
            self.phase % 2,
            self.pending,
            self.expected
        )
    }
}

impl Execution<'_> {
    pub fn invalid_mbarrier(&mut self, reason: String, site: Site) -> Fatal {
        self.report(FindingKind::InvalidMbarrier(reason), site);
        Fatal
    }

    /// Where an mbarrier lies: rank of the block and shared address.
    pub fn find_mbarrier(
        &mut self,
        space: Space,
        address: u64,
        verb: AccessKind,
        site: Site,
    ) -> Result<(usize, u32)> {
        let found = self.locate(&LaneAccess::new(space, address, 8, site), verb)?;
        if let Some(place) = found.in_cluster(self.rank) {
            return Ok(place);
        }
        // Elsewhere: as an address in shared memory, this one is out of bounds.
        self.locate(&LaneAccess::new(Space::Cluster, address, 8, site), verb)?;
        Err(Fatal)
    }

    /// Changes an mbarrier, which must be one, and begins its next phase if that completes it.
    pub fn change_mbarrier<T>(
        &mut self,
        rank: usize,
        at: u32,
        change: impl FnOnce(&mut Mbarrier, &mut HappensBefore) -> Checked<T>,
    ) -> Checked<T> {
        let (block, order) = self.block_and_order(rank);
        let Some(block) = block else {
            return Err(format!("the cluster has no block {rank}"));
        };
        let barrier = block.mbarriers.get_mut(&at).ok_or_else(|| missing(at))?;
        barrier.check(at, &block.shared)?;
        let result = change(barrier, order)
            .map_err(|reason| format!("the mbarrier at 0x{at:x}: {reason}"))?;
        if barrier.turn() {
            block.phases += 1;
        }
        block.shared[at as usize / 4..][..2].copy_from_slice(&barrier.words());
        block.activity += 1;
        Ok(result)
    }

    /// Shows to the sanitizer that lanes of a warp, or the async proxy for them, use an mbarrier.
    pub fn check_mbarrier(&mut self, rank: usize, at: u32, asynchronous: bool, site: Site) {
        let (block, order) = self.block_and_order(rank);
        let Some(shadow) = block.and_then(|block| block.shadow.as_ref()) else {
            return;
        };
        let Some(observer) = order.observer(site.warp, 1 << site.lane) else {
            return;
        };
        let check = shadow.use_mbarrier(at, asynchronous, &observer);
        let how = match asynchronous {
            true => AccessMode::AsyncWrite,
            false => AccessMode::Atomic,
        };
        self.found(check, how, at, 8, site);
    }
}

impl Warp {
    /// An mbarrier instruction, thread after thread; the hardware's order is open.
    #[inline(never)]
    pub(super) fn mbarrier(
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
            return Err("it lies in another block's shared memory".into());
        }
        if access.action != MbarrierAction::Init {
            cx.check_mbarrier(rank, at, false, site);
        }
        if !own {
            cx.visit(rank, site);
        }
        let relaxed = access.relaxed;
        let scope = if own { Scope::Block } else { Scope::Cluster };
        let release = |barrier: &mut Mbarrier, order: &mut HappensBefore| match relaxed {
            true => order.release_fenced(actor, bit, scope, &mut barrier.arriving),
            false => order.release(actor, bit, alive, &mut barrier.arriving),
        };
        let tx = |count: u32| -> Checked<i64> {
            match count {
                0..=MAX_COUNT => Ok(count.into()),
                _ => Err(format!("{count} bytes; a tx-count takes up to {MAX_COUNT}")),
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
                return Ok(());
            }
            MbarrierAction::Init => {
                if count == 0 || count > MAX_COUNT {
                    return Err(format!("a count of {count}; it takes 1 to {MAX_COUNT}"));
                }
                if cx.block.mbarriers.contains_key(&at) {
                    return Err(format!(
                        "there is an mbarrier at 0x{at:x} already; mbarrier.inval ends it"
                    ));
                }
                cx.check(AccessMode::Init, at, 8, site);
                let barrier = Mbarrier::new(count, cx.common.mbarriers);
                cx.common.mbarriers += 1;
                cx.block.shared[at as usize / 4..][..2].copy_from_slice(&barrier.words());
                cx.block.mbarriers.insert(at, barrier);
                cx.block.activity += 1;
                return Ok(());
            }
            MbarrierAction::ExpectTx => {
                cx.change_mbarrier(rank, at, |barrier, _| {
                    barrier.announced = Some(site);
                    barrier.transact(tx(count)?)
                })?;
                return Ok(());
            }
            MbarrierAction::CompleteTx => {
                cx.change_mbarrier(rank, at, |barrier, _| barrier.transact(-tx(count)?))?;
                return Ok(());
            }
            MbarrierAction::Arrive { drop, no_complete } => {
                cx.change_mbarrier(rank, at, |barrier, order| {
                    let state = barrier.state();
                    release(barrier, order);
                    barrier.arrived = Some(site);
                    barrier.arrive(count, drop, no_complete)?;
                    Ok(state)
                })?
            }
            MbarrierAction::ArriveExpectTx { drop } => {
                cx.change_mbarrier(rank, at, |barrier, order| {
                    let state = barrier.state();
                    release(barrier, order);
                    barrier.announced = Some(site);
                    barrier.arrived = barrier.announced;
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

    /// `test_wait` and `try_wait`. The latter blocks while none of the lanes finds its phase complete, until
    /// one does, or until nothing else can go on: then the time is up.
    #[inline(never)]
    pub(super) fn wait_mbarrier(
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
            // A state: the phase that it was taken in.
            Class::B64 | Class::Predicate => self.get(wait.phase, first) >> 40,
        };
        cx.profiler.effect(|| Effect::MbarrierWait {
            at: addresses[first] as u32,
            parity: parity as u32 & 1,
        });
        for lane in lanes(active) {
            let site = self.site(op, lane);
            let found = cx.find_mbarrier(wait.space, addresses[lane], AccessKind::Read, site);
            let Ok((rank, at)) = found else {
                return Err(Pause::Stop(Stop::Fatal));
            };
            let phase = self.get(wait.phase, lane);
            let done = if rank == cx.rank {
                cx.check_mbarrier(rank, at, false, site);
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
                    complete |= 1 << lane;
                    views.push((lane, at));
                }
                Ok(false) => {}
            }
        }
        let hesitates = cx.machine.hesitates && wait.blocking && complete != 0 && self.hesitate(op);
        if hesitates {
            complete = 0;
            views.clear();
        }
        if cx.machine.hesitates {
            let at = |lane: usize| addresses[lane] as u32;
            cx.note_heeded(self.actor, op, complete, active, at);
        }
        match views.first() {
            Some(&(_, at)) => {
                let barrier = cx.block.mbarriers.get(&at);
                let issued = barrier.and_then(|barrier| barrier.copied);
                let brought = barrier.map_or_else(Vec::new, |barrier| barrier.brought.clone());
                self.note_wait(&brought, cx);
                self.end_wait(op, complete, at, issued, cx);
            }
            None => {
                let lane = active.trailing_zeros() as usize & 31;
                self.begin_wait(op, active, addresses[lane] as u32, cx);
            }
        }
        let expired = self.expired & active != 0;
        if complete == 0 && wait.blocking && !expired && !hesitates {
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
            // Mostly all lanes wait at one mbarrier: what it releases is for the whole warp then.
            let first = views.first().map(|&(_, at)| at);
            let groups: Vec<(u32, u32)> = match first {
                Some(at) if views.iter().all(|&(_, other)| other == at) => vec![(complete, at)],
                _ => views.iter().map(|&(lane, at)| (1 << lane, at)).collect(),
            };
            for (lanes, at) in groups {
                if let Some(barrier) = cx.block.mbarriers.get(&at) {
                    cx.order
                        .acquire(self.actor, lanes, self.alive, &barrier.done);
                }
            }
        }
        Ok((arrival.mask, arrival.join))
    }

    /// Whether a `try_wait` whose phase is complete comes back as if it were not, as one does that is complete just after
    /// its time was up: the first time at each, and now and then.
    fn hesitate(&mut self, op: usize) -> bool {
        if !self.hesitated.contains(&op) {
            self.hesitated.push(op);
            return true;
        }
        let mut state = self.clock ^ (op as u64) << 32 ^ (self.actor as u64) << 48;
        random(&mut state).is_multiple_of(16)
    }

    /// What a split that waits at an mbarrier waits for, in words.
    pub(super) fn waits_for(
        &self,
        wait: &MbarrierWait,
        split: &Split,
        cx: &Execution<'_>,
    ) -> String {
        let lane = split.mask.trailing_zeros() as usize & 31;
        let at = self.waits_at(wait, split);
        let phase = self.get(wait.phase, lane);
        let requested = match wait.phase.class {
            Class::B32 => format!("parity {phase}"),
            _ => format!("phase {}", phase >> 40 & 0x7f_ffff),
        };
        match cx.block.mbarriers.get(&at) {
            Some(barrier) => format!(
                "mbarrier 0x{at:x} for {requested}, which is in {}",
                barrier.wanting()
            ),
            None => format!("mbarrier 0x{at:x} for {requested}"),
        }
    }

    /// The mbarrier at which the first lane of a split waits.
    pub(super) fn waits_at(&self, wait: &MbarrierWait, split: &Split) -> u32 {
        let addresses = self.addresses(wait.address, split.mask);
        addresses[split.mask.trailing_zeros() as usize & 31] as u32
    }
}

impl Execution<'_> {
    /// Lanes of a warp come to a wait again, or a wait for the same mbarrier is over: they have heeded that they had to.
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

fn missing(at: u32) -> String {
    format!("there is no mbarrier at 0x{at:x}: not initialised, or invalidated")
}

/// Whether the phase with this parity, or that this state came from, is complete. A parity means the phase
/// that runs or the one just before it (PTX ISA, "mbarrier.test_wait").
fn phase_complete(cx: &mut Execution<'_>, at: u32, phase: u64, parity: bool) -> Checked<bool> {
    let barrier = cx.block.mbarriers.get(&at).ok_or_else(|| missing(at))?;
    barrier.check(at, &cx.block.shared)?;
    let current = barrier.phase & 0x7f_ffff;
    if parity {
        return match phase {
            0 | 1 => Ok(current & 1 != phase),
            _ => Err(format!("a parity of {phase}; it is 0 or 1")),
        };
    }
    let asked = phase >> 40 & 0x7f_ffff;
    match current.wrapping_sub(asked) & 0x7f_ffff {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(format!(
            "a state of phase {asked} at the mbarrier at 0x{at:x}, which is in phase {current}"
        )),
    }
}
