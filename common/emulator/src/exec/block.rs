//! One thread block: its warps, its shared memory, its barriers.
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, VecDeque};

use super::bulk::Transfer;
use super::lanes::lanes;
use super::lookahead::Lookahead;
use super::machine::Machine;
use super::mbarrier::Mbarrier;
use super::setmaxnreg::Registers;
use super::warp::{State, Warp};
use super::warpgroup::{WARPS, Warpgroup};
use crate::Printed;
use crate::finding::Findings;
use crate::happens_before::{Actor, HappensBefore, SyncVariable, View};
use crate::memory::Writes;
use crate::op::{Code, Reduction, SyncOp};
use crate::shadow::{Shadow, Site};

/// The state that warps of a block share.
#[derive(Default)]
pub(super) struct Block {
    pub index: [u32; 3],
    /// mbarriers by shared address, and the number of phases that they have completed together.
    pub mbarriers: BTreeMap<u32, Mbarrier>,
    pub phases: u64,
    /// Addresses where mbarriers have been and nothing else; of one that was invalidated, [`Shadow::last_writes`] then.
    pub only_mbarriers: BTreeMap<u32, u64>,
    pub registers: Registers,
    /// Threads of other blocks that have accessed its shared memory, with the epoch; tracked under `sanitize`.
    pub visitors: BTreeMap<Site, u32>,
    /// The view of its threads when they exited.
    pub exit: View,
    /// Shared memory in 4-byte words, from the start of its window.
    pub shared: Vec<u32>,
    pub barriers: Vec<BarrierState>,
    /// One for every four warps; empty if the kernel has no `wgmma`.
    pub warpgroups: Vec<Warpgroup>,
    pub findings: Findings,
    /// Present under `sanitize`.
    pub shadow: Option<Shadow>,
    /// Threads that have not exited.
    pub alive: u32,
    /// Number of stores to the block's own memory so far, to detect whether anything happens at all.
    pub activity: u64,
}

/// One of a block's 16 barriers.
#[derive(Clone, Default)]
pub(super) struct BarrierState {
    /// Threads that have arrived.
    pub arrived: u32,
    /// The expected number of threads, if an instruction names it.
    pub threads: Option<u32>,
    /// Threads that wait, and how many of them voted yes.
    pub waiting: u32,
    pub yes: u32,
    /// What the arrived threads release.
    pub view: View,
}

pub(super) const BARRIERS: usize = 16;

impl Block {
    /// Prepares it for the launch's block `index`.
    pub fn reset(&mut self, machine: &Machine<'_>, index: [u32; 3], rank: usize) {
        let (bytes, warps) = (machine.shared_end, machine.warps);
        let mut shared = std::mem::take(&mut self.shared);
        shared.clear();
        shared.resize(bytes.div_ceil(4) as usize, 0);
        let warpgroups = match machine.program.watched.is_empty() {
            true => 0,
            false => warps / WARPS,
        };
        let shadow = || Shadow::new(bytes as usize, rank * warps, warps, machine.program.grain);
        *self = Self {
            index,
            registers: Registers::new(machine),
            shared,
            barriers: vec![BarrierState::default(); BARRIERS],
            warpgroups: (0..warpgroups).map(|_| Warpgroup::default()).collect(),
            shadow: machine.options.sanitize.then(shadow),
            alive: machine.threads as u32,
            ..Self::default()
        };
    }

    /// What was last written to the bytes of an mbarrier, as far as it is tracked.
    pub fn last_writes(&self, mbarrier: u32) -> u64 {
        let shadow = self.shadow.as_ref();
        shadow.map_or(0, |shadow| shadow.last_writes(mbarrier, 8))
    }

    /// How many mbarriers it has had whose bytes held nothing else.
    pub fn count_only_mbarriers(&self) -> u32 {
        let all = self.only_mbarriers.iter();
        let is_one = |(at, known): &(&u32, &u64)| {
            self.mbarriers.contains_key(at) || self.last_writes(**at) == **known
        };
        all.filter(is_one).count() as u32
    }
}

/// Releases the warps at every barrier that is complete.
pub(super) fn release_barriers(
    machine: &Machine<'_>,
    block: &mut Block,
    warps: &mut [Warp],
    order: &mut HappensBefore,
) {
    for number in 0..BARRIERS {
        let state = &block.barriers[number];
        let expected = state.threads.unwrap_or(block.alive);
        if state.arrived == 0 || state.arrived < expected {
            continue;
        }
        let state = std::mem::take(&mut block.barriers[number]);
        for warp in warps.iter_mut() {
            let mut waited = 0;
            for i in 0..warp.splits.len() {
                if warp.splits[i].state != State::Barrier(number as u32) {
                    continue;
                }
                let (pc, mask) = (warp.splits[i].pc, warp.splits[i].mask);
                waited |= mask;
                if let Code::Sync(SyncOp::Barrier(barrier)) = &machine.program.ops[pc as usize].code
                    && let Some((op, d, ..)) = barrier.reduce
                {
                    let result = match op {
                        Reduction::Popc => state.yes,
                        Reduction::And => u32::from(state.yes == state.waiting),
                        Reduction::Or => u32::from(state.yes > 0),
                    };
                    for lane in lanes(mask) {
                        warp.set(d, lane, result.into());
                    }
                }
                warp.splits[i].pc += 1;
                warp.splits[i].state = State::Ready;
            }
            if waited != 0 {
                order.acquire(warp.actor, waited, warp.alive, &state.view);
            }
        }
    }
}

/// The state that the blocks of a cluster share.
#[derive(Default)]
pub(super) struct Common {
    /// Bulk copies in flight, in the order of their issue.
    pub in_flight: VecDeque<Transfer>,
    /// For each bulk tensor load that has been executed, the width of its tensor map's swizzle in bytes; `None` if it
    /// varies.
    pub swizzles: BTreeMap<usize, Option<u32>>,
    /// Whether a warp stops before it communicates with other clusters.
    pub parks: bool,
    /// mbarriers initialized so far.
    pub mbarriers: usize,
    /// The output of its threads' `printf`s.
    pub printed: Vec<Printed>,
    /// `try_wait`s that returned false, and the lanes that have not waited again.
    pub unheeded: Vec<Unheeded>,
    /// By `try_wait`: the warp for which it returns false for long, and how often it still does. Only in the first cluster.
    pub long_hesitations: Option<BTreeMap<usize, (Actor, u32)>>,
    /// What strong writes to shared memory released, by rank and address; tracked under `sanitize`.
    pub flags: HashMap<(usize, u32), SyncVariable>,
    /// Instructions that all warps except the running one have executed.
    pub others: u64,
    /// Present if requested; use [`Self::lookahead`].
    pub copies: Option<Box<Lookahead>>,
    /// The cluster's barrier: whether an arrival has not been processed, what the arrived threads release,
    /// and what they released in the last phase.
    pub arrived: bool,
    pub arriving: View,
    pub released: View,
}

/// A `try_wait` that returned before its phase was complete.
pub(super) struct Unheeded {
    /// Lanes that have not waited for the phase since.
    pub lanes: u32,
    pub mbarrier: u32,
    pub site: Site,
}

/// The state that a running warp may access.
pub(super) struct Execution<'a> {
    pub machine: &'a Machine<'a>,
    /// The warp's own block, and its rank in the cluster.
    pub block: &'a mut Block,
    pub rank: usize,
    /// The cluster's blocks of lower and of higher rank.
    pub peers: [&'a mut [Block]; 2],
    pub common: &'a mut Common,
    pub order: &'a mut HappensBefore,
    pub writes: &'a mut Writes,
    pub profiler: &'a mut super::profiler::Profiler,
}

impl Common {
    /// The records of copies and products, if requested. The book's pages never request them, so their module does without.
    #[inline(always)]
    pub fn lookahead(&mut self) -> Option<&mut Lookahead> {
        if cfg!(target_family = "wasm") {
            return None;
        }
        self.copies.as_deref_mut()
    }
}

impl Execution<'_> {
    /// Lets the caller of the launch see, and change, what the block's shared memory holds ([`crate::Options::before_load`]).
    #[inline(always)]
    pub fn before_load(&mut self) {
        // Not in WebAssembly, to keep the download small.
        if !cfg!(target_family = "wasm")
            && let Some(change) = &self.machine.options.before_load
        {
            change(self.block.index, &mut self.block.shared);
        }
    }

    /// A block of the cluster.
    pub fn block_of(&mut self, rank: usize) -> Option<&mut Block> {
        self.block_and_order(rank).0
    }

    pub fn block_and_order(&mut self, rank: usize) -> (Option<&mut Block>, &mut HappensBefore) {
        let [lower, higher] = &mut self.peers;
        let block = match rank.cmp(&self.rank) {
            Ordering::Less => lower.get_mut(rank),
            Ordering::Equal => Some(&mut *self.block),
            Ordering::Greater => higher.get_mut(rank - self.rank - 1),
        };
        (block, self.order)
    }

    /// `blockIdx` of a block of the cluster.
    pub fn index_of(&self, rank: usize) -> [u32; 3] {
        let block = match rank.cmp(&self.rank) {
            Ordering::Less => self.peers[0].get(rank),
            Ordering::Equal => Some(&*self.block),
            Ordering::Greater => self.peers[1].get(rank - self.rank - 1),
        };
        block.map_or(self.block.index, |block| block.index)
    }
}
