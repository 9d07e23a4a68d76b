//! Floating-point formats and roundings that Rust lacks: f16, bf16, directed rounding, NVIDIA's NaN.

/// The NaN that every NVIDIA f32 instruction returns (PTX ISA, "Floating Point Instructions").
pub(crate) const NAN_F32: u32 = 0x7fff_ffff;

/// The bits of an f32 result, with NVIDIA's NaN in place of the host's. It selects between integers,
/// because the compiler may replace one NaN by another.
#[inline(always)]
pub(crate) fn canonical(value: f32) -> u32 {
    let bits = value.to_bits();
    if value.is_nan() { NAN_F32 } else { bits }
}

/// A binary format narrower than f64: bits of mantissa (without the hidden one) and of exponent.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    mantissa: u32,
    exponent: u32,
}
impl Format {
    pub const fn new(mantissa: u32, exponent: u32) -> Self {
        Self { mantissa, exponent }
    }
}
pub(crate) const F16: Format = Format {
    mantissa: 10,
    exponent: 5,
};
pub(crate) const BF16: Format = Format {
    mantissa: 7,
    exponent: 8,
};
pub(crate) const F32: Format = Format {
    mantissa: 23,
    exponent: 8,
};

/// IEEE 754 rounding directions, by their PTX names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// To nearest, ties to even.
    Rn,
    /// Toward zero.
    Rz,
    /// Toward minus infinity.
    Rm,
    /// Toward plus infinity.
    Rp,
}

impl Rounding {
    /// For const generics, which do not support enums.
    pub const fn from_u8(x: u8) -> Self {
        match x {
            x if x == Rounding::Rz as u8 => Rounding::Rz,
            x if x == Rounding::Rm as u8 => Rounding::Rm,
            x if x == Rounding::Rp as u8 => Rounding::Rp,
            _ => Rounding::Rn,
        }
    }
}

/// Rounds an f64 to `format` once and returns its bits; NaN becomes all ones except the sign.
pub(crate) fn narrow(value: f64, format: Format, rounding: Rounding) -> u32 {
    let bits = value.to_bits();
    let sign = ((bits >> 63) as u32) << (format.mantissa + format.exponent);
    let infinity = ((1u32 << format.exponent) - 1) << format.mantissa;
    if value.is_nan() {
        return infinity | ((1 << format.mantissa) - 1);
    }
    if value.is_infinite() {
        return sign | infinity;
    }
    if value == 0.0 {
        return sign;
    }
    let bias = (1i32 << (format.exponent - 1)) - 1;
    // value = significand x 2^(exponent - 52), with the significand's top bit at 52 (f64 subnormals,
    // far below every format here, have a smaller one).
    let raw = ((bits >> 52) & 0x7ff) as i32;
    let fraction = bits & ((1 << 52) - 1);
    let (significand, exponent) = if raw == 0 {
        (fraction, -1022)
    } else {
        (fraction | 1 << 52, raw - 1023)
    };
    // How many low bits are dropped: more for a result below the smallest normal exponent.
    let normal = exponent.max(1 - bias);
    let drop = (52 - format.mantissa as i32) + (normal - exponent);
    let (kept, rest, half) = if drop >= 64 {
        (0, 1u64, 2u64)
    } else {
        (
            significand >> drop,
            significand & ((1u64 << drop) - 1),
            1u64 << (drop - 1),
        )
    };
    let negative = sign != 0;
    let up = match rounding {
        Rounding::Rn => rest > half || (rest == half && kept & 1 == 1),
        Rounding::Rz => false,
        Rounding::Rm => negative && rest != 0,
        Rounding::Rp => !negative && rest != 0,
    };
    let kept = (kept + u64::from(up)) as u32;
    // The hidden bit, where there is one, carries into the exponent field.
    let biased = (normal + bias - 1) as u64;
    let magnitude = (biased << format.mantissa) + u64::from(kept);
    if magnitude >= u64::from(infinity) {
        let away = match rounding {
            Rounding::Rn => true,
            Rounding::Rz => false,
            Rounding::Rm => negative,
            Rounding::Rp => !negative,
        };
        return sign | if away { infinity } else { infinity - 1 };
    }
    sign | magnitude as u32
}

pub(crate) fn f16_to_f64(bits: u64) -> f64 {
    f64::from(half::f16::from_bits(bits as u16).to_f32_const())
}
pub(crate) fn bf16_to_f64(bits: u64) -> f64 {
    f64::from(f32::from_bits((bits as u32 & 0xffff) << 16))
}

/// `a * b + c` in f64 with the last bit set if the result is inexact ("round to odd"), so that
/// another rounding to a much narrower format gives the same result as a single one. The product of
/// two f16 or bf16 values is exact in f64.
pub(crate) fn fma_to_odd(a: f64, b: f64, c: f64) -> f64 {
    let product = a * b;
    let sum = product + c;
    if !sum.is_finite() {
        return sum;
    }
    // Knuth's two-sum: the error of the addition, exactly.
    let part = sum - product;
    let error = (product - (sum - part)) + (c - part);
    if error == 0.0 || sum.to_bits() & 1 == 1 {
        return sum;
    }
    let toward_error = (error > 0.0) == (sum > 0.0);
    f64::from_bits(if toward_error {
        sum.to_bits() + 1
    } else {
        sum.to_bits() - 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrowing_agrees_with_half_on_every_f16_and_between() {
        for bits in 0..=u16::MAX {
            let value = half::f16::from_bits(bits);
            if value.is_nan() {
                continue;
            }
            let x = value.to_f64_const();
            assert_eq!(narrow(x, F16, Rounding::Rn), u32::from(bits));
            // After a change of less than half a unit it rounds back.
            for nudge in [x * (1.0 + 1e-5), x * (1.0 - 1e-5)] {
                let expected = half::f16::from_f32_const(nudge as f32).to_bits();
                assert_eq!(
                    narrow(f64::from(nudge as f32), F16, Rounding::Rn),
                    u32::from(expected),
                    "{nudge}"
                );
            }
        }
    }

    #[test]
    fn narrowing_agrees_with_rust_on_f32() {
        for x in [
            0.1,
            1e-40,
            1e-46,
            1e39,
            -3.5,
            1.000_000_059_604_644_8,
            f64::MIN_POSITIVE,
        ] {
            assert_eq!(narrow(x, F32, Rounding::Rn), (x as f32).to_bits(), "{x}");
        }
        assert_eq!(narrow(1e39, F32, Rounding::Rz), f32::MAX.to_bits());
        assert_eq!(narrow(f64::NAN, F32, Rounding::Rn), NAN_F32);
        assert_eq!(narrow(-1.5, BF16, Rounding::Rn), 0xbfc0);
    }
}
