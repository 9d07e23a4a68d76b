//! mbarriers: phases, pending arrivals, bytes that are still to come (PTX ISA, "mbarrier").
mod arrive;
mod model;
mod wait;

pub use model::MbarrierModel;

use super::block::Execution;
use super::lane_access::{Fatal, LaneAccess, Result};
use super::lookahead::Issue;
use crate::Space;
use crate::finding::{AccessKind, FindingKind};
use crate::happens_before::{HappensBefore, View};
use crate::shadow::{AccessMode, Site};

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
    /// The same of threads of other blocks: a wait of the block's scope does not acquire it.
    remote_arriving: View,
    remote_done: View,
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
            self.remote_done = self.remote_arriving.clone();
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

fn missing(at: u32) -> String {
    format!("there is no mbarrier at 0x{at:x}: not initialised, or invalidated")
}
