//! The addresses of a warp's access to global memory, relative to one of them. Warps repeat patterns, so the
//! cost, the extent and the shape of a pattern are computed once.
use crate::banks::{LANES, global_sectors};
use crate::memory::Memory;

/// The last pattern of an instruction. Moving all addresses by a multiple of 32 bytes changes no sectors.
#[derive(Clone, Default)]
pub(super) struct GlobalPattern {
    active: u32,
    relative: [u64; LANES],
    /// Sectors, and the fewest possible.
    pub cost: (u64, u64),
    /// The lowest address, also relative, and the distance from it to the highest.
    low: u64,
    span: u64,
    /// The bits below 32 that are set in any address.
    bits: u64,
    shape: Shape,
    /// Index of the allocation in which it was last found.
    allocation: usize,
}

/// The shape of the addresses of all lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Shape {
    #[default]
    Any,
    /// One address.
    Same,
    /// Consecutive addresses.
    Row,
}

/// A warp's access within one allocation, aligned.
pub(super) struct Placed {
    /// The index and base of the allocation.
    pub allocation: usize,
    pub base: u64,
    pub shape: Shape,
}

impl GlobalPattern {
    /// Sets the pattern to these addresses; inactive lanes must have the address of an active one. Returns whether it
    /// changed.
    #[inline(always)]
    pub fn update(&mut self, bytes: u32, addresses: &[u64; LANES], active: u32) -> bool {
        let base = addresses[0] & !31;
        let mut differs = 0;
        for i in 0..LANES {
            differs |= addresses[i].wrapping_sub(base) ^ self.relative[i];
        }
        let is_new = differs != 0 || self.active != active;
        if is_new {
            self.work_out(bytes, addresses, active);
        }
        is_new
    }

    /// Whether a full warp's addresses, its registers plus this offset, have this pattern. It avoids computing
    /// the addresses.
    #[inline(always)]
    pub fn repeats(&self, registers: &[u64; LANES], offset: i64) -> bool {
        let first = registers[0].wrapping_add_signed(offset);
        let base = (first & !31).wrapping_sub(offset as u64);
        let mut differs = 0;
        for i in 0..LANES {
            differs |= registers[i].wrapping_sub(base) ^ self.relative[i];
        }
        differs == 0 && self.active == u32::MAX
    }

    #[inline(never)]
    fn work_out(&mut self, bytes: u32, addresses: &[u64; LANES], active: u32) {
        let base = addresses[0] & !31;
        let (mut low, mut high, mut bits) = (u64::MAX, 0, 0);
        for &address in addresses {
            low = low.min(address);
            high = high.max(address);
            bits |= address & 31;
        }
        let next = |pair: &[u64; 2]| pair[0].checked_add(bytes.into()) == Some(pair[1]);
        let shape = match low == high {
            true => Shape::Same,
            false if addresses.array_windows().all(next) => Shape::Row,
            false => Shape::Any,
        };
        *self = Self {
            active,
            relative: addresses.map(|address| address.wrapping_sub(base)),
            cost: global_sectors(bytes, addresses, active),
            low: low.wrapping_sub(base),
            span: high - low,
            bits,
            shape,
            allocation: self.allocation,
        };
    }

    /// The allocation of this pattern if it begins here, unless it is misaligned or not within one allocation.
    #[inline(always)]
    pub fn place(&mut self, first: u64, bytes: u32, memory: &Memory) -> Option<Placed> {
        if self.bits & u64::from(bytes - 1) != 0 {
            return None;
        }
        let low = (first & !31).wrapping_add(self.low);
        let span = self.span.checked_add(bytes.into())?;
        if !memory.holds(self.allocation, low, span) {
            self.allocation = memory.find(low, span)?.0;
        }
        Some(Placed {
            allocation: self.allocation,
            base: memory.base(self.allocation),
            shape: self.shape,
        })
    }
}
