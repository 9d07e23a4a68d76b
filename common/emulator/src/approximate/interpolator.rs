//! The interpolator: a quadratic polynomial in integer arithmetic for each segment of a function's argument.
//!
//! Oberman and Siu, "A high-performance area-efficient multifunction interpolator" (IEEE ARITH 2005), describe the
//! unit: the leading bits of a significand select three coefficients, the trailing bits are the polynomial's argument,
//! a truncated squarer computes their square, and the sum is truncated, not rounded. All 2^23 results of a binade on an
//! H200 confirm this bit for bit, and show where the squarer is truncated: `square` is the only one of many candidates
//! for which coefficients exist, and they are then unique.
use super::trace::{Interpolation, Observer};

/// Bits of a sum after the binary point. The hardware has its own scale for each function's coefficients (26, 16 and 10
/// bits wide); in this common scale all of them are integers.
const FRACTION: i32 = 40;
/// Bits of `c0` after the binary point.
const C0_FRACTION: i32 = 26;
/// Bits of the argument that the squarer uses.
const SQUARED: u32 = 16;

/// A quadratic polynomial: one row of `coefficients.csv`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// The constant coefficient, in units of 2^-26.
    pub c0: i32,
    /// The linear coefficient, in units of 2^-40.
    pub c1: i32,
    /// The quadratic coefficient, in units of 2^-40.
    pub c2: i32,
}

impl Segment {
    pub const ZERO: Self = Self {
        c0: 0,
        c1: 0,
        c2: 0,
    };

    /// The polynomial at `x` plus the function's constant: in units of 2^-40.
    // ANCHOR: polynomial
    #[inline(always)]
    fn at(self, x: u32, square: u32, constant: i64) -> u64 {
        let [c0, c1, c2] = [self.c0, self.c1, self.c2].map(i64::from);
        let [x, square] = [x, square].map(i64::from);
        let sum = (c0 << (FRACTION - C0_FRACTION)) + c1 * x + c2 * square + constant;
        sum as u64
    }
    // ANCHOR_END: polynomial
}

/// The polynomial of this segment at `x`, of `BITS` bits, plus the function's constant: in units of 2^-40.
#[inline(always)]
pub(super) fn interpolate<const BITS: u32>(
    segments: &[Segment],
    segment: usize,
    x: u32,
    constant: i64,
    observer: &mut impl Observer,
) -> u64 {
    let polynomial = segments[segment];
    let square = square(x >> (BITS - SQUARED));
    let sum = polynomial.at(x, square, constant);
    observer.interpolated(Interpolation::new(
        (segment, segments.len()),
        polynomial,
        (x, BITS),
        (square, constant, sum),
    ));
    sum
}

/// The square of 16 bits in units of 2^17, without the partial products below.
///
/// Bits i < j of x make one partial product, of weight 2^(i+j+1), and bit i alone one of 2^2i. With x = 256 h + l, the
/// products within h give h^2 without its lowest bit, those within l are all too small, and half of those between h and
/// l are kept.
#[inline(always)]
fn square(x: u32) -> u32 {
    let (h, l) = (x >> 8, x & 0xff);
    let cross: u32 = (1..8).map(|bit| (h >> bit & 1) * (l >> (8 - bit))).sum();
    ((h * h) >> 1) + cross
}

/// `sum` x 2^`exponent` as an f32, where `sum` is in units of 2^-40: truncated to 24 bits. Numbers that are too small
/// become 0.
#[inline(always)]
pub(super) fn to_f32(sum: u64, exponent: i32) -> u32 {
    if sum == 0 {
        return 0;
    }
    let top = 63 - sum.leading_zeros();
    let significand = (sum << (63 - top) >> 40) as u32;
    match exponent + top as i32 - FRACTION + 127 {
        ..=0 => 0,
        biased @ 1..255 => (biased as u32) << 23 | significand & 0x7f_ffff,
        255.. => INFINITY,
    }
}

pub(super) const INFINITY: u32 = 0x7f80_0000;
pub(super) const SIGN: u32 = 0x8000_0000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_square_lacks_the_partial_products_below_2_to_the_17() {
        for x in 0..1u32 << 16 {
            let bit = |i: u32| u64::from(x >> i & 1);
            let mut sum = 0;
            for i in 0..16 {
                let products = (i + 1..16).map(|j| (i + j + 1, bit(i) * bit(j)));
                let kept = products
                    .chain([(2 * i, bit(i))])
                    .filter(|(weight, _)| *weight >= 17);
                sum += kept
                    .map(|(weight, product)| product << (weight - 17))
                    .sum::<u64>();
            }
            assert_eq!(u64::from(square(x)), sum, "{x:#06x}");
        }
    }

    #[test]
    fn sums_are_truncated_to_24_bits() {
        let one = 1u64 << 40;
        assert_eq!(to_f32(one, 0), 1f32.to_bits());
        assert_eq!(to_f32(one, -3), 0.125f32.to_bits());
        assert_eq!(to_f32(2 * one - 1, 0), 2f32.next_down().to_bits());
        assert_eq!(to_f32(3, 0), (3.0 * 2f32.powi(-40)).to_bits());
        assert_eq!(to_f32(one, 128), INFINITY);
        assert_eq!(to_f32(2 * one - 1, -127), 0);
        assert_eq!(to_f32(0, 0), 0);
    }
}
