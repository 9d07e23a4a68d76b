//! Counters while a kernel runs. Warps repeat themselves: the pattern of an instruction's addresses is
//! remembered with what it cost, and only a new pattern is worked out.
use std::collections::{BTreeMap, BTreeSet};

use crate::banks::{LANES, SharedAccess, global_sectors, shared_wavefronts};
use crate::{Asked, Counters, Wait, Wavefronts};

pub(super) struct Tally {
    /// One for each operation.
    pub ops: Vec<Counters>,
    /// By operation and mbarrier.
    pub waits: BTreeMap<(usize, Option<u32>), Wait>,
    /// Every pattern once, if that was asked for; the instruction is an operation here.
    pub asked: Option<BTreeSet<Asked>>,
    shared: Vec<SharedPattern>,
    global: Vec<GlobalPattern>,
}

/// Patterns that are kept of a launch: any kernel of ours has far fewer.
const MOST_PATTERNS: usize = 1 << 16;

/// The last pattern of a shared-memory instruction. Moving all addresses by a multiple of 128 bytes
/// changes neither banks nor distinct words, so they are kept relative to one.
#[derive(Clone)]
struct SharedPattern {
    active: u32,
    relative: [u32; LANES],
    cost: Wavefronts,
}

/// The same for global memory and its 32-byte sectors.
#[derive(Clone)]
struct GlobalPattern {
    active: u32,
    relative: [u64; LANES],
    cost: (u64, u64),
}

impl Tally {
    pub fn new(ops: usize, slots: usize, patterns: bool) -> Self {
        Self {
            asked: patterns.then(BTreeSet::new),
            ops: vec![Counters::default(); ops],
            waits: BTreeMap::new(),
            shared: vec![
                SharedPattern {
                    active: 0,
                    relative: [0; LANES],
                    cost: Wavefronts::default()
                };
                slots
            ],
            global: vec![
                GlobalPattern {
                    active: 0,
                    relative: [0; LANES],
                    cost: (0, 0)
                };
                slots
            ],
        }
    }

    /// Addresses of inactive lanes must be those of an active one.
    #[inline(always)]
    pub fn shared(
        &mut self,
        op: usize,
        slot: u32,
        access: SharedAccess,
        bytes: u32,
        addresses: &[u32; LANES],
        active: u32,
    ) {
        let base = addresses[0] & !127;
        let mut relative = [0; LANES];
        for i in 0..LANES {
            relative[i] = addresses[i].wrapping_sub(base);
        }
        let pattern = &mut self.shared[slot as usize];
        if pattern.active != active || pattern.relative != relative {
            pattern.active = active;
            pattern.relative = relative;
            pattern.cost = shared_wavefronts(access, bytes, addresses, active);
            keep(&mut self.asked, || Asked {
                instruction: op,
                shared: Some(access),
                bytes,
                offsets: offsets(&addresses.map(u64::from), active),
            });
        }
        let counters = &mut self.ops[op];
        counters.bytes += u64::from(bytes * active.count_ones());
        counters.shared.wavefronts += pattern.cost.wavefronts;
        counters.shared.ideal += pattern.cost.ideal;
        counters.shared.conflicts += pattern.cost.conflicts;
    }

    /// Addresses of inactive lanes must be those of an active one.
    #[inline(always)]
    pub fn global(
        &mut self,
        op: usize,
        slot: u32,
        bytes: u32,
        addresses: &[u64; LANES],
        active: u32,
    ) {
        let base = addresses[0] & !31;
        let mut relative = [0; LANES];
        for i in 0..LANES {
            relative[i] = addresses[i].wrapping_sub(base);
        }
        let pattern = &mut self.global[slot as usize];
        if pattern.active != active || pattern.relative != relative {
            pattern.active = active;
            pattern.relative = relative;
            pattern.cost = global_sectors(bytes, addresses, active);
            keep(&mut self.asked, || Asked {
                instruction: op,
                shared: None,
                bytes,
                offsets: offsets(addresses, active),
            });
        }
        let counters = &mut self.ops[op];
        counters.bytes += u64::from(bytes * active.count_ones());
        counters.global_requests += 1;
        counters.global_sectors += pattern.cost.0;
        counters.global_sectors_ideal += pattern.cost.1;
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

    pub fn add(&mut self, other: &Tally) {
        for (a, b) in self.ops.iter_mut().zip(&other.ops) {
            *a += *b;
        }
        for (&at, wait) in &other.waits {
            *self.waits.entry(at).or_default() += *wait;
        }
        if let (Some(asked), Some(other)) = (&mut self.asked, &other.asked) {
            asked.extend(other.iter().cloned());
        }
    }
}

#[inline(never)]
fn keep(asked: &mut Option<BTreeSet<Asked>>, new: impl FnOnce() -> Asked) {
    if let Some(asked) = asked.as_mut().filter(|asked| asked.len() < MOST_PATTERNS) {
        asked.insert(new());
    }
}

/// Counted from the 128 bytes that the lowest address lies in.
fn offsets(addresses: &[u64; LANES], active: u32) -> [Option<u64>; LANES] {
    let is_active = |lane: usize| active >> lane & 1 == 1;
    let asking = (0..LANES).filter(|&lane| is_active(lane));
    let base = asking.map(|lane| addresses[lane]).min().unwrap_or(0) & !127;
    std::array::from_fn(|lane| is_active(lane).then(|| addresses[lane] - base))
}
