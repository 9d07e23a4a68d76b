//! `MUFU.RCP` and `MUFU.RCP64H`: 1/x, from 128 segments for the significand.
use super::coefficients;
use super::interpolator::{INFINITY, SIGN, Segment, interpolate, to_f32};
use super::trace::{Observer, Reduction};
use super::upper_word::{self, UpperWord};
use crate::lower::NAN_F32;

static SEGMENTS: [Segment; 128] = coefficients::of("rcp");
const CONSTANT: i64 = 4046;

/// 1 / (1 + mantissa 2^-23), in units of 2^-40, for a number with this exponent.
#[inline(always)]
fn of_significand(mantissa: u32, exponent: i32, observer: &mut impl Observer) -> u64 {
    observer.reduced(Reduction::Significand {
        mantissa,
        exponent,
        chosen_by: 7,
    });
    let segment = (mantissa >> 16) as usize;
    interpolate::<16>(&SEGMENTS, segment, mantissa & 0xffff, CONSTANT, observer)
}

/// 1/x of an f32. Subnormal operands and results are flushed to zero.
pub(super) fn mufu_rcp(x: u32, observer: &mut impl Observer) -> u32 {
    let (sign, exponent, mantissa) = (x & SIGN, x >> 23 & 0xff, x & 0x7f_ffff);
    match exponent {
        0 => sign | INFINITY,
        255 if mantissa != 0 => NAN_F32,
        255 => sign,
        _ => {
            let exponent = exponent as i32 - 127;
            sign | to_f32(of_significand(mantissa, exponent, observer), -exponent)
        }
    }
}

/// 1/x of an f64: takes its upper word and returns the result's.
pub(super) fn mufu_rcp64h(x: u32, observer: &mut impl Observer) -> u32 {
    let UpperWord {
        sign,
        exponent,
        mantissa,
    } = UpperWord::new(x);
    match exponent {
        0 => sign | upper_word::INFINITY,
        2047 if mantissa != 0 => upper_word::NAN,
        2047 => sign,
        _ => {
            let exponent = exponent as i32 - 1023;
            let sum = of_significand(mantissa, exponent, observer);
            sign | upper_word::of_sum(sum, -exponent)
        }
    }
}
