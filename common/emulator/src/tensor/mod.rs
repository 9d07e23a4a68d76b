//! Tensor cores: f16 or bf16 in, f32 out, to the bit.
//!
//! The H100's rule is measured: it reproduces every output that was compared with an H100
//! (`calibration/tests/all/hardware.rs` holds a sample). For one output, with K products and the addend:
//!
//! 1. NaN in, 0 x infinity, or infinities of both signs: [`NAN`]. Else any infinity wins.
//! 2. Every input is a significand times a power of two; a subnormal keeps the smallest normal exponent.
//!    A product has the exact product of the significands and the sum of the exponents, not normalised.
//! 3. E is the largest exponent among the non-zero terms, but at least -133.
//! 4. Each term is cut to a multiple of 2^(E-25), toward zero.
//! 5. The sum of those is exact, and is
//! 6. rounded toward zero to f32; above the largest f32 it is infinite, and a sum of zero is +0.
//!
//! The A100's is **from the literature, not calibrated here**: terms are cut to a multiple of 2^(E-24), and an
//! instruction of 16 products is two sums of 8 one after the other, k 0 to 7 with the addend, then k 8 to 15 with
//! what came out. So it stands in the public code of two models: MMA-Sim (24 fraction bits, K split in two; Xie and
//! others, arXiv 2511.10909) and the MATLAB models of Khattak and Mikaitis (8 terms, one extra bit; arXiv 2512.07004).
//! Both follow Fasi and others, "Numerical behavior of NVIDIA tensor cores" (PeerJ Computer Science 7:e330, 2021). The
//! least E is carried over from the H100.

mod eight;
mod steps;

pub use steps::{Steps, Term, steps};

use crate::Card;

/// Format of the factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factor {
    /// IEEE half precision: 5 bits of exponent, 10 of mantissa.
    F16,
    /// The upper half of an f32: 8 bits of exponent, 7 of mantissa.
    Bf16,
}

/// The NaN that tensor cores return.
pub const NAN: u32 = 0x7fff_ffff;

/// Exponent of a zero: far below any other, so that it never is the largest.
const NONE: i32 = -100_000;
/// The smallest E.
const LOWEST: i32 = -133;

impl Card {
    /// Bits that are kept below E.
    const fn kept(self) -> i32 {
        match self {
            Self::H100 => 25,
            Self::A100 => 24,
        }
    }
}

impl Factor {
    fn mantissa_bits(self) -> u32 {
        if self == Factor::F16 { 10 } else { 7 }
    }
    fn smallest_exponent(self) -> i32 {
        if self == Factor::F16 { -14 } else { -126 }
    }
    /// Signed significand and exponent: the value is `significand x 2^(exponent - mantissa_bits)`.
    #[inline(always)]
    fn split(self, bits: u16) -> (i32, i32) {
        let m = self.mantissa_bits();
        let field = i32::from(bits & 0x7fff) >> m;
        let fraction = i32::from(bits) & ((1 << m) - 1);
        let exponent = self.smallest_exponent() + field.max(1) - 1;
        signed(bits >> 15 == 1, field, fraction, 1 << m, exponent)
    }
    fn is_special(self, bits: u16) -> bool {
        let top = if self == Factor::F16 { 0x7c00 } else { 0x7f80 };
        bits & top == top
    }
    /// What these bits stand for.
    pub fn to_f32(self, bits: u16) -> f32 {
        match self {
            Factor::F16 => half::f16::from_bits(bits).to_f32_const(),
            Factor::Bf16 => f32::from_bits(u32::from(bits) << 16),
        }
    }
    /// The bits of the number of this format that is nearest to `value`; of two, the even one.
    pub fn nearest(self, value: f64) -> u16 {
        match self {
            Factor::F16 => half::f16::from_f64(value).to_bits(),
            Factor::Bf16 => half::bf16::from_f64(value).to_bits(),
        }
    }
}

/// Signed significand (24 bits) and exponent of an f32.
#[inline(always)]
fn split_f32(bits: u32) -> (i32, i32) {
    let field = (bits >> 23 & 0xff) as i32;
    let fraction = (bits & 0x7f_ffff) as i32;
    signed(
        bits >> 31 == 1,
        field,
        fraction,
        1 << 23,
        field.max(1) - 127,
    )
}

/// With its hidden bit, unless the exponent's field is zero, and with its sign.
#[inline(always)]
fn signed(negative: bool, field: i32, fraction: i32, hidden: i32, exponent: i32) -> (i32, i32) {
    let magnitude = if field == 0 {
        fraction
    } else {
        fraction | hidden
    };
    let exponent = if magnitude == 0 { NONE } else { exponent };
    let significand = if negative { -magnitude } else { magnitude };
    (significand, exponent)
}

/// `sum x 2^unit` as f32, rounded toward zero.
fn pack(sum: i64, unit: i32) -> u32 {
    if sum == 0 {
        return 0;
    }
    let sign = if sum < 0 { 1 << 31 } else { 0 };
    let magnitude = sum.unsigned_abs();
    let top = 63 - magnitude.leading_zeros() as i32;
    // The value's exponent, or that of the smallest normal number for a subnormal.
    let exponent = (unit + top).max(-126);
    if exponent > 127 {
        return sign | 0x7f80_0000;
    }
    // The unit of the result is 2^(exponent - 23).
    let shift = (exponent - 23) - unit;
    let significand = if shift >= 0 {
        magnitude >> shift.min(63)
    } else {
        magnitude << -shift
    } as u32;
    if significand < 1 << 23 {
        return sign | significand;
    }
    sign | ((exponent + 127) as u32) << 23 | significand & 0x7f_ffff
}

/// One output, term by term: the rule as it is written above, and the oracle of the vector path.
fn dot(
    kept: i32,
    factor: Factor,
    products: impl Iterator<Item = (u16, u16)> + Clone,
    c: u32,
) -> u32 {
    let mut infinity: Option<u32> = None;
    let mut see = |value: f32| -> bool {
        if value.is_nan() {
            return true;
        }
        if value.is_infinite() {
            let bits = value.to_bits();
            return infinity.replace(bits).is_some_and(|other| other != bits);
        }
        false
    };
    for (a, b) in products.clone() {
        // Only infinities and NaN matter here; bf16 factors may overflow f32 where the sum does not.
        if (factor.is_special(a) || factor.is_special(b))
            && see(factor.to_f32(a) * factor.to_f32(b))
        {
            return NAN;
        }
    }
    if see(f32::from_bits(c)) {
        return NAN;
    }
    if let Some(bits) = infinity {
        return bits;
    }
    let terms = products.map(|(a, b)| Term::product(factor, a, b));
    let terms = terms.chain([Term::addend(c)]);
    let e = largest_exponent(terms.clone());
    let sum: i64 = terms.map(|term| term.cut(kept, e)).sum();
    pack(sum, e - kept)
}

/// E of the rule above.
fn largest_exponent(terms: impl Iterator<Item = Term>) -> i32 {
    terms.map(|term| term.exponent).fold(LOWEST, i32::max)
}

/// Rows of A, and of C and D.
pub const M: usize = 16;
/// Columns of B, and of C and D.
pub const N: usize = 8;

/// D = A B + C as one `mma.sync` m16n8kK of this card computes it: A is 16 x K, B is K x 8, C and D are 16 x 8, all
/// row-major; K is 8 or 16. C and D are the bits of f32.
///
/// `wgmma` of an H100 computes each output in the same way, so its 64 rows are four of these.
pub fn mma<const K: usize, const A: usize, const B: usize>(
    card: Card,
    factor: Factor,
    a: &[u16; A],
    b: &[u16; B],
    c: &[u32; M * N],
) -> [u32; M * N] {
    const { assert!(A == M * K && B == K * N) };
    let mut d = *c;
    if card == Card::A100 && K == 16 {
        halves(factor, a, b, &mut d);
    } else {
        sum::<K, A, B>(card, factor, a, b, &mut d);
    }
    d
}

/// An A100's m16n8k16: the first eight k, then the others.
fn halves(factor: Factor, a: &[u16], b: &[u16], c: &mut [u32; M * N]) {
    for half in 0..2 {
        let part = |i: usize| 16 * (i / 8) + 8 * half + i % 8;
        let a = std::array::from_fn(|i| a.get(part(i)).copied().unwrap_or_default());
        let b = std::array::from_fn(|i| b.get(8 * N * half + i).copied().unwrap_or_default());
        sum::<8, { M * 8 }, { 8 * N }>(Card::A100, factor, &a, &b, c);
    }
}

/// All products at once, added to C.
fn sum<const K: usize, const A: usize, const B: usize>(
    card: Card,
    factor: Factor,
    a: &[u16; A],
    b: &[u16; B],
    c: &mut [u32; M * N],
) {
    let special = |any, &bits: &u16| any | factor.is_special(bits);
    let special = a.iter().fold(false, special) | b.iter().fold(false, special);
    let not_finite = |any, &bits: &u32| any | (bits >> 23 & 0xff == 0xff);
    let rare = c.iter().fold(special, not_finite);
    if rare || eight::outputs(card, factor, a, b, c).is_none() {
        *c = slowly::<K, A, B>(card, factor, a, b, c);
    }
}

/// The same, output by output.
#[inline(never)]
fn slowly<const K: usize, const A: usize, const B: usize>(
    card: Card,
    factor: Factor,
    a: &[u16; A],
    b: &[u16; B],
    c: &[u32; M * N],
) -> [u32; M * N] {
    std::array::from_fn(|i| {
        let (row, n) = (i / N, i % N);
        let products = (0..K).map(|k| (a[row * K + k], b[k * N + n]));
        dot(card.kept(), factor, products, c[i])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vector_path_equals_the_rule() {
        let mut x = 1u64;
        let mut random = || {
            x = x
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (x >> 32) as u32
        };
        for round in 0..2000 {
            for factor in [Factor::F16, Factor::Bf16] {
                // Narrow exponents in half of the rounds, so that terms meet and cancel.
                let mask = if round % 2 == 0 {
                    0xffff
                } else {
                    0x83ff
                        | if factor == Factor::F16 {
                            0x0c00
                        } else {
                            0x0380
                        }
                };
                let top: u16 = if round % 2 == 0 { 0 } else { 0x3000 };
                let mut a: [u16; 256] = std::array::from_fn(|_| random() as u16 & mask | top);
                let b: [u16; 128] = std::array::from_fn(|_| random() as u16 & mask | top);
                let c: [u32; 128] =
                    std::array::from_fn(|_| if round % 3 == 0 { 0 } else { random() });
                // Rows in which the addend is alone, however small it is.
                if round % 5 == 0 {
                    a.iter_mut().step_by(round % 3 + 1).for_each(|a| *a = 0);
                }
                for card in Card::ALL {
                    let mut d = c;
                    sum::<16, 256, 128>(card, factor, &a, &b, &mut d);
                    assert_eq!(d, slowly::<16, 256, 128>(card, factor, &a, &b, &c));
                }
            }
        }
    }
}
