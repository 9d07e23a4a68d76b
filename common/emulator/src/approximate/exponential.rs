//! `MUFU.EX2`: 2^x, from 64 segments for the fraction of x; the integer part of x becomes the exponent.
use super::coefficients;
use super::interpolator::{INFINITY, Segment, interpolate, to_f32};
use super::trace::{Observer, Reduction};
use crate::lower::NAN_F32;

static SEGMENTS: [Segment; 64] = coefficients::of("ex2");
const CONSTANT: i64 = 24456;
/// Bits of x after the binary point; the rest is truncated.
const FRACTION: i32 = 23;

/// 2^x of an f32. A subnormal result is flushed to zero.
// ANCHOR: ex2
pub(super) fn mufu_ex2(x: u32, observer: &mut impl Observer) -> u32 {
    let (negative, exponent) = (x >> 31 == 1, (x >> 23 & 0xff) as i32 - 127);
    let significand = x & 0x7f_ffff | 1 << 23;
    let magnitude = match exponent {
        128 if x & 0x7f_ffff != 0 => return NAN_F32,
        8.. => return if negative { 0 } else { INFINITY },
        0..8 => significand << exponent,
        -24..0 => significand >> -exponent,
        _ => 0,
    } as i32;
    // A negative x is inverted, not negated, unless it is whole.
    let whole = magnitude & ((1 << FRACTION) - 1) == 0;
    let x = match (negative, whole) {
        (false, _) => magnitude,
        (true, false) => !magnitude,
        (true, true) => -magnitude,
    };
    let (whole, fraction) = (x >> FRACTION, x as u32 & ((1 << FRACTION) - 1));
    observer.reduced(Reduction::FixedPoint { whole, fraction });
    let segment = (fraction >> 17) as usize;
    let x = fraction & 0x1_ffff;
    let sum = interpolate::<17>(&SEGMENTS, segment, x, CONSTANT, observer);
    to_f32(sum, whole)
}
// ANCHOR_END: ex2
