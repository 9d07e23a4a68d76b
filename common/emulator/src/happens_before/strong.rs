//! The order established by strong accesses and fences, such as through a flag that one thread sets and another reads.
//!
//! PTX ISA, "Memory Consistency Model": a thread releases by a fence, or `.release`, before a strong write; another one
//! acquires by a strong read of that location followed by a fence, or with `.acquire`. Each must have a scope that
//! includes both threads. As with proxies, the fence may be on either side of a barrier: if all threads of a block
//! execute a fence and then a barrier, and one of them sets a flag for all, hardware orders the accesses of each of
//! them.
use std::sync::Arc;

use super::{Actor, HappensBefore, Observer, View, WarpOrder};
use crate::op::{Order, Scope};
use crate::vector_clock::VectorClock;

/// The accesses of several clusters that happen before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Knowledge {
    /// By the cluster's number, in order.
    clocks: Vec<(u32, Arc<VectorClock>)>,
    /// Whether the previous grid is complete.
    waited: bool,
}

/// What a thread has released and acquired by strong accesses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Strong {
    /// Accesses of other clusters that happen before.
    others: Knowledge,
    /// What fences of each scope have covered: a strong write releases it.
    released: [Knowledge; 3],
    /// What strong reads have observed, by the scope that a fence must have to acquire it.
    observed: [Knowledge; 3],
}

/// What strong writes to a location have released.
#[derive(Clone, Debug, Default)]
pub(crate) struct SyncVariable {
    /// Cluster and block of the last writer.
    last: (u32, usize),
    /// Released to the GPU; to the cluster; to the block with this rank.
    gpu: Knowledge,
    cluster: Option<(u32, Knowledge)>,
    block: Option<(u32, usize, Knowledge)>,
}

const SCOPES: [Scope; 3] = [Scope::Block, Scope::Cluster, Scope::Gpu];

impl Knowledge {
    fn is_empty(&self) -> bool {
        self.clocks.is_empty() && !self.waited
    }

    fn of(&self, cluster: u32) -> Option<&VectorClock> {
        let at = self.clocks.binary_search_by_key(&cluster, |&(c, _)| c);
        at.ok().map(|at| &*self.clocks[at].1)
    }

    fn covers(&self, cluster: u32, actor: Actor, lane: u32, clock: u32) -> bool {
        self.of(cluster)
            .is_some_and(|known| known.covers(actor, lane, clock))
    }

    fn add(&mut self, cluster: u32, clock: &Arc<VectorClock>) {
        match self.clocks.binary_search_by_key(&cluster, |&(c, _)| c) {
            Err(at) => self.clocks.insert(at, (cluster, Arc::clone(clock))),
            Ok(at) => {
                let known = &mut self.clocks[at].1;
                if !Arc::ptr_eq(known, clock) && !clock.within(known) {
                    Arc::make_mut(known).join(clock);
                }
            }
        }
    }

    /// Adds accesses of these lanes of a warp of this cluster.
    fn add_lanes(&mut self, cluster: u32, actor: Actor, lanes: u32, clock: u32) {
        let mut own = VectorClock::default();
        match lanes {
            u32::MAX => own.raise(actor, clock),
            _ => own.raise_lanes(actor, lanes, clock),
        }
        self.add(cluster, &Arc::new(own));
    }

    fn within(&self, other: &Knowledge) -> bool {
        self.waited <= other.waited
            && self
                .clocks
                .iter()
                .all(|(cluster, clock)| other.of(*cluster).is_some_and(|known| clock.within(known)))
    }

    fn join(&mut self, other: &Knowledge) {
        self.waited |= other.waited;
        for (cluster, clock) in &other.clocks {
            self.add(*cluster, clock);
        }
    }
}

impl Strong {
    /// Whether the other one includes all of it.
    pub fn within(&self, other: &Strong) -> bool {
        let all = |one: &[Knowledge; 3], other: &[Knowledge; 3]| {
            one.iter().zip(other).all(|(one, other)| one.within(other))
        };
        self.others.within(&other.others)
            && all(&self.released, &other.released)
            && all(&self.observed, &other.observed)
    }

    pub fn join(&mut self, other: &Strong) {
        self.others.join(&other.others);
        for scope in SCOPES {
            self.released[scope as usize].join(&other.released[scope as usize]);
            self.observed[scope as usize].join(&other.observed[scope as usize]);
        }
    }
}

impl View {
    fn strong(&mut self) -> &mut Strong {
        self.strong.get_or_insert_default()
    }

    /// All that happens before an access of a thread of this cluster.
    fn knowledge(&self, cluster: u32) -> Knowledge {
        let strong = self.strong.as_ref();
        let mut all = strong.map_or_else(Knowledge::default, |strong| strong.others.clone());
        all.waited |= self.waited;
        all.add(cluster, &Arc::new(self.seen.clone()));
        all
    }

    /// Acquires `knowledge`: all of it happens before later accesses.
    fn learn(&mut self, cluster: u32, knowledge: &Knowledge) {
        self.waited |= knowledge.waited;
        for (of, clock) in &knowledge.clocks {
            if *of == cluster {
                self.seen.join(clock);
            } else {
                self.strong().others.add(*of, clock);
            }
        }
    }

    fn observed_up_to(&self, scope: Scope) -> Knowledge {
        let mut all = Knowledge::default();
        if let Some(strong) = &self.strong {
            let wanted = SCOPES.into_iter().filter(|&of| of <= scope);
            wanted.for_each(|of| all.join(&strong.observed[of as usize]));
        }
        all
    }
}

impl WarpOrder {
    /// The separate views of these lanes, and the warp's own view if all live lanes take part.
    fn views_of(&mut self, lanes: u32, alive: u32) -> Vec<(u32, &mut View)> {
        if lanes & alive == alive {
            let own = self.lanes.iter_mut();
            let own = own.map(|(lane, view)| (1 << *lane, view));
            return own.chain([(lanes, &mut self.view)]).collect();
        }
        for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
            if !self.lanes.iter().any(|(known, _)| *known == lane) {
                self.lanes.push((lane, View::default()));
            }
        }
        let own = self.lanes.iter_mut();
        own.filter(|(lane, _)| lanes >> *lane & 1 == 1)
            .map(|(lane, view)| (1 << *lane, view))
            .collect()
    }

    /// What fences of at least this scope have covered, for these lanes to release.
    fn released(&self, (cluster, actor): (u32, Actor), lanes: u32, scope: Scope) -> Knowledge {
        let mut all = Knowledge::default();
        for fence in SCOPES.into_iter().filter(|&fence| fence >= scope) {
            let strong = self.views(lanes).filter_map(|view| view.strong.as_ref());
            strong.for_each(|strong| all.join(&strong.released[fence as usize]));
            if self.fenced[fence as usize] > 0 {
                all.add_lanes(cluster, actor, lanes, self.fenced[fence as usize]);
            }
        }
        all
    }

    /// The accesses that fences of the whole warp have covered: each lane's own, so those of all `lanes` once these
    /// have synchronized.
    pub(super) fn join_fenced(&self, cluster: u32, actor: Actor, lanes: u32, view: &mut View) {
        for scope in SCOPES.map(|scope| scope as usize) {
            if self.fenced[scope] > 0 {
                view.strong().released[scope].add_lanes(cluster, actor, lanes, self.fenced[scope]);
            }
        }
    }

    fn views(&self, lanes: u32) -> impl Iterator<Item = &View> {
        let own = self.lanes.iter();
        let own = own.filter(move |(lane, _)| lanes >> *lane & 1 == 1);
        std::iter::once(&self.view).chain(own.map(|(_, view)| view))
    }
}

impl HappensBefore {
    /// A fence of this scope by these lanes: acquires what earlier strong reads have observed, and lets later strong
    /// writes release what happened before it.
    pub fn fence(&mut self, actor: Actor, lanes: u32, alive: u32, scope: Scope) {
        self.fence_acquire(actor, lanes, alive, scope);
        self.fence_release(actor, lanes, alive, scope);
    }

    fn fence_acquire(&mut self, actor: Actor, lanes: u32, alive: u32, scope: Scope) {
        let cluster = self.cluster;
        let Some(warp) = self.warps.get_mut(actor) else {
            return;
        };
        let of_warp = warp.view.observed_up_to(scope);
        for (_, view) in warp.views_of(lanes, alive) {
            let own = view.observed_up_to(scope);
            view.learn(cluster, &of_warp);
            view.learn(cluster, &own);
            if let Some(strong) = &mut view.strong {
                let done = SCOPES.into_iter().filter(|&of| of <= scope);
                done.for_each(|of| strong.observed[of as usize] = Knowledge::default());
            }
        }
    }

    fn fence_release(&mut self, actor: Actor, lanes: u32, alive: u32, scope: Scope) {
        let cluster = self.cluster;
        let Some(warp) = self.warps.get_mut(actor) else {
            return;
        };
        warp.epoch = warp.epoch.saturating_add(1);
        let (epoch, of_warp) = (warp.epoch, warp.view.knowledge(cluster));
        let whole = lanes & alive == alive;
        if whole {
            warp.fenced[scope as usize] = epoch;
        }
        for (own, view) in warp.views_of(lanes, alive) {
            let mut all = view.knowledge(cluster);
            all.join(&of_warp);
            if !whole {
                all.add_lanes(cluster, actor, own, epoch);
            }
            view.strong().released[scope as usize].join(&all);
        }
    }

    /// Whether these lanes have anything to release by a strong write.
    pub fn has_released(&self, (actor, lanes, _): (Actor, u32, u32)) -> bool {
        self.warps.get(actor).is_some_and(|warp| {
            let mut strong = warp.views(lanes).filter_map(|view| view.strong.as_ref());
            warp.fenced != [0; 3]
                || strong.any(|strong| strong.released.iter().any(|known| !known.is_empty()))
        })
    }

    /// These lanes write a location by a strong access. With `rmw` they have also read it, and keep what others have
    /// released there (a release sequence).
    pub fn publish(
        &mut self,
        (actor, lanes, alive): (Actor, u32, u32),
        order: Order,
        rmw: bool,
        to: &mut SyncVariable,
    ) {
        let Some(scope) = order.strong else { return };
        if order.release {
            self.fence_release(actor, lanes, alive, scope);
        }
        let (cluster, rank) = (self.cluster, self.rank(actor));
        let Some(warp) = self.warps.get(actor) else {
            return;
        };
        if !rmw {
            *to = SyncVariable::default();
        }
        to.last = (cluster, rank);
        let reaching = |of: Scope| warp.released((cluster, actor), lanes, of);
        if scope >= Scope::Gpu {
            to.gpu.join(&reaching(Scope::Gpu));
        }
        if scope >= Scope::Cluster {
            let new = reaching(Scope::Cluster);
            match &mut to.cluster {
                Some((of, known)) if *of == cluster => known.join(&new),
                other => *other = Some((cluster, new)),
            }
        }
        let new = reaching(Scope::Block);
        match &mut to.block {
            Some((c, r, known)) if (*c, *r) == (cluster, rank) => known.join(&new),
            other => *other = Some((cluster, rank, new)),
        }
    }

    /// These lanes read a location by a strong access.
    pub fn observe(
        &mut self,
        (actor, lanes, alive): (Actor, u32, u32),
        order: Order,
        from: &SyncVariable,
    ) {
        let (cluster, rank) = (self.cluster, self.rank(actor));
        let away = scope_of((cluster, rank), from.last);
        let (Some(scope), Some(warp)) = (order.strong, self.warps.get_mut(actor)) else {
            return;
        };
        if scope < away {
            return;
        }
        let mut found = from.gpu.clone();
        if let Some((of, known)) = &from.cluster
            && *of == cluster
        {
            found.join(known);
        }
        if let Some((c, r, known)) = &from.block
            && (*c, *r) == (cluster, rank)
        {
            found.join(known);
        }
        if found.is_empty() {
            return;
        }
        for (_, view) in warp.views_of(lanes, alive) {
            match order.acquire {
                true => view.learn(cluster, &found),
                false => view.strong().observed[away as usize].join(&found),
            }
        }
    }

    /// `.relaxed` arrivals at an mbarrier or the cluster's barrier release what fences of this scope have covered.
    pub fn release_fenced(&self, actor: Actor, lanes: u32, scope: Scope, view: &mut View) {
        if let Some(warp) = self.warps.get(actor) {
            let known = warp.released((self.cluster, actor), lanes, scope);
            view.learn(self.cluster, &known);
        }
    }

    /// `griddepcontrol.wait` by these lanes.
    pub fn await_previous_grid(&mut self, actor: Actor, lanes: u32, alive: u32) {
        if let Some(warp) = self.warps.get_mut(actor) {
            let views = warp.views_of(lanes, alive);
            views.into_iter().for_each(|(_, view)| view.waited = true);
        }
    }

    fn rank(&self, actor: Actor) -> usize {
        actor / self.warps_of_block.max(1)
    }
}

/// The smallest scope that includes threads of both blocks, each given by its cluster and its rank.
pub(crate) fn scope_of(one: (u32, usize), other: (u32, usize)) -> Scope {
    match (one.0 == other.0, one.1 == other.1) {
        (true, true) => Scope::Block,
        (true, false) => Scope::Cluster,
        (false, _) => Scope::Gpu,
    }
}

impl Observer<'_> {
    /// Whether an access by an actor of any cluster happens before those of these threads.
    pub fn sees(&self, cluster: u32, actor: Actor, lane: u32, clock: u32) -> bool {
        if cluster == self.cluster {
            return self.see(actor, lane, clock);
        }
        let mut strong = self.views().filter_map(|view| view.strong.as_ref());
        strong.any(|strong| strong.others.covers(cluster, actor, lane, clock))
    }

    /// Whether only a fence after the strong read is missing for that.
    pub fn has_observed(&self, cluster: u32, actor: Actor, lane: u32, clock: u32) -> bool {
        let mut strong = self.views().filter_map(|view| view.strong.as_ref());
        strong.any(|strong| {
            let mut observed = strong.observed.iter();
            observed.any(|known| known.covers(cluster, actor, lane, clock))
        })
    }

    /// Whether the previous grid is known to be complete.
    pub fn has_waited(&self) -> bool {
        self.views().any(|view| view.waited)
    }
}
