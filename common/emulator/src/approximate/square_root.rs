//! `MUFU.RSQ`, `MUFU.RSQ64H` and `MUFU.SQRT`: 1/sqrt(x) and sqrt(x), each from 64 segments for significands from 1 to 2
//! and 64 for those from 2 to 4; the significand is chosen such that the exponent is even.
use super::coefficients;
use super::interpolator::{INFINITY, SIGN, Segment, interpolate, to_f32};
use super::trace::{Observer, Reduction};
use super::upper_word::{self, UpperWord};
use crate::lower::NAN_F32;

static RECIPROCAL_ROOT: [Segment; 128] = coefficients::of("rsqrt");
static ROOT: [Segment; 128] = coefficients::of("sqrt");
const CONSTANT: i64 = -1;

/// A function of (1 + mantissa 2^-23) 2^odd, in units of 2^-40.
#[inline(always)]
fn of_significand(
    segments: &[Segment; 128],
    (odd, half): (bool, i32),
    mantissa: u32,
    observer: &mut impl Observer,
) -> u64 {
    observer.reduced(Reduction::EvenExponent {
        mantissa,
        odd,
        half,
    });
    let segment = usize::from(odd) << 6 | (mantissa >> 17) as usize;
    interpolate::<17>(segments, segment, mantissa & 0x1_ffff, CONSTANT, observer)
}

/// Splits 2^exponent into 2^odd and the square of 2^half.
#[inline(always)]
fn halve(exponent: i32) -> (bool, i32) {
    (exponent & 1 == 1, exponent >> 1)
}

/// 1/sqrt(x). Subnormal operands are zero. A power of 4 has an exact result.
pub(super) fn mufu_rsq(x: u32, observer: &mut impl Observer) -> u32 {
    let (sign, exponent, mantissa) = (x & SIGN, x >> 23 & 0xff, x & 0x7f_ffff);
    let (odd, half) = halve(exponent as i32 - 127);
    match exponent {
        255 if mantissa != 0 => NAN_F32,
        0 => sign | INFINITY,
        _ if sign != 0 => NAN_F32,
        255 => 0,
        _ if mantissa == 0 && !odd => ((127 - half) as u32) << 23,
        _ => {
            let sum = of_significand(&RECIPROCAL_ROOT, (odd, half), mantissa, observer);
            to_f32(sum, -half)
        }
    }
}

/// 1/sqrt(x) of an f64: takes its upper word and returns the result's.
pub(super) fn mufu_rsq64h(x: u32, observer: &mut impl Observer) -> u32 {
    let UpperWord {
        sign,
        exponent,
        mantissa,
    } = UpperWord::new(x);
    let (odd, half) = halve(exponent as i32 - 1023);
    match exponent {
        2047 if mantissa != 0 => upper_word::NAN,
        0 => sign | upper_word::INFINITY,
        _ if sign != 0 => upper_word::NAN,
        2047 => 0,
        _ if mantissa == 0 && !odd => ((1023 - half) as u32) << 20,
        _ => {
            let sum = of_significand(&RECIPROCAL_ROOT, (odd, half), mantissa, observer);
            upper_word::of_sum(sum, -half)
        }
    }
}

/// sqrt(x). Subnormal operands are zero.
pub(super) fn mufu_sqrt(x: u32, observer: &mut impl Observer) -> u32 {
    let (sign, exponent, mantissa) = (x & SIGN, x >> 23 & 0xff, x & 0x7f_ffff);
    let (odd, half) = halve(exponent as i32 - 127);
    match exponent {
        255 if mantissa != 0 => NAN_F32,
        0 => sign,
        _ if sign != 0 => NAN_F32,
        255 => INFINITY,
        _ => {
            let sum = of_significand(&ROOT, (odd, half), mantissa, observer);
            to_f32(sum, half)
        }
    }
}
