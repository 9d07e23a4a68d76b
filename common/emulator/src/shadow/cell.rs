//! The shadow of a few bytes of shared memory: the last write, and the reads since.
use super::access_check::{AccessCheck, AccessMode, Hazard, Site};
use crate::happens_before::{Actor, Observer};

/// A past access: the actor's clock at the time (0: none yet), the lane and the operation.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    pub clock: u32,
    /// The operation in the upper 26 bits, whether the access is a strong one, the lane in the lower 5 bits.
    who: u32,
}

impl Stamp {
    pub fn new(clock: u32, op: usize, lane: u32) -> Self {
        Self {
            clock,
            who: (op as u32) << 6 | lane & 31,
        }
    }
    /// The same as a strong access.
    pub fn strong(self) -> Self {
        Self {
            who: self.who | 1 << 5,
            ..self
        }
    }
    pub fn is_strong(self) -> bool {
        self.who >> 5 & 1 == 1
    }
    pub fn op(self) -> usize {
        (self.who >> 6) as usize
    }
    pub fn site(self, warp: Actor) -> Site {
        Site {
            warp,
            lane: self.lane() as usize,
            op: self.op(),
        }
    }
    pub fn lane(self) -> u32 {
        self.who & 31
    }

    /// As one number, 0 for no access, so that a table of them is allocated as zero pages and costs nothing until written.
    pub fn bits(self) -> u64 {
        u64::from(self.who) << 32 | u64::from(self.clock)
    }
    pub fn from_bits(bits: u64) -> Self {
        Self {
            clock: bits as u32,
            who: (bits >> 32) as u32,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Write {
    pub stamp: Stamp,
    /// The actor that the clock belongs to.
    pub actor: u16,
    /// The warp that made or issued the access.
    pub warp: u16,
    pub last: LastAccess,
}

impl Write {
    pub const NONE: Write = Write {
        stamp: Stamp { clock: 0, who: 0 },
        actor: 0,
        warp: 0,
        last: LastAccess::Plain,
    };

    pub fn new(stamp: Stamp, actor: Actor, warp: Actor, last: LastAccess) -> Self {
        Self {
            stamp,
            actor: actor as u16,
            warp: warp as u16,
            last,
        }
    }

    /// Whether it happens before an access by an engine that these threads issue, and is visible to its proxy.
    pub fn before_async(&self, issuer: &Observer<'_>) -> AccessCheck {
        let (stamp, actor) = (self.stamp, usize::from(self.actor));
        let own = actor == issuer.actor && issuer.lanes >> stamp.lane() & 1 == 1;
        if !own && !issuer.see(actor, stamp.lane(), stamp.clock) {
            AccessCheck::Race(self.hazard())
        } else if !matches!(self.last, LastAccess::Landed | LastAccess::Reduced)
            && !issuer.fenced(actor, stamp.lane(), stamp.clock)
        {
            AccessCheck::Unfenced(self.hazard())
        } else {
            AccessCheck::Fine
        }
    }

    pub fn hazard(&self) -> Hazard {
        Hazard {
            site: self.stamp.site(self.warp.into()),
            how: match self.last {
                LastAccess::Plain => AccessMode::Write,
                LastAccess::Mbarrier => AccessMode::Init,
                LastAccess::Atomic => AccessMode::Atomic,
                LastAccess::Strong => AccessMode::StrongWrite,
                LastAccess::InFlight
                | LastAccess::Launched
                | LastAccess::Landed
                | LastAccess::Reducing
                | LastAccess::Reduced => AccessMode::AsyncWrite,
            },
        }
    }
}

#[derive(Clone, Copy, Default)]
pub(super) struct Read {
    pub stamp: Stamp,
    /// The lanes that have read at that clock.
    pub lanes: u32,
}

impl Read {
    /// The same actor reads again. Of several reads at one clock, a weak one is kept.
    pub fn add(&mut self, now: Stamp) {
        let same_clock = self.stamp.clock == now.clock;
        let before = if same_clock { self.lanes } else { 0 };
        if before == 0 || self.stamp.is_strong() || !now.is_strong() {
            self.stamp = now;
        }
        self.lanes = before | 1 << now.lane();
    }
}

/// The last read of each cell by an actor that is not a warp of the block: a warp of another block, or an engine.
pub(super) struct Column {
    pub actor: Actor,
    /// [`Stamp::bits`].
    stamps: Vec<u64>,
    lanes: Vec<u32>,
    /// The warp that issued it.
    warps: Vec<u16>,
}

impl Column {
    pub fn new(actor: Actor, cells: usize) -> Self {
        Self {
            actor,
            stamps: vec![0; cells],
            lanes: vec![0; cells],
            warps: vec![0; cells],
        }
    }

    pub fn get(&self, cell: usize) -> (Read, u16) {
        let read = Read {
            stamp: Stamp::from_bits(self.stamps[cell]),
            lanes: self.lanes[cell],
        };
        (read, self.warps[cell])
    }

    pub fn read(&mut self, cell: usize, now: Stamp, warp: Actor) {
        let (mut read, _) = self.get(cell);
        read.add(now);
        self.stamps[cell] = read.stamp.bits();
        self.lanes[cell] = read.lanes;
        self.warps[cell] = warp as u16;
    }
}

/// The last write of a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LastAccess {
    Plain,
    /// Atomics and other strong accesses do not race with each other.
    Atomic,
    Strong,
    /// A `cp.async` that its thread has not waited for: no access to the cell is allowed.
    InFlight,
    /// The same for a bulk copy that has not landed.
    Launched,
    /// A bulk copy has landed.
    Landed,
    /// An asynchronous reduction that has not landed; then one that has.
    Reducing,
    Reduced,
    /// The cell is part of an mbarrier.
    Mbarrier,
}
