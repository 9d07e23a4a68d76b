//! mbarriers: phases, pending arrivals, tx-count (PTX ISA, "mbarrier").
mod arrive;
mod model;
mod name;
mod wait;

pub use model::MbarrierModel;
pub(super) use name::name;

use std::collections::BTreeMap;

use super::block::Execution;
use super::lane_access::{Fatal, LaneAccess, Result};
use super::lanes::lanes;
use super::lookahead::Issue;
use super::machine::Machine;
use crate::Space;
use crate::finding::{AccessKind, Arrivals, FindingKind, MbarrierMisuse};
use crate::happens_before::{Actor, HappensBefore, View};
use crate::program::Program;
use crate::shadow::{AccessCheck, AccessMode, Site};

/// The largest count of arrivals, and the largest magnitude of the tx-count (PTX ISA, "Contents of the mbarrier
/// object").
const MAX_COUNT: u32 = (1 << 20) - 1;

/// A result, or a mistake.
type Checked<T> = std::result::Result<T, Misuse>;

/// A mistake, and its description.
pub(super) struct Misuse(MbarrierMisuse, String);

impl From<String> for Misuse {
    fn from(why: String) -> Self {
        Self(MbarrierMisuse::Other, why)
    }
}

impl Misuse {
    /// Not initialized.
    pub fn absent(why: String) -> Self {
        Self(MbarrierMisuse::Absent, why)
    }

    /// Says which mbarrier it is.
    fn of(self, name: &str) -> Self {
        self.after(&format!("the mbarrier {name}: "))
    }

    /// Adds what comes before the description.
    pub fn after(self, words: &str) -> Self {
        Self(self.0, words.to_owned() + &self.1)
    }
}

impl From<&str> for Misuse {
    fn from(why: &str) -> Self {
        why.to_owned().into()
    }
}

/// The state of one mbarrier, kept in addition to its 8 bytes of shared memory.
#[derive(Clone, Default)]
pub(super) struct Mbarrier {
    /// The expected arrivals of each later phase.
    expected: u32,
    pending: u32,
    /// The tx-count: bytes expected minus bytes completed.
    bytes: i64,
    /// Phases completed.
    pub phase: u64,
    /// The operation that initialized it.
    init: usize,
    /// Its number in the cluster, which selects the clock of the copies that complete on it.
    pub number: usize,
    /// What the arrivals of this and all earlier phases release; and what those up to the last completed phase release.
    pub arriving: View,
    done: View,
    /// The same for threads of other blocks: a wait with scope `.cta` does not acquire it.
    remote_arriving: View,
    remote_done: View,
    /// The last `expect_tx` and the last arrival.
    pub announced: Option<Site>,
    arrived: Option<Site>,
    /// The latest phase that was current when a wait ended.
    seen: u64,
    /// The first phase that ended although no wait had observed the end of the previous one, and the arrival that ended
    /// it.
    pub overrun: Option<(u64, Option<Site>)>,
    /// The issue step of the last copy that landed in this phase, and of the last one in the previous phase.
    pub issued: Option<u64>,
    copied: Option<u64>,
    /// The copies that have landed in this phase, and in the last completed one, if leads are recorded.
    pub bringing: Vec<Issue>,
    brought: Vec<Issue>,
    /// The warps that have arrived in these two phases, in ascending order, if leads are recorded.
    arriving_warps: Vec<Actor>,
    arrived_warps: Vec<Actor>,
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

    /// The 64 bits in memory, an opaque format: pending and expected arrivals, the phase, a marker bit.
    fn state(&self) -> u64 {
        u64::from(self.pending)
            | u64::from(self.expected) << 20
            | (self.phase & 0x7f_ffff) << 40
            | 1 << 63
    }

    /// The same as two words.
    fn words(&self) -> [u32; 2] {
        [self.state() as u32, (self.state() >> 32) as u32]
    }

    /// Checks that it has not been overwritten in memory.
    fn check(&self, at: u32, shared: &[u32]) -> Checked<()> {
        match shared[at as usize / 4..][..2] == self.words() {
            true => Ok(()),
            false => Err(Misuse(
                MbarrierMisuse::Overwritten,
                "it has been overwritten by something else".into(),
            )),
        }
    }

    pub fn note_arrival(&mut self, by: Actor) {
        if let Err(at) = self.arriving_warps.binary_search(&by) {
            self.arriving_warps.insert(at, by);
        }
    }

    pub fn arrive(&mut self, count: u32, drop: bool, no_complete: bool) -> Checked<()> {
        let (pending, phase) = (self.pending, self.phase);
        if count == 0 || count > pending {
            let bytes = match (pending, self.bytes) {
                (0, bytes @ 1..) => format!(", and for {bytes} bytes: the phase has not ended yet"),
                _ => String::new(),
            };
            let (of, overrun) = match count {
                0 => (MbarrierMisuse::Other, ""),
                _ if bytes.is_empty() => (MbarrierMisuse::Overrun, "phase overrun: "),
                _ => (MbarrierMisuse::EarlyArrival, "phase overrun: "),
            };
            let why = format!(
                "{overrun}{count} arrivals, but phase {phase} waits for {pending} more of {}{bytes}",
                self.expected
            );
            return Err(Misuse(of, why));
        }
        if no_complete && count == pending {
            return Err(
                format!("{count} arrivals with .noComplete would complete phase {phase}").into(),
            );
        }
        self.pending -= count;
        if drop {
            self.expected = self.expected.saturating_sub(count);
        }
        Ok(())
    }

    /// Adds expected bytes (positive) or completed bytes (negative) to the tx-count.
    pub fn transact(&mut self, bytes: i64) -> Checked<()> {
        self.bytes += bytes;
        if self.bytes.abs() > i64::from(MAX_COUNT) {
            return Err(format!(
                "a tx-count of {}; it must be from -{MAX_COUNT} to {MAX_COUNT}",
                self.bytes
            )
            .into());
        }
        Ok(())
    }

    /// Begins the next phase if the current one is complete; returns whether it was.
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
            self.arrived_warps = std::mem::take(&mut self.arriving_warps);
        }
        complete
    }

    /// The phase, if it ends as soon as this many bytes have landed, or fewer.
    pub fn may_end(&self, in_flight: i64) -> Option<u64> {
        (self.pending == 0 && self.bytes <= in_flight).then_some(self.phase)
    }

    /// Whether no arrival is pending but the tx-count is not zero, so that the phase cannot complete.
    pub fn is_stuck(&self) -> bool {
        self.pending == 0 && self.bytes != 0
    }

    /// At the end of the kernel: how the completed bytes differ from the expected ones.
    pub fn difference(&self) -> Option<String> {
        match self.bytes {
            0 => None,
            n @ 1.. => Some(format!("{n} of the expected bytes have not arrived")),
            n => Some(format!("{} bytes more than expected have arrived", -n)),
        }
    }

    /// Whether the phase has had an arrival.
    pub fn has_begun(&self) -> bool {
        self.pending < self.expected
    }

    /// The arrivals of the current phase.
    pub fn arrivals(&self, machine: &Machine<'_>) -> Arrivals {
        let warps = self.arriving_warps.iter();
        Arrivals {
            pending: self.pending,
            expected: self.expected,
            warps: warps.map(|&warp| machine.warp_name(warp)).collect(),
        }
    }

    /// Describes the current phase, and the arrivals and bytes it waits for.
    pub fn wanting(&self) -> String {
        format!("{}: {}", self.current(), self.pending())
    }

    /// Names the current phase.
    fn current(&self) -> String {
        format!("phase {} (parity {})", self.phase, self.phase % 2)
    }

    /// Describes what is pending in it.
    fn pending(&self) -> String {
        let bytes = match self.bytes {
            0 => String::new(),
            n @ 1.. => format!(", {n} bytes still expected"),
            n => format!(", {} bytes more than expected have arrived", -n),
        };
        format!(
            "{} of {} arrivals pending{bytes}",
            self.pending, self.expected
        )
    }
}

impl Execution<'_> {
    pub fn invalid_mbarrier(&mut self, Misuse(of, why): Misuse, site: Site) -> Fatal {
        self.report(FindingKind::InvalidMbarrier(of, why), site);
        Fatal
    }

    /// The rank of an mbarrier's block, and its shared address.
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
        // Any other address is reported as out of bounds of shared memory.
        self.locate(&LaneAccess::new(Space::Cluster, address, 8, site), verb)?;
        Err(Fatal)
    }

    /// Applies a change to an mbarrier, and begins the next phase if that completes the current one. It is an error if
    /// there is no mbarrier at this address.
    pub fn change_mbarrier<T>(
        &mut self,
        rank: usize,
        at: u32,
        change: impl FnOnce(&mut Mbarrier, &mut HappensBefore) -> Checked<T>,
    ) -> Checked<T> {
        let program = self.machine.program;
        let (block, order) = self.block_and_order(rank);
        let Some(block) = block else {
            return Err(format!("the cluster has no block {rank}").into());
        };
        let found = block.mbarriers.get_mut(&at);
        let barrier = found.ok_or_else(|| missing(program, at))?;
        let checked = barrier.check(at, &block.shared);
        let result = match checked.and_then(|()| change(barrier, order)) {
            Ok(result) => result,
            Err(misuse) => return Err(misuse.of(&name(program, &block.mbarriers, at))),
        };
        if barrier.turn() {
            block.phases += 1;
        }
        block.shared[at as usize / 4..][..2].copy_from_slice(&barrier.words());
        block.activity += 1;
        Ok(result)
    }

    /// Reports to the sanitizer that these lanes of a warp use an mbarrier.
    fn check_mbarrier_by_lanes(
        &mut self,
        rank: usize,
        at: u32,
        active: u32,
        site: impl Fn(usize) -> Site,
    ) {
        // A lane knows at least what its warp knows. So if the warp's view suffices, there is no finding; otherwise each lane is
        // checked with its own view.
        let warp = site(0).warp;
        let (block, order) = self.block_and_order(rank);
        let shadow = block.and_then(|block| block.shadow.as_ref());
        let (Some(shadow), Some(observer)) = (shadow, order.observer(warp, 0)) else {
            return;
        };
        if !matches!(shadow.use_mbarrier(at, false, &observer), AccessCheck::Fine) {
            lanes(active).for_each(|lane| self.check_mbarrier(rank, at, false, site(lane)));
        }
    }

    /// Reports to the sanitizer that a lane of a warp, or the async proxy on its behalf, uses an mbarrier.
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

fn missing(program: &Program, at: u32) -> Misuse {
    let place = name(program, &BTreeMap::new(), at);
    let why = format!("there is no mbarrier at {place}: not initialized, or invalidated");
    Misuse::absent(why)
}
