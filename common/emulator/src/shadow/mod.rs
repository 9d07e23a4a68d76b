//! The sanitizer's shadow of shared memory: which actor wrote or read each cell, and by which proxy.
//!
//! `happens_before/` decides which accesses are ordered.
mod access_check;
mod cell;
mod global;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use crate::happens_before::{Actor, Engine, Observer};
pub(crate) use access_check::{AccessCheck, AccessMode, Hazard, Site};
use cell::{Column, LastAccess, Read, Stamp, Write};
pub(crate) use global::{GlobalAccess, GlobalMode, GlobalShadow, Known, Place};

/// Shadow of one block's shared memory.
pub(crate) struct Shadow {
    /// Number of the block's first warp in the cluster.
    first: Actor,
    warps: usize,
    /// log2 of the bytes of a cell.
    shift: u32,
    /// The last weak write of each cell, and the last strong write of the cells that have one: a strong write alone
    /// does not order the weak write before it, so both are kept.
    writes: Vec<Write>,
    strong: HashMap<usize, Write>,
    /// The last read, for each cell and warp of the block ([`Stamp::bits`]); and the lanes that have read at that clock.
    reads: Vec<u64>,
    lanes: Vec<u32>,
    /// The read before the last, if another lane has read by another operation at the same clock.
    earlier: HashMap<usize, Stamp>,
    others: Vec<Column>,
}

/// An asynchronous operation: a bulk copy, a `wgmma`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AsyncOp {
    pub engine: Engine,
    /// The engine's number among the actors, and its clock.
    pub actor: Actor,
    pub clock: u32,
    /// The thread and operation to name in a report.
    pub site: Site,
}

impl AsyncOp {
    fn stamp(&self) -> Stamp {
        Stamp::new(self.clock, self.site.op, self.site.lane as u32)
    }
}

impl Shadow {
    /// `bytes` of shared memory for `warps` warps, the first of which is number `first` of its cluster;
    /// at least `grain` bytes are touched at a time.
    pub fn new(bytes: usize, first: Actor, warps: usize, grain: u32) -> Self {
        let (shift, cells) = Self::cells(bytes, grain);
        Self {
            first,
            warps,
            shift,
            writes: vec![Write::NONE; cells],
            strong: HashMap::new(),
            reads: vec![0; cells * warps],
            lanes: vec![0; cells * warps],
            earlier: HashMap::new(),
            others: Vec::new(),
        }
    }

    fn cells(bytes: usize, grain: u32) -> (u32, usize) {
        let shift = grain.clamp(1, 4).ilog2();
        (shift, (bytes >> shift) + 1)
    }

    /// The size of the shadow in bytes, without reads by other actors than the block's threads.
    pub fn bytes(bytes: usize, warps: usize, grain: u32) -> usize {
        let (_, cells) = Self::cells(bytes, grain);
        cells * (warps * size_of::<Read>() + size_of::<Write>())
    }

    fn range(&self, address: u32, bytes: u32) -> std::ops::RangeInclusive<usize> {
        let cell = |at: u32| (at >> self.shift) as usize;
        cell(address)..=cell(address + bytes.max(1) - 1)
    }

    /// How many of these bytes the thread was the last to store, or to copy by `cp.async`.
    pub fn own(&self, address: u32, bytes: u32, by: Site) -> u32 {
        let is_own = |cell: &usize| {
            let Write { stamp, warp, .. } = self.writes[*cell];
            stamp.clock > 0 && (usize::from(warp), stamp.lane() as usize) == (by.warp, by.lane)
        };
        let cells = self.range(address, bytes).filter(is_own).count() as u32;
        (cells << self.shift).min(bytes)
    }

    /// A number for the last writes of these bytes, 0 if there is none: it changes with the next write.
    pub fn last_writes(&self, address: u32, bytes: u32) -> u64 {
        let strong = |cell| self.strong.get(&cell).map_or(0, |write| write.stamp.bits());
        self.range(address, bytes).fold(0, |all: u64, cell| {
            all.rotate_left(9) ^ self.writes[cell].stamp.bits() ^ strong(cell).rotate_left(5)
        })
    }

    /// Records the access of one lane to `bytes` bytes at `address` and returns what is wrong with it.
    pub fn access(
        &mut self,
        how: AccessMode,
        address: u32,
        bytes: u32,
        op: usize,
        observer: &Observer<'_>,
    ) -> AccessCheck {
        let (warp, lane) = (observer.actor, observer.lanes.trailing_zeros());
        let now = Stamp::new(observer.epoch, op, lane);
        let mut check = AccessCheck::Fine;
        for cell in self.range(address, bytes) {
            let write = self.writes[cell];
            let (stamp, actor) = (write.stamp, usize::from(write.actor));
            if how == AccessMode::Land {
                self.write(cell, now, warp, warp, LastAccess::Plain);
                continue;
            }
            if write.last == LastAccess::Mbarrier
                && !matches!(how, AccessMode::Init | AccessMode::Invalidate)
            {
                check.worse(AccessCheck::Mbarrier(write.hazard()));
                continue;
            }
            let strong = self.strong_write(cell);
            let ordered = |stamp: Stamp, actor: Actor| {
                observer.see(actor, stamp.lane(), stamp.clock)
                    || actor == warp && stamp.lane() == lane
            };
            let in_flight = [
                LastAccess::InFlight,
                LastAccess::Launched,
                LastAccess::Reducing,
            ];
            if in_flight.contains(&write.last) {
                check.worse(AccessCheck::Race(write.hazard()));
            } else if stamp.clock == 0 {
                if strong.is_none() && (how.is_read() || how == AccessMode::Atomic) {
                    check.worse(AccessCheck::Uninitialized);
                }
            } else if !ordered(stamp, actor) {
                check.worse(AccessCheck::Race(write.hazard()));
            }
            if let Some(strong) = strong
                && !how.is_strong()
                && !ordered(strong.stamp, strong.actor.into())
            {
                check.worse(AccessCheck::Race(strong.hazard()));
            }
            // Volatile accesses are strong, and so not a data race (PTX ISA, "Memory Consistency Model: volatile"). But
            // another lane sees the stored value only by chance: warps have not run in lockstep since Volta (CUDA C++
            // Programming Guide, "Independent Thread Scheduling"). Polling loops are exempt, because they read again.
            if let Some(strong) = strong
                && how == AccessMode::VolatileRead
                && strong.last == LastAccess::Strong
                && usize::from(strong.actor) == warp
                && !ordered(strong.stamp, warp)
                && !self.has_read(cell, warp, op)
            {
                check.worse(AccessCheck::Race(strong.hazard()));
            }
            if how.is_read() {
                let now = if how.is_strong() { now.strong() } else { now };
                self.read(cell, now, warp);
                continue;
            }
            self.unordered_reads(cell, how, observer, &mut check);
            let last = match how {
                AccessMode::Atomic | AccessMode::StrongWrite => {
                    let last = match how {
                        AccessMode::Atomic => LastAccess::Atomic,
                        _ => LastAccess::Strong,
                    };
                    let write = Write::new(now, warp, warp, last);
                    self.strong.insert(cell, write);
                    continue;
                }
                AccessMode::Launch => LastAccess::InFlight,
                AccessMode::Init => LastAccess::Mbarrier,
                AccessMode::Read
                | AccessMode::StrongRead
                | AccessMode::VolatileRead
                | AccessMode::Write
                | AccessMode::Land
                | AccessMode::Invalidate
                | AccessMode::AsyncRead
                | AccessMode::AsyncWrite
                | AccessMode::AsyncStore
                | AccessMode::AsyncReduce { .. } => LastAccess::Plain,
            };
            self.write(cell, now, warp, warp, last);
        }
        check
    }

    /// Whether the last read of a cell by a warp of the block was by this operation.
    fn has_read(&self, cell: usize, warp: Actor, op: usize) -> bool {
        let own = warp.wrapping_sub(self.first);
        let last = self.reads.get(cell * self.warps + own);
        let last = last.map_or(Stamp::default(), |&bits| Stamp::from_bits(bits));
        own < self.warps && last.clock > 0 && last.op() == op
    }

    /// Records the reads of these lanes, each at its own address, and checks lanes with the same address together;
    /// `observer` has the view that all of them share. Returns the lanes that this fast path cannot decide, because
    /// the last write is not ordered before the whole warp: they need [`Shadow::access`], which may find that
    /// nothing is wrong.
    pub fn read_by_warp(
        &mut self,
        addresses: &[u32; 32],
        bytes: u32,
        op: usize,
        observer: &Observer<'_>,
    ) -> u32 {
        let own = observer.actor.wrapping_sub(self.first);
        if own >= self.warps {
            return observer.lanes;
        }
        let (mut left, mut unclear) = (observer.lanes, 0);
        while left != 0 {
            let address = addresses[left.trailing_zeros() as usize & 31];
            let same = (0..32).fold(0, |same, lane| {
                same | u32::from(addresses[lane] == address) << lane
            }) & left;
            left &= !same;
            // A report names the lane that reads last.
            let now = Stamp::new(observer.epoch, op, 31 - same.leading_zeros());
            let cells = self.range(address, bytes);
            let is_weak = cells.clone().all(|cell| self.strong_write(cell).is_none());
            let is_clear = |write: &Write| {
                let clock = write.stamp.clock;
                clock != 0
                    && matches!(write.last, LastAccess::Plain | LastAccess::Landed)
                    && observer.all_seen(write.actor.into(), clock)
            };
            if !is_weak || !self.writes[cells.clone()].iter().all(is_clear) {
                unclear |= same;
                continue;
            }
            for cell in cells {
                let at = cell * self.warps + own;
                let (last, lanes) = (Stamp::from_bits(self.reads[at]), &mut self.lanes[at]);
                let before = if last.clock == now.clock { *lanes } else { 0 };
                if before != 0 && last.lane() != now.lane() && last.op() != now.op() {
                    self.earlier.insert(at, last);
                }
                (self.reads[at], *lanes) = (now.bits(), before | same);
            }
        }
        unclear
    }

    /// Records accesses of `bytes` bytes at each address by an engine, issued by these threads together, and returns
    /// the addresses whose check failed, each with its result. A write is in flight from now on until it lands.
    pub fn asynchronous(
        &mut self,
        how: AccessMode,
        addresses: &[u32],
        bytes: u32,
        by: &AsyncOp,
        issuers: &[Observer<'_>],
    ) -> Vec<(u32, AccessCheck)> {
        // Neighboring cells usually have the same last write, so its check is not repeated.
        let mut ordered = None;
        let mut wrong = Vec::new();
        for &address in addresses {
            let mut check = AccessCheck::Fine;
            for cell in self.range(address, bytes) {
                self.before_async(cell, how, issuers, &mut ordered, &mut check);
            }
            if how == AccessMode::AsyncRead {
                self.read_by_engine(address, bytes, by);
            } else {
                self.launch(address, bytes, how, by, issuers, &mut check);
            }
            if !matches!(check, AccessCheck::Fine) {
                wrong.push((address, check));
            }
        }
        wrong
    }

    /// Reports in `check` the writes of a cell that do not happen before an access by an engine. `ordered` caches a weak write
    /// that is known to happen before it.
    #[inline(always)]
    fn before_async(
        &self,
        cell: usize,
        how: AccessMode,
        issuers: &[Observer<'_>],
        ordered: &mut Option<Write>,
        check: &mut AccessCheck,
    ) {
        let write = self.writes[cell];
        let reduces = matches!(how, AccessMode::AsyncReduce { .. });
        match write.last {
            _ if *ordered == Some(write) => {}
            LastAccess::Mbarrier => return check.worse(AccessCheck::Mbarrier(write.hazard())),
            LastAccess::Reducing | LastAccess::Reduced if reduces => {}
            LastAccess::InFlight | LastAccess::Launched | LastAccess::Reducing => {
                check.worse(AccessCheck::Race(write.hazard()))
            }
            _ if write.stamp.clock == 0 => {
                let reads = reduces || how == AccessMode::AsyncRead;
                if reads && self.strong_write(cell).is_none() {
                    check.worse(AccessCheck::Uninitialized);
                }
            }
            _ => {
                let mut one = AccessCheck::Fine;
                let issuers = issuers.iter();
                issuers.for_each(|observer| one.worse(write.before_async(observer)));
                *ordered = matches!(one, AccessCheck::Fine).then_some(write);
                check.worse(one);
            }
        }
        if let Some(strong) = self.strong_write(cell) {
            let issuers = issuers.iter();
            issuers.for_each(|observer| check.worse(strong.before_async(observer)));
        }
    }

    fn read_by_engine(&mut self, address: u32, bytes: u32, by: &AsyncOp) {
        let at = self.column(by.actor);
        for cell in self.range(address, bytes) {
            if self.writes[cell].last != LastAccess::Mbarrier {
                self.others[at].read(cell, by.stamp(), by.site.warp);
            }
        }
    }

    /// Records a write that is in flight from now on.
    fn launch(
        &mut self,
        address: u32,
        bytes: u32,
        how: AccessMode,
        by: &AsyncOp,
        issuers: &[Observer<'_>],
        check: &mut AccessCheck,
    ) {
        let last = match how {
            AccessMode::AsyncReduce { .. } => LastAccess::Reducing,
            _ => LastAccess::Launched,
        };
        for cell in self.range(address, bytes) {
            if self.writes[cell].last == LastAccess::Mbarrier {
                continue;
            }
            for observer in issuers {
                self.unordered_reads(cell, how, observer, check);
            }
            self.write(cell, by.stamp(), by.actor, by.site.warp, last);
        }
    }

    /// A bulk copy has landed: accesses ordered after its completion are allowed now.
    pub fn land(&mut self, address: u32, bytes: u32, by: &AsyncOp, generic: bool) {
        let last = if generic {
            LastAccess::Plain
        } else {
            LastAccess::Landed
        };
        self.set_landed(address, bytes, by, last);
    }

    /// The same for a reduction.
    pub fn land_reduction(&mut self, address: u32, bytes: u32, by: &AsyncOp) {
        self.set_landed(address, bytes, by, LastAccess::Reduced);
    }

    fn set_landed(&mut self, address: u32, bytes: u32, by: &AsyncOp, last: LastAccess) {
        for cell in self.range(address, bytes) {
            self.write(cell, by.stamp(), by.actor, by.site.warp, last);
        }
    }

    /// The operation of the bulk copy that last wrote an address, if one did.
    pub fn brought_by(&self, address: u32) -> Option<usize> {
        let write = self.writes.get((address >> self.shift) as usize)?;
        matches!(write.last, LastAccess::Launched | LastAccess::Landed).then(|| write.stamp.op())
    }

    /// Checks an mbarrier instruction by a thread, or by the async proxy on its behalf: is the
    /// `mbarrier.init` at this address visible to it?
    pub fn use_mbarrier(
        &self,
        address: u32,
        asynchronous: bool,
        observer: &Observer<'_>,
    ) -> AccessCheck {
        let Some(write) = self.writes.get((address >> self.shift) as usize) else {
            return AccessCheck::Fine;
        };
        let (stamp, actor) = (write.stamp, usize::from(write.actor));
        if write.last != LastAccess::Mbarrier
            || observer.initialized(actor, stamp.lane(), stamp.clock)
        {
            return AccessCheck::Fine;
        }
        let own = actor == observer.actor && observer.lanes >> stamp.lane() & 1 == 1;
        if !own && !observer.see(actor, stamp.lane(), stamp.clock) {
            AccessCheck::Race(write.hazard())
        } else if asynchronous && !observer.fenced(actor, stamp.lane(), stamp.clock) {
            AccessCheck::Unfenced(write.hazard())
        } else {
            AccessCheck::Fine
        }
    }

    fn write(&mut self, cell: usize, stamp: Stamp, actor: Actor, warp: Actor, last: LastAccess) {
        self.writes[cell] = Write::new(stamp, actor, warp, last);
        if !self.strong.is_empty() {
            self.strong.remove(&cell);
        }
    }

    #[inline(always)]
    fn strong_write(&self, cell: usize) -> Option<Write> {
        match self.strong.is_empty() {
            true => None,
            false => self.strong.get(&cell).copied(),
        }
    }

    /// A warp reads a cell.
    fn read(&mut self, cell: usize, now: Stamp, warp: Actor) {
        let own = warp.wrapping_sub(self.first);
        if own >= self.warps {
            let at = self.column(warp);
            return self.others[at].read(cell, now, warp);
        }
        let at = cell * self.warps + own;
        let last = Stamp::from_bits(self.reads[at]);
        if last.clock == now.clock && last.lane() != now.lane() && last.op() != now.op() {
            self.earlier.insert(at, last);
        }
        let mut read = Read {
            stamp: last,
            lanes: self.lanes[at],
        };
        read.add(now);
        (self.reads[at], self.lanes[at]) = (read.stamp.bits(), read.lanes);
    }

    /// The index of the reads of an actor that is not a warp of the block.
    fn column(&mut self, actor: Actor) -> usize {
        let known = self.others.iter().position(|one| one.actor == actor);
        known.unwrap_or_else(|| {
            self.others.push(Column::new(actor, self.writes.len()));
            self.others.len() - 1
        })
    }

    /// Finds reads that do not happen before a write by these threads.
    #[inline(always)]
    fn unordered_reads(
        &self,
        cell: usize,
        how: AccessMode,
        observer: &Observer<'_>,
        check: &mut AccessCheck,
    ) {
        let own = |actor: Actor, read: &Read| {
            actor == observer.actor && read.lanes & !observer.lanes == 0
        };
        let racing = |actor: Actor, read: &Read| {
            let both_strong = how.is_strong() && read.stamp.is_strong();
            read.stamp.clock != 0
                && !both_strong
                && !observer.see_lanes(actor, read.lanes, read.stamp.clock)
                && !own(actor, read)
        };
        let hazard = |warp: Actor, read: &Read, how| {
            let site = read.stamp.site(warp);
            AccessCheck::Race(Hazard { site, how })
        };
        let row = cell * self.warps;
        for (warp, &bits) in self.reads[row..row + self.warps].iter().enumerate() {
            let (actor, stamp) = (self.first + warp, Stamp::from_bits(bits));
            if stamp.clock == 0 || observer.all_seen(actor, stamp.clock) {
                continue;
            }
            let lanes = self.lanes[row + warp];
            let read = Read { stamp, lanes };
            if racing(actor, &read) {
                let is_other = |stamp: &Stamp| {
                    actor != observer.actor || observer.lanes >> stamp.lane() & 1 == 0
                };
                // A thread does not race with itself: report the earlier read of another lane.
                let earlier = self.earlier.get(&(row + warp)).copied();
                let earlier = earlier.filter(|one| one.clock == stamp.clock && is_other(one));
                let stamp = match earlier {
                    Some(earlier) if !is_other(&stamp) => earlier,
                    _ => stamp,
                };
                check.worse(hazard(actor, &Read { stamp, lanes }, AccessMode::Read));
            }
        }
        for column in &self.others {
            let (read, warp) = column.get(cell);
            if racing(column.actor, &read) {
                let how = if column.actor == usize::from(warp) {
                    AccessMode::Read
                } else {
                    AccessMode::AsyncRead
                };
                check.worse(hazard(warp.into(), &read, how));
            }
        }
    }
}
