//! Counters while a kernel runs. Warps repeat themselves: the pattern of an instruction's addresses is
//! remembered with what it cost, and only a new pattern is worked out.
use std::collections::{BTreeMap, BTreeSet};

use super::global_pattern::{GlobalPattern, Placed};
use crate::banks::{LANES, SharedAccess, shared_wavefronts};
use crate::memory::Memory;
use crate::{AccessPattern, Counters, Space, Wait, Wavefronts};

pub(super) struct Profiler {
    /// One for each operation.
    pub ops: Vec<Counters>,
    /// By operation and mbarrier.
    pub waits: BTreeMap<(usize, Option<u32>), Wait>,
    /// Every pattern once, if that was asked for; the instruction is an operation here.
    pub patterns: Option<BTreeSet<AccessPattern>>,
    shared: Vec<SharedPattern>,
    global: Vec<GlobalPattern>,
}

/// Patterns that are kept of a launch: any kernel of ours has far fewer.
const MOST_PATTERNS: usize = 1 << 16;

/// The last pattern of a shared-memory instruction. Moving all addresses by a multiple of 128 bytes
/// changes neither banks nor distinct words, so they are kept relative to one.
#[derive(Clone, Default)]
struct SharedPattern {
    active: u32,
    relative: [u32; LANES],
    cost: Wavefronts,
}

/// A warp's access to memory.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub op: usize,
    pub slot: u32,
    pub space: Space,
    pub bytes: u32,
    pub kind: SharedAccess,
}

impl Request {
    pub fn new(op: usize, slot: u32, space: Space, bytes: u32, kind: SharedAccess) -> Self {
        Self {
            op,
            slot,
            space,
            bytes,
            kind,
        }
    }
}

impl Profiler {
    pub fn new(ops: usize, slots: usize, patterns: bool) -> Self {
        Self {
            patterns: patterns.then(BTreeSet::new),
            ops: vec![Counters::default(); ops],
            waits: BTreeMap::new(),
            shared: vec![SharedPattern::default(); slots],
            global: vec![GlobalPattern::default(); slots],
        }
    }

    /// Addresses of inactive lanes must be those of an active one.
    #[inline(always)]
    pub fn shared(&mut self, request: Request, addresses: &[u32; LANES], active: u32) {
        let Request {
            op, bytes, kind, ..
        } = request;
        let base = addresses[0] & !127;
        let pattern = &mut self.shared[request.slot as usize];
        let mut differs = 0;
        for i in 0..LANES {
            differs |= addresses[i].wrapping_sub(base) ^ pattern.relative[i];
        }
        if pattern.active != active || differs != 0 {
            pattern.active = active;
            pattern.relative = addresses.map(|address| address.wrapping_sub(base));
            pattern.cost = shared_wavefronts(kind, bytes, addresses, active);
            keep(&mut self.patterns, || AccessPattern {
                instruction: op,
                shared: Some(kind),
                bytes,
                offsets: offsets(&addresses.map(u64::from), active),
            });
        }
        let counters = &mut self.ops[op];
        counters.bytes += u64::from(bytes * active.count_ones());
        counters.shared += pattern.cost;
    }

    /// Addresses of inactive lanes must be those of an active one.
    #[inline(always)]
    pub fn global(&mut self, request: Request, addresses: &[u64; LANES], active: u32) {
        self.see_global(request, addresses, active);
        self.count_global(request, active);
    }

    /// Counts an access that lies in one allocation and is aligned, and says where; else it does nothing. Addresses
    /// of inactive lanes must be those of an active one.
    #[inline(always)]
    pub fn global_in_one(
        &mut self,
        request: Request,
        addresses: &[u64; LANES],
        active: u32,
        memory: &Memory,
    ) -> Option<Placed> {
        self.see_global(request, addresses, active);
        let pattern = &mut self.global[request.slot as usize];
        let placed = pattern.place(addresses[0], request.bytes, memory)?;
        self.count_global(request, active);
        Some(placed)
    }

    #[inline(always)]
    fn see_global(&mut self, request: Request, addresses: &[u64; LANES], active: u32) {
        let Request { op, bytes, .. } = request;
        if self.global[request.slot as usize].update(bytes, addresses, active) {
            keep(&mut self.patterns, || AccessPattern {
                instruction: op,
                shared: None,
                bytes,
                offsets: offsets(addresses, active),
            });
        }
    }

    #[inline(always)]
    fn count_global(&mut self, request: Request, active: u32) {
        let cost = self.global[request.slot as usize].cost;
        let counters = &mut self.ops[request.op];
        counters.bytes += u64::from(request.bytes * active.count_ones());
        counters.global_requests += 1;
        counters.global_sectors += cost.0;
        counters.global_sectors_ideal += cost.1;
    }

    /// A bulk copy: the bytes of its whole tile, and the sectors of the rows (address, bytes) inside the tensor.
    /// Neighbouring rows may share a sector, which TMA asks for once. It makes no request of the kind that the
    /// hardware counts for loads and stores, and its shared side has no wavefronts: none were measured.
    pub fn bulk(&mut self, op: usize, bytes: u32, rows: &[(u64, u32)]) {
        let counters = &mut self.ops[op];
        counters.bytes += u64::from(bytes);
        let (mut inside, mut next) = (0, 0);
        for &(address, bytes) in rows {
            let (first, end) = (address / 32, (address + u64::from(bytes)).div_ceil(32));
            counters.global_sectors += end - if first + 1 == next { next } else { first };
            (inside, next) = (inside + u64::from(bytes), end);
        }
        counters.global_sectors_ideal += inside.div_ceil(32);
    }

    pub fn add(&mut self, other: &Profiler) {
        for (a, b) in self.ops.iter_mut().zip(&other.ops) {
            *a += *b;
        }
        for (&at, wait) in &other.waits {
            *self.waits.entry(at).or_default() += *wait;
        }
        if let (Some(patterns), Some(other)) = (&mut self.patterns, &other.patterns) {
            patterns.extend(other.iter().cloned());
        }
    }
}

#[inline(never)]
fn keep(patterns: &mut Option<BTreeSet<AccessPattern>>, new: impl FnOnce() -> AccessPattern) {
    if let Some(patterns) = patterns
        .as_mut()
        .filter(|patterns| patterns.len() < MOST_PATTERNS)
    {
        patterns.insert(new());
    }
}

/// Counted from the 128 bytes that the lowest address lies in.
fn offsets(addresses: &[u64; LANES], active: u32) -> [Option<u64>; LANES] {
    let is_active = |lane: usize| active >> lane & 1 == 1;
    let asking = (0..LANES).filter(|&lane| is_active(lane));
    let base = asking.map(|lane| addresses[lane]).min().unwrap_or(0) & !127;
    std::array::from_fn(|lane| is_active(lane).then(|| addresses[lane] - base))
}
