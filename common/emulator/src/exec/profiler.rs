//! Counters of a running kernel. Warps repeat the same patterns of addresses, so the cost of a pattern
//! is cached for each instruction.
use std::collections::{BTreeMap, BTreeSet};

use super::global_pattern::{GlobalPattern, Placed};
use crate::banks::{LANES, SharedAccess, shared_wavefronts};
use crate::lower::SHARED_BASE;
use crate::memory::Memory;
use crate::trace::{Effect, Tracer};
use crate::{AccessPattern, CopyLead, Counters, MatrixFactors, Options, Space, Wait, Wavefronts};

pub(super) struct Profiler {
    /// One for each operation.
    pub ops: Vec<Counters>,
    /// By operation and mbarrier.
    pub waits: BTreeMap<(usize, Option<u32>), Wait>,
    /// Every pattern once, if requested; here `instruction` is the index of an operation.
    pub patterns: Option<BTreeSet<AccessPattern>>,
    /// The last few patterns of each shared-memory instruction: the warps of a block are interleaved, and in a
    /// swizzled tile each may have its own pattern.
    shared: Vec<SharedPattern>,
    older: Vec<Vec<SharedPattern>>,
    global: Vec<GlobalPattern>,
    /// The factors of matrix products, and the leads of copies, if requested.
    pub factors: Option<Vec<MatrixFactors>>,
    pub leads: Vec<CopyLead>,
    /// The most mbarriers that a block has had in bytes that held nothing else.
    pub mbarriers: u32,
    /// Bytes that threads loaded from shared memory and had stored there themselves, if requested.
    pub own_loads: u64,
    /// Present if a trace or a snapshot is requested.
    pub tracer: Option<Box<Tracer>>,
}

/// The most patterns recorded in a launch; every kernel of this project has far fewer.
const MOST_PATTERNS: usize = 1 << 16;

/// Patterns of an instruction that are cached besides the last one.
const OLDER_PATTERNS: usize = 3;

/// A pattern of a shared-memory instruction. Moving all addresses by a multiple of 128 bytes
/// changes neither banks nor distinct words, so they are stored relative to one of them.
#[derive(Clone, Default)]
struct SharedPattern {
    active: u32,
    relative: [u32; LANES],
    cost: Wavefronts,
    /// The lowest and the highest address, also relative.
    low: i64,
    high: i64,
    /// The bits that are set in any address.
    bits: u32,
}

impl SharedPattern {
    #[inline(never)]
    fn new(kind: SharedAccess, bytes: u32, addresses: &[u32; LANES], active: u32) -> Self {
        let base = addresses[0] & !127;
        let (mut low, mut high, mut bits) = (i64::MAX, i64::MIN, 0);
        for &address in addresses {
            let relative = i64::from(address) - i64::from(base);
            (low, high, bits) = (low.min(relative), high.max(relative), bits | address);
        }
        Self {
            active,
            relative: addresses.map(|address| address.wrapping_sub(base)),
            cost: shared_wavefronts(kind, bytes, addresses, active),
            low,
            high,
            bits,
        }
    }

    #[inline(always)]
    fn is_of(&self, addresses: &[u32; LANES], active: u32) -> bool {
        let base = addresses[0] & !127;
        let mut differs = 0;
        for i in 0..LANES {
            differs |= addresses[i].wrapping_sub(base) ^ self.relative[i];
        }
        differs == 0 && self.active == active
    }

    /// Whether the pattern, if it begins at `base`, is aligned and within a block's shared memory.
    #[inline(always)]
    fn fits(&self, base: u32, bytes: u32, end: u32) -> bool {
        let base = i64::from(base);
        self.bits & (bytes - 1) == 0
            && base + self.low >= i64::from(SHARED_BASE)
            && base + self.high + i64::from(bytes) <= i64::from(end)
    }
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
    /// Whether the factors of matrix products are kept. The book's pages never ask for them, so their module does without.
    #[inline(always)]
    pub fn keeps_factors(&self) -> bool {
        !cfg!(target_family = "wasm") && self.factors.is_some()
    }

    pub fn new(ops: usize, slots: usize, options: &Options) -> Self {
        let (trace, snapshot) = (options.trace.as_ref(), options.snapshot.as_ref());
        let is_traced = trace.is_some() || snapshot.is_some();
        Self {
            tracer: is_traced.then(|| Box::new(Tracer::new(trace, snapshot))),
            patterns: options.patterns.then(BTreeSet::new),
            factors: options.factors.then(Vec::new),
            leads: Vec::new(),
            mbarriers: 0,
            own_loads: 0,
            ops: vec![Counters::default(); ops],
            waits: BTreeMap::new(),
            shared: vec![SharedPattern::default(); slots],
            older: vec![Vec::new(); slots],
            global: vec![GlobalPattern::default(); slots],
        }
    }

    /// Inactive lanes must have the address of an active one.
    #[inline(always)]
    pub fn shared(&mut self, request: Request, addresses: &[u32; LANES], active: u32) {
        let Request {
            op, bytes, kind, ..
        } = request;
        let pattern = &mut self.shared[request.slot as usize];
        if !pattern.is_of(addresses, active) {
            let older = &mut self.older[request.slot as usize];
            let known = older
                .iter_mut()
                .find(|older| older.is_of(addresses, active));
            match known {
                Some(known) => std::mem::swap(pattern, known),
                None => {
                    let new = SharedPattern::new(kind, bytes, addresses, active);
                    older.truncate(OLDER_PATTERNS - 1);
                    older.insert(0, std::mem::replace(pattern, new));
                    keep(&mut self.patterns, || AccessPattern {
                        instruction: op,
                        shared: Some(kind),
                        bytes,
                        offsets: offsets(&addresses.map(u64::from), active),
                    });
                }
            }
        }
        let counters = &mut self.ops[op];
        counters.bytes += u64::from(bytes * active.count_ones());
        counters.shared += pattern.cost;
        let wavefronts = pattern.cost.wavefronts as u32;
        self.effect(|| Effect::Shared { wavefronts });
    }

    /// Counts the access of a full warp if its addresses, these registers plus an offset, have the instruction's
    /// last pattern, are aligned and below `end`; otherwise does nothing. It avoids computing the addresses.
    #[inline(always)]
    pub fn shared_repeats(
        &mut self,
        request: Request,
        registers: &[u32; LANES],
        offset: u32,
        end: u32,
    ) -> bool {
        if self.tracer.is_some() {
            return false;
        }
        let pattern = &self.shared[request.slot as usize];
        let base = registers[0].wrapping_add(offset) & !127;
        let shift = base.wrapping_sub(offset);
        let mut differs = 0;
        for i in 0..LANES {
            differs |= registers[i].wrapping_sub(shift) ^ pattern.relative[i];
        }
        let repeats =
            differs == 0 && pattern.active == u32::MAX && pattern.fits(base, request.bytes, end);
        if repeats {
            let counters = &mut self.ops[request.op];
            counters.bytes += u64::from(request.bytes) * LANES as u64;
            counters.shared += pattern.cost;
        }
        repeats
    }

    /// Inactive lanes must have the address of an active one.
    #[inline(always)]
    pub fn global(&mut self, request: Request, addresses: &[u64; LANES], active: u32) {
        self.see_global(request, addresses, active);
        self.count_global(request, active);
    }

    /// Counts an aligned access within one allocation and returns its location; otherwise does nothing. Inactive
    /// lanes must have the address of an active one.
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

    /// The same for a full warp whose addresses, these registers plus an offset, have the instruction's last pattern,
    /// in an allocation that `may` accepts.
    #[inline(always)]
    pub fn global_repeats(
        &mut self,
        request: Request,
        registers: &[u64; LANES],
        offset: i64,
        memory: &Memory,
        may: impl Fn(usize) -> bool,
    ) -> Option<Placed> {
        let pattern = &mut self.global[request.slot as usize];
        if self.tracer.is_some() || !pattern.repeats(registers, offset) {
            return None;
        }
        let first = registers[0].wrapping_add_signed(offset);
        let placed = pattern
            .place(first, request.bytes, memory)
            .filter(|placed| may(placed.allocation))?;
        self.count_global(request, u32::MAX);
        Some(placed)
    }

    #[inline(always)]
    fn see_global(&mut self, request: Request, addresses: &[u64; LANES], active: u32) {
        let Request { op, bytes, .. } = request;
        if let Some(tracer) = &mut self.tracer {
            tracer.global(bytes, addresses, active);
        }
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
    /// Neighboring rows may share a sector, which TMA requests once. It makes none of the requests that the
    /// hardware counts for loads and stores, and no wavefronts of shared memory were measured.
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
        if let Some(tracer) = &mut self.tracer {
            let (first, count) = tracer.lines(rows.iter().copied());
            tracer.effect(Effect::BulkCopy {
                bytes,
                first,
                count,
                mbarrier: None,
                ranks: 0,
            });
        }
    }

    /// Records an effect of the running instruction, if warps are traced.
    #[inline(always)]
    pub fn effect(&mut self, effect: impl FnOnce() -> Effect) {
        if let Some(tracer) = &mut self.tracer {
            tracer.effect(effect());
        }
    }

    pub fn add(&mut self, mut other: Profiler) {
        if let (Some(tracer), Some(other)) = (&mut self.tracer, other.tracer.take()) {
            tracer.add(*other);
        }
        if let (Some(factors), Some(other)) = (&mut self.factors, &mut other.factors) {
            factors.append(other);
        }
        self.leads.append(&mut other.leads);
        self.mbarriers = self.mbarriers.max(other.mbarriers);
        self.own_loads += other.own_loads;
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

/// Offsets from the start of the 128-byte line that contains the lowest address.
fn offsets(addresses: &[u64; LANES], active: u32) -> [Option<u64>; LANES] {
    let is_active = |lane: usize| active >> lane & 1 == 1;
    let asking = (0..LANES).filter(|&lane| is_active(lane));
    let base = asking.map(|lane| addresses[lane]).min().unwrap_or(0) & !127;
    std::array::from_fn(|lane| is_active(lane).then(|| addresses[lane] - base))
}
