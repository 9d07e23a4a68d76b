//! Factors of f16, bf16 and tf32, taken apart once for all the products that they are in.
use super::eight::outputs_of;
use super::format::Format;
use super::{Arithmetic, Bits, Card, M, N, multiply};

/// Elements along K of one sum, zeros behind what an instruction has.
pub(super) const K: usize = 16;

/// Exponent of a zero. A sum of two exponents saturates here, and no other sum is as low.
pub(super) const ZERO: i8 = i8::MIN;

/// How far below the largest an exponent may be: products stay normal numbers of f32, and so does the unit that they are
/// counted in.
const SPREAD: i32 = 50;

/// A matrix of finite factors, relative to 2^`largest`: as f32, and the exponents of what is not zero.
pub(super) struct Floats<const COUNT: usize> {
    pub value: [i32; COUNT],
    pub exponent: [i8; COUNT],
    pub largest: i32,
}

impl<const COUNT: usize> Floats<COUNT> {
    /// None if the exponents are too far apart, or subnormal where others are not near.
    #[inline(always)]
    pub fn new(format: Format, bits: &[impl Bits; COUNT]) -> Option<Self> {
        match format {
            Format::F16 => Some(Self::of_f16(bits)),
            Format::Bf16 => Self::of_f32(bits, |bits| bits << 16),
            Format::Tf32 => Self::of_f32(bits, |bits| bits & !0x1fff),
            Format::E4m3 => None,
        }
    }

    /// None, too, where there are infinities or NaN.
    #[inline(always)]
    fn of_finite(format: Format, bits: &[impl Bits; COUNT]) -> Option<Self> {
        let is_special = |bits| format.is_special(bits);
        match bits
            .iter()
            .fold(false, |any, &bits| any | is_special(bits.into()))
        {
            true => None,
            false => Self::new(format, bits),
        }
    }

    /// All exponents of f16 are near 15.
    #[inline(always)]
    fn of_f16(bits: &[impl Bits; COUNT]) -> Self {
        const LARGEST: i32 = 15;
        let (mut value, mut exponent) = ([0; COUNT], [ZERO; COUNT]);
        for ((value, exponent), &bits) in value.iter_mut().zip(&mut exponent).zip(bits) {
            let bits: u32 = bits.into();
            let (sign, magnitude) = (bits >> 15, bits & 0x7fff);
            // Exponent and mantissa moved up, and the difference of the biases scaled away: exact for subnormals too.
            const SCALE: f32 = f32::from_bits((127 + 112 - LARGEST as u32) << 23);
            let scaled = f32::from_bits(magnitude << 13) * SCALE;
            *value = (scaled.to_bits() | sign << 31) as i32;
            let normal = (magnitude >> 10).max(1) as i32 - 15 - LARGEST;
            *exponent = if magnitude == 0 { ZERO } else { normal as i8 };
        }
        Self {
            value,
            exponent,
            largest: LARGEST,
        }
    }

    /// Formats with the exponents of f32.
    #[inline(always)]
    fn of_f32(bits: &[impl Bits; COUNT], widen: impl Fn(u32) -> u32) -> Option<Self> {
        let mut wide = [0; COUNT];
        let mut top = 1;
        for (wide, &bits) in wide.iter_mut().zip(bits) {
            *wide = widen(bits.into());
            top = (*wide >> 23 & 0xff).max(top);
        }
        let lowest = (top as i32 - SPREAD).max(1);
        let (mut value, mut exponent, mut is_far) = ([0; COUNT], [ZERO; COUNT], false);
        for ((value, exponent), bits) in value.iter_mut().zip(&mut exponent).zip(wide) {
            let field = (bits >> 23 & 0xff) as i32;
            let is_zero = bits << 1 == 0;
            is_far |= !is_zero && field < lowest;
            let scaled = bits.wrapping_add(127u32.wrapping_sub(top) << 23) as i32;
            *value = if is_zero { 0 } else { scaled };
            *exponent = if is_zero {
                ZERO
            } else {
                (field - top as i32) as i8
            };
        }
        (!is_far).then_some(Self {
            value,
            exponent,
            largest: top as i32 - 127,
        })
    }
}

/// A matrix that several products share: its bits, and what is made of them once.
pub(crate) struct Factors<const COUNT: usize> {
    pub bits: [u16; COUNT],
    floats: Option<Floats<COUNT>>,
}

impl<const COUNT: usize> Factors<COUNT> {
    pub fn new(arithmetic: Arithmetic, bits: [u16; COUNT]) -> Self {
        let floats = match arithmetic {
            Arithmetic::Half(factor, _) => {
                pulp::Arch::new().dispatch(|| Floats::of_finite(factor.into(), &bits))
            }
            Arithmetic::Tf32
            | Arithmetic::Unpacked(..)
            | Arithmetic::E4m3
            | Arithmetic::Integer { .. }
            | Arithmetic::Bits(_) => None,
        };
        Self { bits, floats }
    }
}

/// [`multiply`] on an H100, of shared factors.
pub(crate) fn multiply_factors(
    arithmetic: Arithmetic,
    a: &Factors<{ M * K }>,
    b: &Factors<{ K * N }>,
    c: &[u32; M * N],
) -> [u32; M * N] {
    if let (Arithmetic::Half(_, sums), Some(x), Some(y)) = (arithmetic, &a.floats, &b.floats)
        && c.iter().fold(true, |all, &c| all & sums.is_finite(c))
    {
        let mut d = *c;
        if outputs_of(sums, x, y, &mut d).is_some() {
            return d;
        }
    }
    multiply::<K, { M * K }, { K * N }>(Card::H100, arithmetic, &a.bits, &b.bits, c)
}
