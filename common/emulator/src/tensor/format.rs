//! The formats of factors and sums: decoding, and rounding of a sum.
use super::{Factor, NAN};

/// A number's significand and exponent. The significand is an integer; the format determines how many of its bits are
/// after the binary point.
pub(super) type Split = (i32, i32);

/// The exponent of zero: far below any other, so that it is never the largest.
pub(super) const NONE: i32 = -100_000;

/// Format of the factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    F16,
    Bf16,
    /// An f32 whose 13 low bits are ignored (recorded).
    Tf32,
    /// 8 bits with 4 exponent bits; all ones is NaN, and there is no infinity.
    E4m3,
}

impl From<Factor> for Format {
    fn from(factor: Factor) -> Self {
        match factor {
            Factor::F16 => Self::F16,
            Factor::Bf16 => Self::Bf16,
        }
    }
}

impl Format {
    pub const fn mantissa_bits(self) -> u32 {
        match self {
            Self::F16 | Self::Tf32 => 10,
            Self::Bf16 => 7,
            Self::E4m3 => 3,
        }
    }

    const fn smallest_exponent(self) -> i32 {
        match self {
            Self::F16 => -14,
            Self::Bf16 | Self::Tf32 => -126,
            Self::E4m3 => -6,
        }
    }

    /// The sign, and the other bits.
    #[inline(always)]
    const fn parts(self, bits: u32) -> (bool, u32) {
        match self {
            Self::F16 | Self::Bf16 => (bits >> 15 & 1 == 1, bits & 0x7fff),
            Self::Tf32 => (bits >> 31 == 1, bits >> 13 & 0x3_ffff),
            Self::E4m3 => (bits >> 7 & 1 == 1, bits & 0x7f),
        }
    }

    /// Signed significand and exponent: the value is `significand x 2^(exponent - mantissa_bits)`.
    #[inline(always)]
    pub fn split(self, bits: u32) -> Split {
        let m = self.mantissa_bits();
        let (negative, magnitude) = self.parts(bits);
        let field = (magnitude >> m) as i32;
        let fraction = (magnitude & ((1 << m) - 1)) as i32;
        let exponent = self.smallest_exponent() + field.max(1) - 1;
        signed(negative, field, fraction, 1 << m, exponent)
    }

    /// Infinite or NaN.
    pub const fn is_special(self, bits: u32) -> bool {
        match self {
            Self::F16 => bits & 0x7c00 == 0x7c00,
            Self::Bf16 => bits & 0x7f80 == 0x7f80,
            Self::Tf32 => bits & 0x7f80_0000 == 0x7f80_0000,
            Self::E4m3 => bits & 0x7f == 0x7f,
        }
    }

    /// The value of these bits.
    pub fn to_f32(self, bits: u32) -> f32 {
        match self {
            Self::F16 => half::f16::from_bits(bits as u16).to_f32_const(),
            Self::Bf16 => f32::from_bits(bits << 16),
            Self::Tf32 => f32::from_bits(bits & !0x1fff),
            Self::E4m3 if self.is_special(bits) => f32::NAN,
            Self::E4m3 => {
                let (significand, exponent) = self.split(bits);
                significand as f32 * 2f32.powi(exponent.max(-6) - 3)
            }
        }
    }
}

/// Format of the addend and of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sums {
    /// Rounded toward zero.
    F32,
    /// Rounded to nearest, ties to even; a result that rounds to zero is +0.
    F16,
}

impl Sums {
    /// Signed significand with 23 bits after the binary point, and exponent.
    #[inline(always)]
    pub fn split(self, bits: u32) -> Split {
        match self {
            Self::F32 => {
                let field = (bits >> 23 & 0xff) as i32;
                let fraction = (bits & 0x7f_ffff) as i32;
                let negative = bits >> 31 == 1;
                signed(negative, field, fraction, 1 << 23, field.max(1) - 127)
            }
            Self::F16 => {
                let (significand, exponent) = Format::F16.split(bits);
                (significand << 13, exponent)
            }
        }
    }

    /// Neither infinite nor NaN.
    pub const fn is_finite(self, bits: u32) -> bool {
        match self {
            Self::F32 => bits >> 23 & 0xff != 0xff,
            Self::F16 => !Format::F16.is_special(bits),
        }
    }

    pub fn to_f32(self, bits: u32) -> f32 {
        match self {
            Self::F32 => f32::from_bits(bits),
            Self::F16 => Format::F16.to_f32(bits),
        }
    }

    pub const fn nan(self) -> u32 {
        match self {
            Self::F32 => NAN,
            Self::F16 => 0x7fff,
        }
    }

    pub const fn infinity(self, negative: bool) -> u32 {
        match (self, negative) {
            (Self::F32, false) => 0x7f80_0000,
            (Self::F32, true) => 0xff80_0000,
            (Self::F16, false) => 0x7c00,
            (Self::F16, true) => 0xfc00,
        }
    }

    /// `sum x 2^unit` in this format.
    pub fn round(self, sum: i64, unit: i32) -> u32 {
        match self {
            Self::F32 => pack(sum, unit),
            // Fewer than 53 bits: exact.
            Self::F16 => nearest_f16(sum as f64 * power(unit)),
        }
    }
}

/// Rounds an exact sum to f16: to nearest, ties to even, and +0 for all results that round to zero.
#[inline(always)]
pub(super) fn nearest_f16(sum: f64) -> u32 {
    /// 2^16, the first number beyond f16.
    const BEYOND: f32 = 65536.0;
    let exponent = ((sum.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(-14);
    // Adding an f64 of this magnitude rounds the sum to the unit in the last place of f16.
    let shift = 1.5 * power(exponent + 42);
    let rounded = ((sum + shift) - shift) as f32;
    let magnitude = rounded.abs();
    let normal = (magnitude.to_bits() >> 13).wrapping_sub(112 << 10);
    let subnormal = (magnitude * (1 << 24) as f32) as u32;
    let bits = match magnitude {
        _ if magnitude >= BEYOND => 0x7c00,
        _ if normal as i32 >= 1 << 10 => normal,
        _ => subnormal,
    };
    let sign = if rounded < 0.0 { 0x8000 } else { 0 };
    sign | bits
}

/// 2^`exponent`, of a normal f64.
#[inline(always)]
pub(super) fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// Adds the hidden bit, unless the exponent field is zero, and the sign.
#[inline(always)]
fn signed(negative: bool, field: i32, fraction: i32, hidden: i32, exponent: i32) -> Split {
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
pub(super) fn pack(sum: i64, unit: i32) -> u32 {
    if sum == 0 {
        return 0;
    }
    let sign = if sum < 0 { 1 << 31 } else { 0 };
    let magnitude = sum.unsigned_abs();
    let top = 63 - magnitude.leading_zeros() as i32;
    // The value's exponent; for a subnormal number that of the smallest normal one.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::{F16, Rounding, narrow};

    #[test]
    fn sums_are_rounded_to_the_nearest_f16() {
        let mut state = 3;
        let check = |value: f64| {
            let expected = match narrow(value, F16, Rounding::Rn) {
                0x8000 => 0,
                bits => bits,
            };
            assert_eq!(nearest_f16(value), expected, "{value:e}");
        };
        for bits in 0..0x7c00u16 {
            let value = f64::from(half::f16::from_bits(bits).to_f32_const());
            let next = f64::from(half::f16::from_bits(bits + 1).to_f32_const());
            let next = if bits == 0x7bff { 65536.0 } else { next };
            // Each number, the midpoint to the next one, and the values next to the midpoint.
            let tie = (value + next) / 2.0;
            for value in [value, tie, tie.next_up(), tie.next_down()] {
                check(value);
                check(-value);
            }
        }
        for _ in 0..100_000 {
            let bits = crate::random::random(&mut state);
            // Exponents from 2^-42 to 2^21.
            check(f64::from_bits(
                bits & !(0x7ff << 52) | (981 + (bits >> 57)) << 52,
            ));
        }
    }
}
