//! `MUFU.TANH`: the newest function, from 51 segments. The number of mantissa bits that select the segment depends on
//! the exponent. Below 2^-8 the result is x itself, from 8 on it is 1.
use super::coefficients;
use super::interpolator::{INFINITY, SIGN, Segment, interpolate, to_f32};
use super::trace::{Observer, Reduction};
use crate::lower::NAN_F32;

static SEGMENTS: [Segment; 51] = coefficients::of("tanh");
/// The biased exponent of 2^-8.
const FIRST: u32 = 127 - 8;
/// For each exponent from 2^-8 on: its first segment, and how many bits of the mantissa select among its segments.
const BINADES: [(u32, u32); 11] = [
    (0, 0),
    (1, 0),
    (2, 0),
    (3, 1),
    (5, 1),
    (7, 2),
    (11, 2),
    (15, 2),
    (19, 3),
    (27, 4),
    (43, 3),
];

/// tanh of an f32; subnormal numbers are not flushed.
pub(super) fn mufu_tanh(x: u32, observer: &mut impl Observer) -> u32 {
    let (sign, magnitude) = (x & SIGN, x & !SIGN);
    let binade = (magnitude >> 23).checked_sub(FIRST);
    match (binade, magnitude) {
        (_, INFINITY..) if magnitude > INFINITY => NAN_F32,
        (None, _) => x,
        (Some(binade), _) => match BINADES.get(binade as usize) {
            None => sign | 1f32.to_bits(),
            Some(&(first, bits)) => {
                let mantissa = magnitude & 0x7f_ffff;
                let exponent = binade as i32 + FIRST as i32 - 127;
                observer.reduced(Reduction::Significand {
                    mantissa,
                    exponent,
                    chosen_by: bits,
                });
                let segment = (first + (mantissa >> (23 - bits))) as usize;
                let x = mantissa >> (6 - bits) & 0x1_ffff;
                let sum = interpolate::<17>(&SEGMENTS, segment, x, 0, observer);
                sign | to_f32(sum, 0)
            }
        },
    }
}
