//! `MUFU.LG2`: the logarithm to base 2, from 64 segments for the significand; the exponent is the integer part.
use super::coefficients;
use super::interpolator::{INFINITY, SIGN, Segment, interpolate, to_f32};
use super::trace::{Observer, Reduction};
use crate::lower::NAN_F32;

static SEGMENTS: [Segment; 64] = coefficients::of("lg2");
const CONSTANT: i64 = 3348;
/// How many of a sum's 40 bits are dropped before the exponent is added.
const DROPPED: i32 = 4;

/// The logarithm of an f32. Subnormal operands are zero. A negative sum is inverted, not negated.
pub(super) fn mufu_lg2(x: u32, observer: &mut impl Observer) -> u32 {
    let (sign, exponent, mantissa) = (x & SIGN, x >> 23 & 0xff, x & 0x7f_ffff);
    match exponent {
        255 if mantissa != 0 => return NAN_F32,
        0 => return SIGN | INFINITY,
        _ if sign != 0 => return NAN_F32,
        255 => return INFINITY,
        127 if mantissa == 0 => return 0,
        _ => {}
    }
    let exponent = exponent as i32 - 127;
    observer.reduced(Reduction::Significand {
        mantissa,
        exponent,
        chosen_by: 6,
    });
    let segment = (mantissa >> 17) as usize;
    let sum = interpolate::<17>(&SEGMENTS, segment, mantissa & 0x1_ffff, CONSTANT, observer);
    let fraction = sum >> DROPPED;
    let sum = (i64::from(exponent) << (40 - DROPPED)) + fraction as i64;
    match sum < 0 {
        true => SIGN | to_f32(!sum as u64, DROPPED),
        false => to_f32(sum as u64, DROPPED),
    }
}
