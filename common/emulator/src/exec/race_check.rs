//! The sanitizer's race checks: accesses of threads and of the async proxy.
//!
//! An asynchronous access has three steps. [`Execution::begin`] numbers the operation when it is issued.
//! [`Execution::asynchronous`] then reports the bytes that it may touch from now on. When threads have waited for
//! it, [`Execution::completed`] orders it before their next accesses.
use super::block::Execution;
use super::lanes::lanes;
use super::warp::Warp;
use crate::Space;
use crate::finding::{AccessKind, Conflict, Finding, FindingKind, Location, MemoryAccess};
use crate::happens_before::{Actor, Engine, Observer, View};
use crate::op::{Code, LaneOp};
use crate::shadow::{AccessCheck, AccessMode, AsyncOp, Hazard, Site};

impl Execution<'_> {
    /// Checks one lane's access to shared memory.
    pub fn check(&mut self, how: AccessMode, address: u32, bytes: u32, site: Site) {
        self.check_in(self.rank, how, address, bytes, site);
    }

    /// The same for another block of the cluster.
    fn check_in(&mut self, rank: usize, how: AccessMode, address: u32, bytes: u32, site: Site) {
        let (block, order) = self.block_and_order(rank);
        let Some(shadow) = block.and_then(|block| block.shadow.as_mut()) else {
            return;
        };
        let Some(observer) = order.observer(site.warp, 1 << site.lane) else {
            return;
        };
        let check = shadow.access(how, address, bytes, site.op, &observer);
        self.found(check, how, address, bytes, site);
    }

    /// A thread loads from shared memory: counts what it has stored there itself, if requested.
    #[inline(always)]
    pub fn note_own(&mut self, address: u32, bytes: u32, by: Site) {
        if !cfg!(target_family = "wasm")
            && self.machine.options.own_loads
            && let Some(shadow) = &self.block.shadow
        {
            self.profiler.own_loads += u64::from(shadow.own(address, bytes, by));
        }
    }

    /// The same for several lanes, each at its own address.
    pub fn check_lanes(
        &mut self,
        how: AccessMode,
        addresses: &[u32; 32],
        bytes: u32,
        op: usize,
        warp: &Warp,
        mask: u32,
    ) {
        // If the clocks of the lanes differ, each must be checked by itself.
        if self.order.lanes_differ(warp.actor) {
            lanes(mask)
                .for_each(|lane| self.check(how, addresses[lane], bytes, warp.site(op, lane)));
            return;
        }
        let mut wrong = Vec::new();
        if let (Some(shadow), Some(observer)) = (
            &mut self.block.shadow,
            self.order.observer(warp.actor, mask),
        ) {
            // The common case is a read of data whose write is already ordered before all lanes.
            let mask = if how == AccessMode::Read {
                shadow.read_by_warp(addresses, bytes, op, &observer)
            } else {
                mask
            };
            for lane in lanes(mask) {
                let observer = observer.of(lane);
                let check = shadow.access(how, addresses[lane], bytes, op, &observer);
                if !matches!(check, AccessCheck::Fine) {
                    wrong.push((lane, check));
                }
            }
        }
        for (lane, check) in wrong {
            if !self.writes_the_same(&check, how, (op, lane), addresses, warp, mask) {
                self.found(check, how, addresses[lane], bytes, warp.site(op, lane));
            }
        }
    }

    /// Whether two lanes of one store write the same value to one address: then it does not matter which write is kept.
    fn writes_the_same(
        &self,
        check: &AccessCheck,
        how: AccessMode,
        (op, lane): (usize, usize),
        addresses: &[u32; 32],
        warp: &Warp,
        mask: u32,
    ) -> bool {
        let (AccessCheck::Race(other), AccessMode::Write) = (check, how) else {
            return false;
        };
        let Code::Lane(LaneOp::Store(access)) = &self.machine.program.ops[op].code else {
            return false;
        };
        let Site {
            warp: actor,
            lane: of,
            op: at,
        } = other.site;
        other.how == AccessMode::Write
            && (actor, at) == (warp.actor, op)
            && mask >> of & 1 == 1
            && addresses[of] == addresses[lane]
            && warp.raw(access, of) == warp.raw(access, lane)
    }

    /// The same in another block of the cluster, which must not exit before the access.
    pub fn check_remote(
        &mut self,
        how: AccessMode,
        (rank, address): (usize, u32),
        bytes: u32,
        site: Site,
    ) {
        self.check_in(rank, how, address, bytes, site);
        self.visit(rank, site);
    }

    /// Numbers an asynchronous operation.
    pub fn begin(&mut self, engine: Engine, site: Site) -> AsyncOp {
        AsyncOp {
            engine,
            actor: self.order.engine(engine),
            clock: self.order.begin(engine),
            site,
        }
    }

    /// The operation may read or write `bytes` bytes at each address of a block of the cluster at any time from now
    /// until it has landed ([`Execution::landed`]) and a thread has waited for it. `issuers`: the warps (of the cluster)
    /// and lanes that issue it together; the write of what is read must happen before each of them and be fenced for the
    /// async proxy.
    pub fn asynchronous(
        &mut self,
        how: AccessMode,
        by: &AsyncOp,
        (rank, addresses): (usize, &[u32]),
        bytes: u32,
        issuers: &[(Actor, u32)],
    ) {
        let (block, order) = self.block_and_order(rank);
        let Some(shadow) = block.and_then(|block| block.shadow.as_mut()) else {
            return;
        };
        let observers: Vec<Observer<'_>> = issuers
            .iter()
            .filter_map(|&(warp, mask)| order.observer(warp, mask))
            .collect();
        let generic = matches!(
            how,
            AccessMode::AsyncStore | AccessMode::AsyncReduce { generic: true }
        );
        for (address, check) in shadow.asynchronous(how, addresses, bytes, by, &observers) {
            if !(generic && matches!(check, AccessCheck::Unfenced(_))) {
                self.found(check, how, address, bytes, by.site);
            }
        }
    }

    /// What the operation wrote has landed. `generic`: it was not written by the async proxy, and so still
    /// requires a proxy fence.
    pub fn landed(&mut self, by: &AsyncOp, rank: usize, address: u32, bytes: u32, generic: bool) {
        let block = self.block_of(rank);
        if let Some(shadow) = block.and_then(|block| block.shadow.as_mut()) {
            shadow.land(address, bytes, by, generic);
        }
    }

    /// The same for a reduction.
    pub fn reduced(&mut self, by: &AsyncOp, rank: usize, address: u32, bytes: u32) {
        let block = self.block_of(rank);
        if let Some(shadow) = block.and_then(|block| block.shadow.as_mut()) {
            shadow.land_reduction(address, bytes, by);
        }
    }

    /// These lanes have waited until the engine's operations up to the one numbered `clock` were complete.
    pub fn completed(&mut self, engine: Engine, clock: u32, warp: &Warp, mask: u32) {
        let mut view = View::default();
        self.order.complete(engine, clock, &mut view);
        self.order.acquire(warp.actor, mask, warp.alive, &view);
    }

    /// Notes that a lane has accessed the shared memory of another block, which must not exit before.
    pub fn visit(&mut self, rank: usize, site: Site) {
        let (block, order) = self.block_and_order(rank);
        if let (Some(block), Some(observer)) = (block, order.observer(site.warp, 1 << site.lane)) {
            block.visitors.insert(site, observer.epoch);
        }
    }

    /// All threads of the block have exited: reports remote accesses that are not ordered before that.
    pub fn depart(&mut self) {
        for (site, clock) in std::mem::take(&mut self.block.visitors) {
            if !self.block.exit.knows(site.warp, site.lane as u32, clock) {
                let reason = format!(
                    "block {} of the cluster may have exited before: nothing makes it wait for this access; add a barrier.cluster at the end",
                    self.rank
                );
                self.report(FindingKind::ExitedBlock(reason), site);
            }
        }
    }

    pub fn location(&self, site: Site) -> Location {
        let thread = self.machine.thread_of(site.warp, site.lane);
        let block = self.index_of(site.warp / self.machine.warps);
        self.machine.location(site.op, thread, block)
    }

    /// Records a finding, with the step at which it is seen.
    pub fn note(&mut self, mut finding: Finding) {
        finding.step = self.current_step();
        self.block.findings.add(finding);
    }

    /// Records a finding of a thread of the cluster.
    pub fn report(&mut self, kind: FindingKind, site: Site) {
        let location = self.location(site);
        self.note(Finding::new(kind, location));
    }

    /// The `try_wait` that returned false and whose result this thread has ignored, if there is one.
    fn unheeded_wait(&self, check: &AccessCheck, site: Site) -> Option<Site> {
        if matches!(check, AccessCheck::Fine) {
            return None;
        }
        let mut waits = self.common.unheeded.iter().rev();
        let wait = waits.find(|one| one.site.warp == site.warp && one.lanes >> site.lane & 1 == 1);
        wait.map(|one| one.site)
    }

    pub fn found(
        &mut self,
        check: AccessCheck,
        how: AccessMode,
        address: u32,
        bytes: u32,
        site: Site,
    ) {
        if let Some(wait) = self.unheeded_wait(&check, site) {
            let access = Box::new(self.location(site));
            return self.report(FindingKind::UnheededWait { access }, wait);
        }
        let (access, address) = (verb(how), address.into());
        let conflict = |hazard: Hazard| Conflict {
            access,
            other_access: verb(hazard.how),
            of_init: matches!(hazard.how, AccessMode::Init),
            other: Box::new(self.location(hazard.site)),
            space: Space::Shared,
            address,
            of_one_instruction: (hazard.site.warp, hazard.site.op) == (site.warp, site.op),
            is_later: true,
        };
        let kind = match check {
            AccessCheck::Fine => return,
            AccessCheck::Uninitialized => FindingKind::Uninitialized(MemoryAccess {
                space: Space::Shared,
                access,
                bytes,
                address,
            }),
            AccessCheck::Race(hazard) => FindingKind::Race(conflict(hazard)),
            AccessCheck::Unfenced(hazard) => FindingKind::MissingProxyFence(conflict(hazard)),
            AccessCheck::Mbarrier(hazard) => FindingKind::MbarrierTouched(conflict(hazard)),
        };
        self.report(kind, site);
    }
}

fn verb(how: AccessMode) -> AccessKind {
    match how {
        AccessMode::Read | AccessMode::StrongRead | AccessMode::VolatileRead => AccessKind::Read,
        AccessMode::StrongWrite
        | AccessMode::Write
        | AccessMode::Land
        | AccessMode::Init
        | AccessMode::Invalidate => AccessKind::Write,
        AccessMode::Atomic => AccessKind::Atomic,
        AccessMode::AsyncRead => AccessKind::AsyncRead,
        AccessMode::Launch
        | AccessMode::AsyncWrite
        | AccessMode::AsyncStore
        | AccessMode::AsyncReduce { .. } => AccessKind::AsyncWrite,
    }
}
