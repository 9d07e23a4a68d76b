//! The sanitizer's checks of global memory: every access marks its allocation, and watched allocations have a shadow.
//! Under `sanitize` a launch runs twice: the first run finds which allocations are worth watching.
use super::block::Execution;
use super::lanes::lanes;
use super::warp::Warp;
use crate::Space;
use crate::finding::{AccessKind, Conflict, FindingKind, MemoryAccess};
use crate::op::{Order, Scope};
use crate::shadow::{AsyncOp, GlobalAccess, GlobalMode, Place, Site};

/// Accesses that the previous launch may still make until `griddepcontrol.wait` (a bit for each allocation, the last of
/// which stands for all later ones).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PreviousGrid {
    pub reads: u64,
    pub writes: u64,
}

impl PreviousGrid {
    fn is_there(self) -> bool {
        self.reads | self.writes != 0
    }
}

/// The kind of an access.
#[derive(Clone, Copy)]
pub(super) enum Does {
    Read,
    Write,
    Atomic,
}

impl Execution<'_> {
    /// Checks that one lane reads or writes `bytes` bytes. For a write, `new` is the new value.
    pub fn check_global(
        &mut self,
        does: Does,
        order: Order,
        place: Place,
        bytes: u32,
        new: Option<&[u8]>,
        site: Site,
    ) {
        self.mark(does, order, place.0);
        let Some(observer) = self.order.observer(site.warp, 1 << site.lane) else {
            return;
        };
        let (actor, clock, waited) = (site.warp, observer.epoch, observer.has_waited());
        if self.machine.previous.is_there() && !waited {
            self.check_previous_grid(does, place, bytes, site);
        }
        if !self.is_watched(place.0) {
            return;
        }
        let mode = match does {
            Does::Read => GlobalMode::Read,
            Does::Write => GlobalMode::Write {
                changes: self.changes(place, new),
            },
            Does::Atomic => GlobalMode::Atomic,
        };
        let access = GlobalAccess {
            mode,
            order,
            actor,
            clock,
            site,
        };
        self.check_global_access(&access, place, bytes);
    }

    /// The same for a warp's load, each lane at its own address, relative to the allocation's base.
    #[inline(always)]
    pub fn check_global_load(
        &mut self,
        (allocation, base): (usize, u64),
        addresses: &[u64; 32],
        bytes: u32,
        op: usize,
        warp: &Warp,
        mask: u32,
    ) {
        if !self.is_watched(allocation) && !self.machine.previous.is_there() {
            return self.mark(Does::Read, Order::default(), allocation);
        }
        for lane in lanes(mask) {
            let place = (allocation, (addresses[lane] - base) as usize);
            let site = warp.site(op, lane);
            self.check_global(Does::Read, Order::default(), place, bytes, None, site);
        }
    }

    /// Checks an access of a bulk copy; its engine's clock is that of `by`.
    pub fn check_global_bulk(
        &mut self,
        does: Does,
        by: &AsyncOp,
        place: Place,
        bytes: u32,
        new: Option<&[u8]>,
    ) {
        // Reductions are relaxed at GPU scope (PTX ISA, "cp.reduce.async.bulk").
        let order = Order {
            strong: matches!(does, Does::Atomic).then_some(Scope::Gpu),
            ..Order::default()
        };
        self.mark(does, order, place.0);
        if !self.is_watched(place.0) {
            return;
        }
        let mode = match does {
            Does::Read => GlobalMode::AsyncRead,
            Does::Write | Does::Atomic => GlobalMode::AsyncWrite {
                changes: self.changes(place, new),
            },
        };
        let access = GlobalAccess {
            mode,
            order,
            actor: by.actor,
            clock: by.clock,
            site: by.site,
        };
        self.check_global_access(&access, place, bytes);
    }

    /// Checks a bulk copy at its issue.
    pub fn check_before_bulk(&mut self, does: Does, place: Place, bytes: u32, site: Site) {
        let observer = self.order.observer(site.warp, 1 << site.lane);
        let waits = observer.is_some_and(|observer| !observer.has_waited());
        if self.machine.previous.is_there() && waits {
            self.check_previous_grid(does, place, bytes, site);
        }
    }

    #[inline(always)]
    fn is_watched(&self, allocation: usize) -> bool {
        let shadow = self.writes.accesses.as_ref();
        shadow.is_some_and(|shadow| shadow.watches(allocation))
    }

    /// Notes that the allocation was accessed at all.
    #[inline(always)]
    fn mark(&mut self, does: Does, order: Order, allocation: usize) {
        let bit = 1 << allocation.min(63);
        if order.strong.is_some() {
            self.writes.strong |= bit;
        } else if matches!(does, Does::Read) {
            self.writes.reads |= bit;
        }
    }

    fn changes(&self, (allocation, offset): Place, new: Option<&[u8]>) -> bool {
        new.is_none_or(|new| {
            self.writes
                .would_change(self.machine.memory, allocation, offset, new)
        })
    }

    fn check_global_access(&mut self, access: &GlobalAccess, place: Place, bytes: u32) {
        let site = access.site;
        let (Some(shadow), Some(observer)) = (
            &mut self.writes.accesses,
            self.order.observer(site.warp, 1 << site.lane),
        ) else {
            return;
        };
        if let Some(other) = shadow.access(access, place, bytes, &observer) {
            let of = other.site();
            let conflict = Conflict {
                access: verb(access.mode),
                other_access: verb(other.mode),
                of_init: false,
                other: Box::new(self.machine.location_in(other.cluster, of)),
                space: Space::Global,
                address: self.machine.memory.base(place.0) + place.1 as u64,
                of_one_instruction: other.cluster == self.order.cluster()
                    && (of.warp, of.op) == (site.warp, site.op),
                is_later: true,
            };
            self.report(FindingKind::Race(conflict), site);
        }
    }

    /// Reports an access before `griddepcontrol.wait` to memory that the previous launch may still use.
    #[cold]
    fn check_previous_grid(&mut self, does: Does, place: Place, bytes: u32, site: Site) {
        let previous = self.machine.previous;
        let (access, conflicting) = match does {
            Does::Read => (AccessKind::Read, previous.writes),
            Does::Write => (AccessKind::Write, previous.writes | previous.reads),
            Does::Atomic => (AccessKind::Atomic, previous.writes | previous.reads),
        };
        if conflicting >> place.0.min(63) & 1 == 1 {
            let access = MemoryAccess {
                space: Space::Global,
                access,
                bytes,
                address: self.machine.memory.base(place.0) + place.1 as u64,
            };
            self.report(FindingKind::BeforePreviousGrid(access), site);
        }
    }
}

/// The access as a report names it.
pub(super) fn verb(mode: GlobalMode) -> AccessKind {
    match mode {
        GlobalMode::Read => AccessKind::Read,
        GlobalMode::Write { .. } => AccessKind::Write,
        GlobalMode::Atomic => AccessKind::Atomic,
        GlobalMode::AsyncRead => AccessKind::AsyncRead,
        GlobalMode::AsyncWrite { .. } => AccessKind::AsyncWrite,
    }
}
