//! `MUFU.SIN` and `MUFU.COS` of x revolutions, from 64 segments for a quarter of a revolution.
use super::coefficients;
use super::interpolator::{SIGN, Segment, interpolate, to_f32};
use super::trace::{Observer, Reduction};
use crate::lower::NAN_F32;

static SEGMENTS: [Segment; 64] = coefficients::of("sin");
/// Bits of the revolutions after the binary point; the rest is truncated.
const FRACTION: i32 = 25;
const QUARTER: u32 = 1 << (FRACTION - 2);

/// The sine of an f32 in revolutions. Subnormal operands are zero.
pub(super) fn mufu_sin(revolutions: u32, observer: &mut impl Observer) -> u32 {
    match angle(revolutions) {
        Some(angle) => sine(angle, revolutions & SIGN, observer),
        None => NAN_F32,
    }
}

/// The cosine of an f32 in revolutions: the sine of the angle plus a quarter.
pub(super) fn mufu_cos(revolutions: u32, observer: &mut impl Observer) -> u32 {
    match angle(revolutions) {
        Some(angle) => sine(angle.wrapping_add(QUARTER), 0, observer),
        None => NAN_F32,
    }
}

/// The magnitude in units of 2^-25 revolutions, modulo a few revolutions; `None` for infinity and NaN.
fn angle(x: u32) -> Option<u32> {
    let (exponent, significand) = ((x >> 23 & 0xff) as i32, x & 0x7f_ffff | 1 << 23);
    match exponent - (127 + 23 - FRACTION) {
        _ if exponent == 255 => None,
        left @ 0..FRACTION => Some(significand << left),
        right @ -23..0 => Some(significand >> -right),
        _ => Some(0),
    }
}

/// Quarters 1 and 3 run backwards, with an inverted angle; quarters 2 and 3 change the sign.
fn sine(angle: u32, sign: u32, observer: &mut impl Observer) -> u32 {
    let quarter = (angle / QUARTER) & 3;
    let x = match quarter & 1 {
        0 => angle,
        _ => !angle,
    } % QUARTER;
    observer.reduced(Reduction::Angle { quarter, offset: x });
    let sum = interpolate::<17>(&SEGMENTS, (x >> 17) as usize, x & 0x1_ffff, 0, observer);
    sign ^ quarter >> 1 << 31 | to_f32(sum, 0)
}
