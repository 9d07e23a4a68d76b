//! Registers as vectors of 32 lanes, and loops over them that the compiler turns into SIMD.
//!
//! Everything here is inlined into the interpreter's loop, which runs with the widest vector
//! instructions that the CPU has (see `run` in the module above).
use crate::banks::LANES;

/// All lanes of a warp.
pub(super) const ALL: u32 = u32::MAX;

/// A register: 32 lanes of 32 or 64 bits.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Lanes<T>(pub [T; LANES]);

pub(super) type LanesB32 = Lanes<u32>;
pub(super) type LanesB64 = Lanes<u64>;

impl LanesB32 {
    pub const ZERO: Self = Self([0; LANES]);
    /// The initial value of a register: a NaN as an f32, and in both halves as an f16 or a bf16.
    pub const POISON: Self = Self([0x7fff_7fff; LANES]);
}
impl LanesB64 {
    pub const ZERO: Self = Self([0; LANES]);
    /// A NaN as an f64 too, and as an address in no space.
    pub const POISON: Self = Self([0x7fff_7fff_7fff_7fff; LANES]);
}

impl AsMut<[u32; LANES]> for LanesB32 {
    fn as_mut(&mut self) -> &mut [u32; LANES] {
        &mut self.0
    }
}

/// The active lanes, in order.
#[inline(always)]
pub(super) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    std::iter::successors((mask != 0).then_some(mask), |m| {
        Some(m & (m - 1)).filter(|&m| m != 0)
    })
    .map(|m| m.trailing_zeros() as usize)
}

/// The mask of these lanes.
#[inline(always)]
pub(super) fn mask_of(lanes: impl Iterator<Item = usize>) -> u32 {
    lanes.fold(0, |mask, lane| mask | 1 << lane)
}

/// Gives inactive lanes the value of the first active one.
#[inline(always)]
pub(super) fn fill_inactive<T: Copy>(values: &mut [T; LANES], active: u32) {
    let first = values[active.trailing_zeros() as usize & 31];
    for i in 0..LANES {
        let own = values[i];
        values[i] = if active >> i & 1 == 1 { own } else { first };
    }
}

/// Writes the active lanes of a register.
#[inline(always)]
pub(super) fn put<T: Copy>(to: &mut Lanes<T>, value: &Lanes<T>, mask: u32) {
    if mask == ALL {
        *to = *value;
    } else {
        for i in 0..LANES {
            let (old, new) = (to.0[i], value.0[i]);
            to.0[i] = if mask >> i & 1 == 1 { new } else { old };
        }
    }
}

#[inline(always)]
pub(super) fn put_bits(to: &mut u32, value: u32, mask: u32) {
    *to = *to & !mask | value & mask;
}

#[inline(always)]
pub(super) fn map2<T: Copy + Default>(
    regs: &mut [Lanes<T>],
    [d, a, b]: [u32; 3],
    mask: u32,
    f: impl Fn(T, T) -> T,
) {
    let mut out = Lanes([T::default(); LANES]);
    let (x, y) = (&regs[a as usize].0, &regs[b as usize].0);
    for i in 0..LANES {
        out.0[i] = f(x[i], y[i]);
    }
    put(&mut regs[d as usize], &out, mask);
}

#[inline(always)]
pub(super) fn map3(
    regs: &mut [LanesB32],
    [d, a, b, c]: [u32; 4],
    mask: u32,
    f: impl Fn(u32, u32, u32) -> u32,
) {
    let mut out = LanesB32::ZERO;
    let [x, y, z] = [a, b, c].map(|reg| &regs[reg as usize].0);
    for i in 0..LANES {
        out.0[i] = f(x[i], y[i], z[i]);
    }
    put(&mut regs[d as usize], &out, mask);
}

/// Compares in each lane; one bit for each.
#[inline(always)]
pub(super) fn compare(w: &[LanesB32], a: u32, b: u32, f: impl Fn(u32, u32) -> bool) -> u32 {
    let (x, y) = (&w[a as usize].0, &w[b as usize].0);
    let mut bits = 0;
    for i in 0..LANES {
        bits |= u32::from(f(x[i], y[i])) << i;
    }
    bits
}
