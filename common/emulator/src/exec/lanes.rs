//! Registers as vectors of 32 lanes, and loops over them that the compiler turns into SIMD.
//!
//! Everything here is inlined into the interpreter's loop, which runs with whatever vector instructions
//! the CPU has (see `run` in the module above).
use crate::banks::LANES;

/// All lanes of a warp.
pub(super) const ALL: u32 = u32::MAX;

/// 32 lanes of 32 bits.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Words(pub [u32; LANES]);

/// 32 lanes of 64 bits.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Doubles(pub [u64; LANES]);

impl Words {
    pub const ZERO: Words = Words([0; LANES]);
}
impl Doubles {
    pub const ZERO: Doubles = Doubles([0; LANES]);
}

/// The active lanes, in order.
#[inline(always)]
pub(super) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    std::iter::successors((mask != 0).then_some(mask), |m| {
        Some(m & (m - 1)).filter(|&m| m != 0)
    })
    .map(|m| m.trailing_zeros() as usize)
}

/// Writes the active lanes of a register.
#[inline(always)]
pub(super) fn put(to: &mut Words, value: &Words, mask: u32) {
    if mask == ALL {
        *to = *value;
    } else {
        for i in 0..LANES {
            to.0[i] = if mask >> i & 1 == 1 {
                value.0[i]
            } else {
                to.0[i]
            };
        }
    }
}

#[inline(always)]
pub(super) fn put_double(to: &mut Doubles, value: &Doubles, mask: u32) {
    if mask == ALL {
        *to = *value;
    } else {
        for i in 0..LANES {
            to.0[i] = if mask >> i & 1 == 1 {
                value.0[i]
            } else {
                to.0[i]
            };
        }
    }
}

#[inline(always)]
pub(super) fn put_bits(to: &mut u32, value: u32, mask: u32) {
    *to = *to & !mask | value & mask;
}

#[inline(always)]
pub(super) fn map2(
    w: &mut [Words],
    d: u32,
    a: u32,
    b: u32,
    mask: u32,
    f: impl Fn(u32, u32) -> u32,
) {
    let mut out = Words::ZERO;
    let (x, y) = (&w[a as usize].0, &w[b as usize].0);
    for i in 0..LANES {
        out.0[i] = f(x[i], y[i]);
    }
    put(&mut w[d as usize], &out, mask);
}

#[inline(always)]
pub(super) fn map3(
    w: &mut [Words],
    [d, a, b, c]: [u32; 4],
    mask: u32,
    f: impl Fn(u32, u32, u32) -> u32,
) {
    let mut out = Words::ZERO;
    let (x, y, z) = (&w[a as usize].0, &w[b as usize].0, &w[c as usize].0);
    for i in 0..LANES {
        out.0[i] = f(x[i], y[i], z[i]);
    }
    put(&mut w[d as usize], &out, mask);
}

#[inline(always)]
pub(super) fn map2_double(
    d64: &mut [Doubles],
    d: u32,
    a: u32,
    b: u32,
    mask: u32,
    f: impl Fn(u64, u64) -> u64,
) {
    let mut out = Doubles::ZERO;
    let (x, y) = (&d64[a as usize].0, &d64[b as usize].0);
    for i in 0..LANES {
        out.0[i] = f(x[i], y[i]);
    }
    put_double(&mut d64[d as usize], &out, mask);
}

/// One bit a lane.
#[inline(always)]
pub(super) fn compare(w: &[Words], a: u32, b: u32, f: impl Fn(u32, u32) -> bool) -> u32 {
    let (x, y) = (&w[a as usize].0, &w[b as usize].0);
    let mut bits = 0;
    for i in 0..LANES {
        bits |= u32::from(f(x[i], y[i])) << i;
    }
    bits
}
