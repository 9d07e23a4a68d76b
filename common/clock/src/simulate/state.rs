//! The state of an SM: its warps, barriers, pipes and pending events.
use std::cmp::Ordering;
use std::collections::VecDeque;

use rustc_hash::FxHashMap as HashMap;

use super::{PARTITIONS, Program, SCOREBOARDS};
use crate::class::{PIPES, Pipe};
use crate::memory::Memory;
use crate::stall::Stall;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Item {
    /// Arrivals at an mbarrier, and bytes that are expected (positive) or have arrived (negative).
    Arrive {
        cta: usize,
        at: u32,
        count: u32,
        bytes: i64,
    },
    /// The SM has a free CTA slot.
    Refill,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Due {
    pub(super) time: f64,
    pub(super) order: u64,
    pub(super) item: Item,
}

impl Eq for Due {}
impl Ord for Due {
    fn cmp(&self, other: &Self) -> Ordering {
        other
            .time
            .total_cmp(&self.time)
            .then(other.order.cmp(&self.order))
    }
}
impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Due {
    /// Whether it is due before the warp.
    pub(super) fn is_before(self, warp: DueWarp) -> bool {
        (time_bits(self.time), self.order) < ((warp.0 >> 64) as u64, warp.order())
    }
}

/// A warp that is due: the bits of its time, the order of what is due at the same time, and the warp's number. As one integer, it is
/// compared without a branch; the simulation spends much of its time on that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DueWarp(u128);

const WARP_BITS: u32 = 24;

impl DueWarp {
    pub(super) fn new(time: f64, order: u64, warp: usize) -> Self {
        debug_assert!(warp >> WARP_BITS == 0 && order >> (64 - WARP_BITS) == 0);
        let low = order << WARP_BITS | warp as u64;
        Self(u128::from(time_bits(time)) << 64 | u128::from(low))
    }

    pub(super) fn time(self) -> f64 {
        f64::from_bits((self.0 >> 64) as u64)
    }

    fn order(self) -> u64 {
        self.0 as u64 >> WARP_BITS
    }

    pub(super) fn warp(self) -> usize {
        self.0 as usize & ((1 << WARP_BITS) - 1)
    }
}

/// Bits in the order of the times, which are not negative.
fn time_bits(time: f64) -> u64 {
    time.max(0.0).to_bits()
}

/// When an instruction's operands are ready, and what it waits for until then.
#[derive(Clone, Copy)]
pub(super) struct Operands {
    pub(super) at: f64,
    pub(super) why: Stall,
}

pub(super) struct Warp<'a> {
    pub(super) program: &'a Program<'a>,
    pub(super) cta: usize,
    pub(super) index: usize,
    pub(super) at: usize,
    /// When the previous instruction issued, and the earliest time of the next.
    pub(super) issued: f64,
    pub(super) next: f64,
    /// When the event that it was parked for happened, and the stall reason.
    pub(super) released: f64,
    pub(super) why: Stall,
    /// When the next instruction's operands are ready; computed once per instruction.
    pub(super) operands: Option<Operands>,
    pub(super) boards: [f64; SCOREBOARDS],
    pub(super) board_why: [Stall; SCOREBOARDS],
    /// When the `cp.async` copies of the open group complete; the committed groups; those of bulk copies.
    pub(super) open_copies: f64,
    pub(super) copies: Vec<f64>,
    pub(super) open_bulk: f64,
    pub(super) bulk: Vec<f64>,
    pub(super) waits_bulk: bool,
    /// `wgmma`s that it has issued, and their number at the end of each group.
    pub(super) wgmmas: usize,
    pub(super) groups: Vec<usize>,
}

#[derive(Default)]
pub(super) struct Barrier {
    pub(super) arrived: u32,
    pub(super) parked: Vec<usize>,
}

#[derive(Default)]
pub(super) struct Mbarrier {
    pub(super) expected: u32,
    pub(super) pending: i64,
    pub(super) bytes: i64,
    pub(super) phase: u64,
    /// When the phase began.
    pub(super) since: f64,
    pub(super) parked: Vec<MbarrierWait>,
}

/// A warp that polls an mbarrier.
#[derive(Clone, Copy)]
pub(super) struct MbarrierWait {
    pub(super) warp: usize,
    /// The parity that it waits for.
    pub(super) parity: u32,
    /// When it polled first.
    pub(super) since: f64,
}

#[derive(Default)]
pub(super) struct Warpgroup {
    /// For each `wgmma`, how many warps have issued it, and the clocks that it takes.
    pub(super) arrived: Vec<(usize, f64)>,
    /// When each completes.
    pub(super) ends: Vec<f64>,
    pub(super) parked: Vec<(usize, usize)>,
}

pub(super) struct Cta {
    pub(super) sm: usize,
    pub(super) cluster: usize,
    pub(super) number: u32,
    pub(super) threads: u32,
    pub(super) alive: usize,
    pub(super) barriers: HashMap<u32, Barrier>,
    pub(super) mbarriers: HashMap<u32, Mbarrier>,
    pub(super) warpgroups: Vec<Warpgroup>,
    /// Whether TMA has fetched its tensor maps. Several are fetched at the same time.
    pub(super) has_map: bool,
}

pub(super) struct ClusterState {
    pub(super) ctas: Vec<usize>,
    pub(super) alive: usize,
    pub(super) arrived: usize,
    pub(super) warps: usize,
    /// Completed barriers, when the last one completed, and waiting warps.
    pub(super) phase: u64,
    pub(super) at: f64,
    pub(super) parked: Vec<usize>,
    pub(super) number: usize,
}

pub(super) struct Sm {
    pub(super) slot_free: [f64; PARTITIONS],
    pub(super) pipe_free: [[f64; PIPES]; PARTITIONS],
    pub(super) queue: [VecDeque<f64>; PARTITIONS],
    /// When the latest accesses to the data pipe of shared memory and the L1 begin, as many as its queue holds.
    pub(super) starts: VecDeque<f64>,
    pub(super) data_free: f64,
    pub(super) memory: Memory,
    pub(super) tma_free: f64,
    pub(super) arrivals_free: f64,
    /// When all bulk copies issued so far have landed.
    pub(super) bulk_landed: f64,
}

impl Sm {
    /// Which half of the FMA pipe gets an instruction that both can execute.
    pub(super) fn free_half(&self, partition: usize, time: f64) -> Pipe {
        let free = &self.pipe_free[partition];
        let (light, heavy) = (free[Pipe::Fma as usize], free[Pipe::FmaHeavy as usize]);
        match light > time && heavy < light {
            true => Pipe::FmaHeavy,
            false => Pipe::Fma,
        }
    }
}
