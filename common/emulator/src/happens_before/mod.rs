//! Happens-before: which accesses are ordered before which, for the sanitizer.
//!
//! Every warp of a cluster counts its releases, fences and synchronisations: its epoch. An access carries
//! the epoch at which it was made. What a thread knows of others is a [`View`]: up to which epoch their
//! accesses are ordered before what it does now (vector clocks, after FastTrack, Flanagan and Freund 2009).
//! Knowledge is kept for whole warps, and for single lanes where they know more: a lane that arrives at an
//! mbarrier alone releases its own accesses, and of its warp only what `__syncwarp` had ordered before.
//!
//! Asynchronous hardware has clocks of its own ([`HappensBefore::engine`]): a bulk copy and a `wgmma` are no
//! accesses of the thread that issues them (PTX ISA, "Asynchronous Operations" and "Proxies").

mod strong;

use crate::op::Scope;
use crate::vector_clock::VectorClock;
use strong::Strong;
pub(crate) use strong::{SyncVariable, scope_of};

/// A warp of the cluster by number, or an engine: see [`HappensBefore::engine`].
pub(crate) type Actor = usize;

/// What somebody knows of the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct View {
    /// Accesses that come before what it does now.
    seen: VectorClock,
    /// Those of them that a proxy fence on the way has shown to the async proxy (PTX ISA, "Proxy-preserved
    /// Base Causality Order": the fence may stand anywhere between the write and the asynchronous access).
    fenced: VectorClock,
    /// `mbarrier.init`s that `fence.mbarrier_init` has released.
    inits: VectorClock,
    /// Whether `griddepcontrol.wait` has come before.
    waited: bool,
    /// What strong accesses and fences add; few kernels have them.
    strong: Option<Box<Strong>>,
}

impl View {
    /// Whether it holds what this lane did at `clock`.
    pub fn knows(&self, actor: Actor, lane: u32, clock: u32) -> bool {
        self.seen.covers(actor, lane, clock)
    }

    fn join(&mut self, other: &View) {
        self.seen.join(&other.seen);
        self.fenced.join(&other.fenced);
        self.inits.join(&other.inits);
        self.waited |= other.waited;
        if let Some(other) = &other.strong {
            self.strong.get_or_insert_default().join(other);
        }
    }

    /// Whether another one holds all of it.
    fn within(&self, other: &View) -> bool {
        self.seen.within(&other.seen)
            && self.fenced.within(&other.fenced)
            && self.inits.within(&other.inits)
            && self.waited <= other.waited
            && match (&self.strong, &other.strong) {
                (None, _) => true,
                (Some(strong), Some(other)) => strong.within(other),
                (Some(_), None) => false,
            }
    }
}

#[derive(Clone, Default)]
struct WarpOrder {
    epoch: u32,
    view: View,
    /// What single lanes know beyond their warp.
    lanes: Vec<(u32, View)>,
}

/// The hardware that works beside the threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// Bulk copies of this warp (by actor) that a bulk group completes.
    Bulk(Actor),
    /// `wgmma`s of the warpgroup whose first warp is this actor.
    Matrix(Actor),
    /// Bulk copies that complete on the mbarrier with this number.
    Mbarrier(usize),
    /// What bulk copies of this warp write to global memory.
    Store(Actor),
}

/// mbarriers with a clock of their own; beyond, they share clocks, and an order may be seen where none is.
const MBARRIERS: usize = 256;

/// The clocks of a cluster; without `sanitize` there are none, and nothing here does anything.
#[derive(Clone, Default)]
pub(crate) struct HappensBefore {
    warps: Vec<WarpOrder>,
    /// Operations that each engine has begun.
    engines: Vec<u32>,
    /// Which cluster it is, and warps of each of its blocks.
    cluster: u32,
    warps_of_block: usize,
}

/// The threads that do something, and what they know.
#[derive(Clone, Copy)]
pub(crate) struct Observer<'a> {
    pub actor: Actor,
    /// Lanes that take part.
    pub lanes: u32,
    pub epoch: u32,
    /// Which cluster it is.
    pub cluster: u32,
    view: &'a View,
    lane_view: Option<&'a View>,
}

impl Observer<'_> {
    /// The same for one of the lanes.
    #[inline(always)]
    pub fn of(&self, lane: usize) -> Self {
        Self {
            lanes: 1 << lane,
            ..*self
        }
    }
    /// Whether an access of this actor is ordered before what these threads do.
    #[inline(always)]
    pub fn see(&self, actor: Actor, lane: u32, clock: u32) -> bool {
        self.view.seen.covers(actor, lane, clock)
            || self
                .lane_view
                .is_some_and(|view| view.knows(actor, lane, clock))
    }
    fn views(&self) -> impl Iterator<Item = &View> {
        std::iter::once(self.view).chain(self.lane_view)
    }
    /// Whether all accesses of a warp up to this clock are ordered before, whichever lanes made them.
    #[inline(always)]
    pub fn all_seen(&self, actor: Actor, clock: u32) -> bool {
        clock < self.view.seen.base(actor)
    }
    /// The same for accesses of several lanes.
    pub fn see_lanes(&self, actor: Actor, lanes: u32, clock: u32) -> bool {
        self.all_seen(actor, clock)
            || (0..32).all(|lane| lanes >> lane & 1 == 0 || self.see(actor, lane, clock))
    }
    /// Whether the async proxy sees a write of the generic proxy.
    pub fn fenced(&self, actor: Actor, lane: u32, clock: u32) -> bool {
        self.views()
            .any(|view| view.fenced.covers(actor, lane, clock))
    }
    /// Whether an `mbarrier.init` has reached these threads, and the async proxy too, by its own fence.
    pub fn initialised(&self, actor: Actor, lane: u32, clock: u32) -> bool {
        self.views()
            .any(|view| view.inits.covers(actor, lane, clock))
    }
}

impl HappensBefore {
    /// Clocks for so many warps of one cluster, in blocks of `warps_of_block`; 0 of them switches everything off.
    pub fn new(warps: usize, warps_of_block: usize, cluster: u32) -> Self {
        let mut order = Self {
            warps: vec![WarpOrder::default(); warps],
            engines: Vec::new(),
            cluster,
            warps_of_block,
        };
        for (actor, warp) in order.warps.iter_mut().enumerate() {
            warp.epoch = 1;
            warp.view.seen.raise(actor, 1);
        }
        order
    }

    /// Which cluster it is.
    pub fn cluster(&self) -> u32 {
        self.cluster
    }

    /// An engine's number among the actors.
    pub fn engine(&self, engine: Engine) -> Actor {
        let warps = self.warps.len();
        match engine {
            Engine::Bulk(actor) => warps + actor,
            Engine::Matrix(actor) => 2 * warps + actor,
            Engine::Mbarrier(number) => 3 * warps + number % MBARRIERS,
            Engine::Store(actor) => 3 * warps + MBARRIERS + actor,
        }
    }

    /// An engine's next operation: the clock of its accesses.
    pub fn begin(&mut self, engine: Engine) -> u32 {
        if self.warps.is_empty() {
            return 0;
        }
        let index = self.engine(engine) - self.warps.len();
        if self.engines.len() <= index {
            self.engines.resize(index + 1, 0);
        }
        self.engines[index] = self.engines[index].saturating_add(1);
        self.engines[index]
    }

    /// Adds to `view` that an engine's operations up to the one that began at `clock` are complete.
    pub fn complete(&self, engine: Engine, clock: u32, view: &mut View) {
        if !self.warps.is_empty() {
            view.seen
                .raise(self.engine(engine), clock.saturating_add(1));
        }
    }

    /// What these lanes of a warp know. One lane at a time is exact; of several, only what their warp knows.
    pub fn observer(&self, actor: Actor, lanes: u32) -> Option<Observer<'_>> {
        let warp = self.warps.get(actor)?;
        let lane_view = match lanes.count_ones() {
            1 if !warp.lanes.is_empty() => {
                let lane = lanes.trailing_zeros();
                let known = warp.lanes.iter().find(|(l, _)| *l == lane);
                known.map(|(_, view)| view)
            }
            _ => None,
        };
        Some(Observer {
            actor,
            lanes,
            epoch: warp.epoch,
            cluster: self.cluster,
            view: &warp.view,
            lane_view,
        })
    }

    /// Whether single lanes of a warp know more than it does.
    #[inline(always)]
    pub fn lanes_differ(&self, actor: Actor) -> bool {
        self.warps
            .get(actor)
            .is_some_and(|warp| !warp.lanes.is_empty())
    }

    /// Lanes of a warp have met: what each has done comes before what any does from now on.
    pub fn synchronize_lanes(&mut self, actor: Actor, lanes: u32, alive: u32) {
        let Some(warp) = self.warps.get_mut(actor) else {
            return;
        };
        warp.epoch = warp.epoch.saturating_add(1);
        let epoch = warp.epoch;
        if lanes & alive == alive {
            for (_, view) in std::mem::take(&mut warp.lanes) {
                warp.view.join(&view);
            }
            warp.view.seen.raise(actor, epoch);
            return;
        }
        let mut common = View::default();
        let theirs = |(lane, _): &mut (u32, View)| lanes >> *lane & 1 == 1;
        for (_, view) in warp.lanes.extract_if(.., theirs) {
            common.join(&view);
        }
        common.seen.raise_lanes(actor, lanes, epoch);
        for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
            warp.lanes.push((lane, common.clone()));
        }
    }

    /// Everything that these lanes know and have done goes into `view`, for those who wait for them.
    pub fn release(&mut self, actor: Actor, lanes: u32, alive: u32, view: &mut View) {
        let Some(warp) = self.warps.get_mut(actor) else {
            return;
        };
        warp.epoch = warp.epoch.saturating_add(1);
        view.join(&warp.view);
        for (lane, known) in &warp.lanes {
            if lanes >> lane & 1 == 1 {
                view.join(known);
            }
        }
        view.seen.raise_some(actor, lanes, alive, warp.epoch);
    }

    /// `.relaxed` at the cluster's barrier: only what fences have released goes along.
    pub fn release_relaxed(&self, actor: Actor, lanes: u32, view: &mut View) {
        if let Some(warp) = self.warps.get(actor) {
            view.inits.join(&warp.view.inits);
            self.release_fenced(actor, lanes, Scope::Cluster, view);
        }
    }

    /// These lanes have waited for what `view` holds.
    pub fn acquire(&mut self, actor: Actor, lanes: u32, alive: u32, view: &View) {
        let Some(warp) = self.warps.get_mut(actor) else {
            return;
        };
        if lanes & alive == alive {
            warp.view.join(view);
            // They may have passed it on themselves, and need not be looked at one by one any more.
            let known = &warp.view;
            warp.lanes.retain(|(_, view)| !view.within(known));
            return;
        }
        for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
            match warp.lanes.iter_mut().find(|(l, _)| *l == lane) {
                Some((_, known)) => known.join(view),
                None => warp.lanes.push((lane, view.clone())),
            }
        }
    }

    /// Lanes that know the same need not be looked at one by one.
    pub fn unite_lanes(&mut self, actor: Actor, alive: u32) {
        let Some(warp) = self.warps.get_mut(actor) else {
            return;
        };
        let all = warp.lanes.iter().fold(0, |all, (lane, _)| all | 1 << lane);
        if all & alive == alive
            && let Some(((_, first), rest)) = warp.lanes.split_first()
            && rest.iter().all(|(_, view)| view == first)
        {
            warp.view.join(first);
            warp.lanes.clear();
        }
    }

    /// `fence.proxy.async` by these lanes: what they have done and what they know was done is shown to the
    /// async proxy.
    pub fn fence_proxy(&mut self, actor: Actor, lanes: u32, alive: u32) {
        let Some(warp) = self.warps.get_mut(actor) else {
            return;
        };
        warp.epoch = warp.epoch.saturating_add(1);
        let View { seen, fenced, .. } = &mut warp.view;
        fenced.join(seen);
        for (lane, known) in &warp.lanes {
            if lanes >> lane & 1 == 1 {
                fenced.join(&known.seen);
            }
        }
        fenced.raise_some(actor, lanes, alive, warp.epoch);
    }

    /// `fence.mbarrier_init.release.cluster` by these lanes.
    pub fn fence_inits(&mut self, actor: Actor, lanes: u32) {
        if let Some(warp) = self.warps.get_mut(actor) {
            warp.epoch = warp.epoch.saturating_add(1);
            warp.view.inits.raise_lanes(actor, lanes, warp.epoch);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: u32 = u32::MAX;

    #[test]
    fn a_lane_that_arrives_alone_releases_itself_and_what_its_warp_had_ordered() {
        let mut order = HappensBefore::new(2, 2, 0);
        let before = order.warps[0].epoch;
        let mut view = View::default();
        order.release(0, 1, ALL, &mut view);
        order.acquire(1, ALL, ALL, &view);
        let sees = |order: &HappensBefore, lane| {
            order
                .observer(1, ALL)
                .is_some_and(|e| e.see(0, lane, before))
        };
        assert!(sees(&order, 0) && !sees(&order, 5));
        order.synchronize_lanes(0, ALL, ALL);
        order.release(0, 1, ALL, &mut view);
        order.acquire(1, ALL, ALL, &view);
        assert!(sees(&order, 5));
    }

    #[test]
    fn a_lane_that_waits_alone_tells_its_warp_when_they_meet() {
        let mut order = HappensBefore::new(2, 2, 0);
        let before = order.warps[0].epoch;
        let mut view = View::default();
        order.release(0, ALL, ALL, &mut view);
        order.acquire(1, 1, ALL, &view);
        let sees = |order: &HappensBefore, lane| {
            order
                .observer(1, 1u32 << lane)
                .is_some_and(|e| e.see(0, 7, before))
        };
        assert!(sees(&order, 0) && !sees(&order, 5));
        order.synchronize_lanes(1, ALL, ALL);
        assert!(sees(&order, 5));
    }

    #[test]
    fn a_fence_covers_what_came_before_it_and_nothing_later() {
        let mut order = HappensBefore::new(1, 1, 0);
        let before = order.warps[0].epoch;
        order.fence_proxy(0, 1, ALL);
        let after = order.warps[0].epoch;
        let observer = order.observer(0, 1).expect("a warp");
        assert!(observer.fenced(0, 0, before) && !observer.fenced(0, 1, before));
        assert!(!observer.fenced(0, 0, after));
    }
}
