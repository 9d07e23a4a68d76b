//! The sanitizer's shadow of global memory: the reads and writes of all clusters that run interleaved, or of one
//! cluster that runs in parallel with others.
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::access_check::Site;
use crate::happens_before::{Observer, SyncVariable, scope_of};
use crate::op::{Order, Scope};

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GlobalMode {
    Read,
    /// Whether it changes the value: two writes of the same value do not conflict.
    Write {
        changes: bool,
    },
    Atomic,
    /// By a bulk copy.
    AsyncRead,
    AsyncWrite {
        changes: bool,
    },
}

impl GlobalMode {
    fn reads(self) -> bool {
        matches!(self, Self::Read | Self::AsyncRead)
    }
    pub fn changes(self) -> bool {
        match self {
            Self::Read | Self::AsyncRead => false,
            Self::Write { changes } | Self::AsyncWrite { changes } => changes,
            Self::Atomic => true,
        }
    }
}

/// One access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GlobalAccess {
    pub mode: GlobalMode,
    pub order: Order,
    /// The actor of the clock: the warp, or an engine of its cluster.
    pub actor: usize,
    pub clock: u32,
    pub site: Site,
}

/// A past access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub cluster: u32,
    clock: u32,
    op: u32,
    actor: u16,
    warp: u16,
    lane: u8,
    pub mode: GlobalMode,
    strong: Option<Scope>,
}

impl Known {
    pub fn new(access: &GlobalAccess, cluster: u32) -> Self {
        Self {
            cluster,
            clock: access.clock,
            op: access.site.op as u32,
            actor: access.actor as u16,
            warp: access.site.warp as u16,
            lane: access.site.lane as u8,
            mode: access.mode,
            strong: access.order.strong,
        }
    }

    pub fn site(&self) -> Site {
        Site {
            warp: self.warp.into(),
            lane: self.lane.into(),
            op: self.op as usize,
        }
    }

    fn is_by(&self, other: &Known) -> bool {
        (self.cluster, self.actor, self.lane) == (other.cluster, other.actor, other.lane)
    }
}

/// The shadow of a few bytes: the last weak and strong writes, and the reads since. A strong write alone does not order
/// the weak write before it, so both are kept.
#[derive(Clone, Default)]
pub(crate) struct Cell {
    write: Option<Known>,
    strong_write: Option<Known>,
    read: Option<Known>,
    /// Further reads, none of which happens before another one.
    more: Vec<Known>,
}

/// The most further reads of a cell that are kept.
const MOST_READS: usize = 8;
/// Cells of a page.
const PAGE: usize = 64;

/// A place in global memory: allocation, and offset in bytes.
pub(crate) type Place = (usize, usize);

pub(crate) struct GlobalShadow {
    /// Watched allocations, a bit each, the last of which stands for all later ones.
    watched: u64,
    /// log2 of the bytes of a cell.
    shift: u32,
    warps_of_block: usize,
    pages: HashMap<(u32, u32), Box<[Cell; PAGE]>>,
    most_pages: usize,
    /// What strong writes have released.
    pub flags: HashMap<Place, SyncVariable>,
}

impl GlobalShadow {
    /// Accesses have at least `grain` bytes. The shadow takes at most `memory` bytes; accesses that do not fit are not
    /// checked.
    pub fn new(watched: u64, grain: u32, warps_of_block: usize, memory: u64) -> Self {
        Self {
            watched,
            shift: grain.clamp(1, 4).ilog2(),
            warps_of_block,
            pages: HashMap::new(),
            most_pages: (memory / size_of::<[Cell; PAGE]>() as u64) as usize,
            flags: HashMap::new(),
        }
    }

    pub fn watches(&self, allocation: usize) -> bool {
        self.watched >> allocation.min(63) & 1 == 1
    }

    /// Records an access to `bytes` bytes at `place`; returns another one that it races with.
    pub fn access(
        &mut self,
        access: &GlobalAccess,
        (allocation, offset): Place,
        bytes: u32,
        observer: &Observer<'_>,
    ) -> Option<Known> {
        let now = Known::new(access, observer.cluster);
        let (mut at, end) = (
            offset >> self.shift,
            (offset + bytes as usize - 1) >> self.shift,
        );
        let mut race = None;
        while at <= end {
            let (page, first) = (at / PAGE, at % PAGE);
            let last = (end - page * PAGE).min(PAGE - 1);
            at = (page + 1) * PAGE;
            let full = self.pages.len() >= self.most_pages;
            let cells = match self.pages.entry((allocation as u32, page as u32)) {
                Entry::Occupied(cells) => cells.into_mut(),
                Entry::Vacant(_) if full => continue,
                Entry::Vacant(room) => {
                    room.insert(Box::new(std::array::from_fn(|_| Cell::default())))
                }
            };
            for cell in &mut cells[first..=last] {
                let found = cell.access(&now, observer, self.warps_of_block);
                race = race.or(found);
            }
        }
        race
    }

    /// Bytes of a cell.
    pub fn grain(&self) -> usize {
        1 << self.shift
    }

    /// Every cell and its place.
    pub fn cells(&self) -> impl Iterator<Item = (Place, &Cell)> {
        let shift = self.shift;
        self.pages
            .iter()
            .flat_map(move |(&(allocation, page), cells)| {
                let cells = cells.iter().enumerate();
                cells.map(move |(i, cell)| {
                    let offset = (page as usize * PAGE + i) << shift;
                    ((allocation as usize, offset), cell)
                })
            })
    }
}

impl Cell {
    /// The last writes.
    pub fn writes(&self) -> impl Iterator<Item = &Known> {
        self.write.iter().chain(&self.strong_write)
    }

    /// The reads.
    pub fn reads(&self) -> impl Iterator<Item = &Known> {
        self.read.iter().chain(&self.more)
    }

    fn add_read(&mut self, now: &Known, is_held_by: impl Fn(&Known) -> bool) {
        self.more.retain(|read| !is_held_by(read));
        match &mut self.read {
            Some(read) if !is_held_by(read) => {
                if self.more.len() == MOST_READS {
                    self.more.remove(0);
                }
                self.more.push(*now);
            }
            read => *read = Some(*now),
        }
    }

    /// Records an access; returns another one that it races with.
    fn access(&mut self, now: &Known, observer: &Observer<'_>, warps: usize) -> Option<Known> {
        let ordered = |before: &Known| {
            let actor = before.actor.into();
            before.is_by(now)
                || observer.sees(before.cluster, actor, before.lane.into(), before.clock)
        };
        let is_strong = |before: &Known| both_strong(before, now, warps);
        let racing_write = |write: &&Known| {
            // If a strong read has observed what was released, only weak accesses still need a fence.
            let found = now.strong.is_some() && now.mode.reads() && {
                let actor = write.actor.into();
                observer.has_observed(write.cluster, actor, write.lane.into(), write.clock)
            };
            let matters = match now.mode.reads() {
                true => write.mode.changes(),
                false => now.mode.changes(),
            };
            matters && !ordered(write) && !is_strong(write) && !found
        };
        let mut race = self.writes().find(racing_write).copied();
        if now.mode.reads() {
            let weaker = |read: &Known| read.strong.is_some() || now.strong.is_none();
            self.add_read(now, |read| ordered(read) && weaker(read));
            return race;
        }
        if now.mode.changes() {
            let racing = |read: &&Known| !ordered(read) && !is_strong(read);
            race = race.or(self.reads().find(racing).copied());
            (self.read, self.more) = (None, Vec::new());
        }
        // A write that changes nothing does not replace one that did.
        let hides = |write: &Known| now.mode.changes() || !write.mode.changes() || ordered(write);
        let last = match now.strong {
            None => &mut self.write,
            Some(_) => &mut self.strong_write,
        };
        if last.as_ref().is_none_or(hides) {
            *last = Some(*now);
        }
        race
    }
}

/// Whether both accesses are strong, and each has a scope that includes the other's thread (PTX ISA, "Morally
/// Strong Operations"): then they do not race.
fn both_strong(one: &Known, other: &Known, warps: usize) -> bool {
    let (Some(a), Some(b)) = (one.strong, other.strong) else {
        return false;
    };
    let block = |of: &Known| (of.cluster, usize::from(of.warp) / warps.max(1));
    a.min(b) >= scope_of(block(one), block(other))
}
