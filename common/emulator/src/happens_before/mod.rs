//! The happens-before relation between accesses, for the sanitizer.
//!
//! The epoch of a warp counts its releases, fences and synchronizations. An access carries the epoch in
//! which it was made. A thread's [`View`] is a vector clock: for every other actor, the epoch up to which
//! its accesses happen before the thread's next one (after FastTrack, Flanagan and Freund 2009). Views are
//! kept for whole warps, and for single lanes that know more: a lane that arrives at an mbarrier alone
//! releases its own accesses, and only those accesses of its warp that `__syncwarp` has ordered before.
//!
//! Asynchronous hardware has clocks of its own ([`HappensBefore::engine`]): bulk copies and `wgmma` do not
//! access memory as the thread that issues them (PTX ISA, "Asynchronous Operations" and "Proxies").

mod strong;

use crate::op::Scope;
use crate::vector_clock::VectorClock;
use strong::Strong;
pub(crate) use strong::{SyncVariable, scope_of};

/// A warp of the cluster by number, or an engine: see [`HappensBefore::engine`].
pub(crate) type Actor = usize;

/// The accesses that happen before those of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct View {
    /// Accesses that happen before its next one.
    seen: VectorClock,
    /// The subset that a proxy fence on the path has made visible to the async proxy (PTX ISA,
    /// "Proxy-preserved Base Causality Order": the fence may be anywhere between the write and the
    /// asynchronous access).
    fenced: VectorClock,
    /// `mbarrier.init`s that `fence.mbarrier_init` has released.
    inits: VectorClock,
    /// Whether a `griddepcontrol.wait` happens before.
    waited: bool,
    /// The effect of strong accesses and fences; few kernels have them.
    strong: Option<Box<Strong>>,
}

impl View {
    /// Whether it includes the access of this lane at `clock`.
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

    /// Whether the other view includes all of this one.
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
    /// The epochs of the last fences of each scope by all its lanes. Such a fence lets each lane release its own
    /// accesses; those of other lanes only after a synchronization.
    fenced: [u32; 3],
    /// Views of single lanes that know more than their warp.
    lanes: Vec<(u32, View)>,
}

/// Asynchronous hardware, which accesses memory concurrently with threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// Bulk copies of this warp (by actor) that a bulk group completes.
    Bulk(Actor),
    /// `wgmma`s of the warpgroup whose first warp is this actor.
    Matrix(Actor),
    /// Bulk copies that complete on the mbarrier with this number.
    Mbarrier(usize),
    /// Writes to global memory by bulk copies of this warp.
    Store(Actor),
}

/// mbarriers with a clock of their own; any further ones share clocks, so that a race may be missed.
const MBARRIERS: usize = 256;

/// The clocks of a cluster; without `sanitize` it is empty, and all methods have no effect.
#[derive(Clone, Default)]
pub(crate) struct HappensBefore {
    warps: Vec<WarpOrder>,
    /// Number of operations that each engine has begun.
    engines: Vec<u32>,
    /// The cluster's number, and the number of warps per block.
    cluster: u32,
    warps_of_block: usize,
}

/// The threads that make an access, and their view.
#[derive(Clone, Copy)]
pub(crate) struct Observer<'a> {
    pub actor: Actor,
    /// The lanes that make the access.
    pub lanes: u32,
    pub epoch: u32,
    /// The cluster's number.
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
    /// Whether an access of this actor happens before those of these threads.
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
    /// Whether all accesses of a warp up to this clock happen before, by any of its lanes.
    #[inline(always)]
    pub fn all_seen(&self, actor: Actor, clock: u32) -> bool {
        clock < self.view.seen.base(actor)
    }
    /// The same for accesses of several lanes.
    pub fn see_lanes(&self, actor: Actor, lanes: u32, clock: u32) -> bool {
        self.all_seen(actor, clock)
            || (0..32).all(|lane| lanes >> lane & 1 == 0 || self.see(actor, lane, clock))
    }
    /// Whether a write of the generic proxy is visible to the async proxy.
    pub fn fenced(&self, actor: Actor, lane: u32, clock: u32) -> bool {
        self.views()
            .any(|view| view.fenced.covers(actor, lane, clock))
    }
    /// Whether an `mbarrier.init` is visible to these threads and, by its own fence, to the async proxy.
    pub fn initialized(&self, actor: Actor, lane: u32, clock: u32) -> bool {
        self.views()
            .any(|view| view.inits.covers(actor, lane, clock))
    }
}

impl HappensBefore {
    /// Clocks for `warps` warps of one cluster, in blocks of `warps_of_block`; 0 warps disable all checks.
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

    /// The cluster's number.
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

    /// Begins an engine's next operation; returns the clock of its accesses.
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

    /// Adds the completion of an engine's operations, up to the one that began at `clock`, to `view`.
    pub fn complete(&self, engine: Engine, clock: u32, view: &mut View) {
        if !self.warps.is_empty() {
            view.seen
                .raise(self.engine(engine), clock.saturating_add(1));
        }
    }

    /// The observer for these lanes of a warp. For a single lane its view is exact; for several it is the view of their
    /// warp.
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

    /// Lanes of a warp synchronize: earlier accesses of each happen before later accesses of all.
    pub fn synchronize_lanes(&mut self, actor: Actor, lanes: u32, alive: u32) {
        let cluster = self.cluster;
        let Some(warp) = self.warps.get_mut(actor) else {
            return;
        };
        warp.epoch = warp.epoch.saturating_add(1);
        let epoch = warp.epoch;
        if lanes & alive == alive {
            for (_, view) in std::mem::take(&mut warp.lanes) {
                warp.view.join(&view);
            }
            let mut view = std::mem::take(&mut warp.view);
            warp.join_fenced(cluster, actor, lanes, &mut view);
            view.seen.raise(actor, epoch);
            (warp.view, warp.fenced) = (view, [0; 3]);
            return;
        }
        let mut common = View::default();
        warp.join_fenced(cluster, actor, lanes, &mut common);
        let theirs = |(lane, _): &mut (u32, View)| lanes >> *lane & 1 == 1;
        for (_, view) in warp.lanes.extract_if(.., theirs) {
            common.join(&view);
        }
        common.seen.raise_lanes(actor, lanes, epoch);
        for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
            warp.lanes.push((lane, common.clone()));
        }
    }

    /// Adds the accesses of these lanes and all that happen before them to `view`, for the threads that wait for them.
    pub fn release(&mut self, actor: Actor, lanes: u32, alive: u32, view: &mut View) {
        let cluster = self.cluster;
        let Some(warp) = self.warps.get_mut(actor) else {
            return;
        };
        warp.epoch = warp.epoch.saturating_add(1);
        view.join(&warp.view);
        warp.join_fenced(cluster, actor, lanes, view);
        for (lane, known) in &warp.lanes {
            if lanes >> lane & 1 == 1 {
                view.join(known);
            }
        }
        view.seen.raise_some(actor, lanes, alive, warp.epoch);
    }

    /// `.relaxed` at the cluster's barrier: releases only what fences have released.
    pub fn release_relaxed(&self, actor: Actor, lanes: u32, view: &mut View) {
        if let Some(warp) = self.warps.get(actor) {
            view.inits.join(&warp.view.inits);
            self.release_fenced(actor, lanes, Scope::Cluster, view);
        }
    }

    /// These lanes have waited for everything in `view`.
    pub fn acquire(&mut self, actor: Actor, lanes: u32, alive: u32, view: &View) {
        let Some(warp) = self.warps.get_mut(actor) else {
            return;
        };
        if lanes & alive == alive {
            warp.view.join(view);
            // The lanes may have released it themselves; then they no longer need views of their own.
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

    /// Merges the views of lanes that know the same.
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

    /// `fence.proxy.async` by these lanes: makes their accesses and all that happen before them visible to
    /// the async proxy.
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
    fn what_a_lane_acquires_alone_reaches_its_warp_when_they_synchronize() {
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
    fn a_fence_covers_earlier_accesses_only() {
        let mut order = HappensBefore::new(1, 1, 0);
        let before = order.warps[0].epoch;
        order.fence_proxy(0, 1, ALL);
        let after = order.warps[0].epoch;
        let observer = order.observer(0, 1).expect("a warp");
        assert!(observer.fenced(0, 0, before) && !observer.fenced(0, 1, before));
        assert!(!observer.fenced(0, 0, after));
    }
}
