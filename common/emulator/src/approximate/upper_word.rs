//! The upper word of an f64, the operand and result of `MUFU.RCP64H` and `MUFU.RSQ64H`.
use super::interpolator::SIGN;

pub(super) const INFINITY: u32 = 0x7ff0_0000;
pub(super) const NAN: u32 = 0x7fff_ffff;

/// The fields of an f64's upper word.
pub(super) struct UpperWord {
    /// The sign, in its bit position.
    pub sign: u32,
    /// Biased.
    pub exponent: u32,
    /// 20 bits, shifted to the position of an f32's 23.
    pub mantissa: u32,
}

impl UpperWord {
    #[inline(always)]
    pub fn new(x: u32) -> Self {
        Self {
            sign: x & SIGN,
            exponent: x >> 20 & 0x7ff,
            mantissa: (x & 0xf_ffff) << 3,
        }
    }
}

/// `sum` x 2^`exponent`, truncated, where `sum` is in units of 2^-40 and not 0. Numbers that are too small become 0.
#[inline(always)]
pub(super) fn of_sum(sum: u64, exponent: i32) -> u32 {
    let top = 63 - sum.leading_zeros();
    let significand = (sum << (63 - top) >> 43) as u32;
    match exponent + top as i32 - 40 + 1023 {
        ..=0 => 0,
        biased @ 1..2047 => (biased as u32) << 20 | significand & 0xf_ffff,
        2047.. => INFINITY,
    }
}
