//! Conversions of 32 lanes at a time.
use super::lanes::LanesB32;
use crate::lower::NAN_F32;
use crate::tensor::Factor;

/// The bits of a result with NVIDIA's NaN. It selects between floats, because `lower::float_format::canonical`
/// would slow a GEMM down by 10%. The compiler would be free to replace one NaN by another here; a test checks
/// that it does not (`tests/arithmetic_h100.rs`).
#[inline(always)]
pub(super) fn nvidia_nan(value: f32) -> u32 {
    let value = if value.is_nan() {
        f32::from_bits(NAN_F32)
    } else {
        value
    };
    value.to_bits()
}

#[inline(always)]
pub(super) fn half_to_float(a: &LanesB32) -> LanesB32 {
    let mut out = LanesB32::ZERO;
    let mut largest = 0;
    for i in 0..32 {
        // Shift exponent and mantissa up, then scale by the difference of the biases, which is
        // exact for subnormal numbers too.
        let bits = a.0[i];
        let magnitude = bits & 0x7fff;
        let scaled = f32::from_bits(magnitude << 13) * f32::from_bits(0x7780_0000);
        largest = largest.max(magnitude);
        out.0[i] = scaled.to_bits() | (bits & 0x8000) << 16;
    }
    if largest >= 0x7c00 {
        replace_special(a, &mut out);
    }
    out
}

/// Infinity and NaN have the top exponent in both formats.
#[inline(never)]
fn replace_special(a: &LanesB32, out: &mut LanesB32) {
    for i in 0..32 {
        let sign = (a.0[i] & 0x8000) << 16;
        match a.0[i] & 0x7fff {
            0..0x7c00 => {}
            0x7c00 => out.0[i] = 0x7f80_0000 | sign,
            _ => out.0[i] = 0x7fff_ffff,
        }
    }
}

#[inline(never)]
pub(super) fn float_to_half(a: &LanesB32) -> LanesB32 {
    let mut out = LanesB32::ZERO;
    for i in 0..32 {
        let value = f32::from_bits(a.0[i]);
        out.0[i] = if value.is_nan() {
            0x7fff
        } else {
            u32::from(half::f16::from_f32_const(value).to_bits())
        };
    }
    out
}

/// Two halves of this format, the first above the second.
#[inline(always)]
pub(super) fn floats_to_halves(format: Factor, high: &LanesB32, low: &LanesB32) -> LanesB32 {
    let [high, low] = match format {
        Factor::F16 => [high, low].map(float_to_half),
        Factor::Bf16 => [high, low].map(float_to_bf16),
    };
    let mut out = LanesB32::ZERO;
    for i in 0..32 {
        out.0[i] = high.0[i] << 16 | low.0[i];
    }
    out
}

#[inline(always)]
fn float_to_bf16(a: &LanesB32) -> LanesB32 {
    let mut out = LanesB32::ZERO;
    for i in 0..32 {
        // Half a unit, or less if that would round a tie up to an odd number; a carry goes into the exponent.
        let bits = a.0[i];
        let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
        out.0[i] = if f32::from_bits(bits).is_nan() {
            0x7fff
        } else {
            rounded
        };
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::lanes::Lanes;
    use crate::lower::{BF16, F16, Rounding, narrow};

    #[test]
    fn vectors_round_as_single_numbers() {
        for number in 0..=u32::MAX >> 12 {
            // All exponents, with bits below and above half a unit of either format.
            let at = |middle: u32| number.rotate_right(9) ^ middle;
            let [high, low] = [at(0x1000), at(0x8000)];
            for (format, to) in [(Factor::F16, F16), (Factor::Bf16, BF16)] {
                let [high_lanes, low_lanes] = [high, low].map(|bits| Lanes([bits; 32]));
                let found = floats_to_halves(format, &high_lanes, &low_lanes).0[31];
                let rounded = |bits| narrow(f32::from_bits(bits).into(), to, Rounding::Rn);
                assert_eq!(
                    found,
                    rounded(high) << 16 | rounded(low),
                    "{high:x} {low:x}"
                );
            }
        }
    }
}
