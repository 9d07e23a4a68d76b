//! Factors as vector instructions take them: as f32 and their exponents, or as significands with signs and exponents.
use super::super::format::NONE;
use super::super::{Bits, Format, M, N};
use super::{Eight, Work, vectorized};

/// With exponents up to this magnitude, products of two factors and the unit 2^(kept - E) are normal f32s. A scaled product may
/// underflow: it is then below 1, and truncates to 0.
const MODERATE: i32 = 40;

/// Below this exponent all products are zero, and any unit is correct for them.
pub(super) const LEAST: i32 = -2 * MODERATE;

/// Vectors that are computed together: as many as hide an instruction's latency, and fit the registers of AVX2.
pub(super) const FOUR: usize = 4;

/// 16 rows of A, 16 x 16, converted once for all columns of a `wgmma`.
pub(crate) struct Rows {
    pub bits: [u16; M * 16],
    /// Whether the following may be used.
    pub(super) moderate: bool,
    /// Of the upper and the lower 8 rows: by k, and for each pair of rows, an element four times and the next row's four times.
    pub(super) floats: [[[[i32; N]; FOUR]; 16]; 2],
    /// Exponents as bytes, less [`BIAS`]: by k, the even rows' in one word, four times, and the odd ones'.
    pub(super) exponents: [[[i32; N]; 16]; 2],
}

/// 8 columns of B, 16 x 8, even ones before odd ones, converted once for the rows of four warps.
pub(crate) struct Columns {
    /// Each word holds k and k + 1.
    pub words: [[u32; N]; 8],
    /// Whether the following may be used.
    pub(super) moderate: bool,
    /// By k, of the even and of the odd columns.
    pub(super) floats: [[[i32; 4]; 2]; 16],
    /// Exponents as bytes, each four times.
    pub(super) exponents: [[[i32; 4]; 2]; 16],
}

/// What is subtracted from exponents of A.
pub(super) const BIAS: i32 = 1;

/// The exponent of zero in a byte: with any other it gives one below [`LEAST`].
const NO_BYTE: i32 = i8::MIN as i32;

impl Rows {
    pub const ZERO: Self = Self {
        bits: [0; M * 16],
        moderate: false,
        floats: [[[[0; N]; FOUR]; 16]; 2],
        exponents: [[[0; N]; 16]; 2],
    };

    /// Must follow a change of the bits.
    pub fn convert(&mut self, format: Format) {
        vectorized(Conversion(format, self));
    }
}

impl Columns {
    pub const ZERO: Self = Self {
        words: [[0; N]; 8],
        moderate: false,
        floats: [[[0; 4]; 2]; 16],
        exponents: [[[0; 4]; 2]; 16],
    };

    /// Must follow a change of the words.
    pub fn convert(&mut self, format: Format) {
        vectorized(Conversion(format, self));
    }

    /// The elements (k, n), with even columns before odd ones.
    pub fn bits(&self) -> [u16; 16 * N] {
        let word = |i: usize| self.words[i / N / 2][i % N] >> (16 * (i / N % 2));
        std::array::from_fn(|i| word(i) as u16)
    }
}

struct Conversion<'a, T>(Format, &'a mut T);

impl Work for Conversion<'_, Rows> {
    type Output = ();

    #[inline(always)]
    fn compute<V: Eight>(self, _: V) {
        let Self(format, to) = self;
        let mut all = Floats::<{ M * 16 }>::ZERO;
        to.moderate = all.convert(format, &to.bits);
        let values = all.value.as_chunks::<16>().0.as_chunks::<2>().0;
        for (pairs, to) in values.as_chunks::<FOUR>().0.iter().zip(&mut to.floats) {
            for (k, to) in to.iter_mut().enumerate() {
                for (to, [even, odd]) in to.iter_mut().zip(pairs) {
                    *to = halves(even[k], odd[k]);
                }
            }
        }
        let exponents = all.exponent.as_chunks::<16>().0.as_chunks::<2>().0;
        let upper_and_lower = exponents.as_chunks::<FOUR>().0.iter();
        for (pairs, to) in upper_and_lower.zip(&mut to.exponents) {
            let mut words = [[0; 16]; 2];
            for (byte, pair) in pairs.iter().enumerate() {
                for (words, row) in words.iter_mut().zip(pair) {
                    for (word, exponent) in words.iter_mut().zip(row) {
                        *word |= (((*exponent).max(NO_BYTE + BIAS) - BIAS) & 0xff) << (8 * byte);
                    }
                }
            }
            for (to, (even, odd)) in to.iter_mut().zip(words[0].iter().zip(words[1])) {
                *to = halves(*even, odd);
            }
        }
    }
}

/// One number in the lower half of a vector, another in the upper half.
#[inline(always)]
fn halves(a: i32, b: i32) -> [i32; N] {
    [a, a, a, a, b, b, b, b]
}

impl Work for Conversion<'_, Columns> {
    type Output = ();

    #[inline(always)]
    fn compute<V: Eight>(self, _: V) {
        let Self(format, to) = self;
        let mut bits = [[[0; N]; 2]; 8];
        for ([even, odd], words) in bits.iter_mut().zip(&to.words) {
            for ((even, odd), word) in even.iter_mut().zip(odd).zip(words) {
                (*even, *odd) = (word & 0xffff, word >> 16);
            }
        }
        let mut all = Floats::<{ 16 * N }>::ZERO;
        to.moderate = all.convert(format, bits.as_flattened().as_flattened());
        let floats = to.floats.as_flattened_mut().as_flattened_mut();
        floats.copy_from_slice(&all.value);
        let exponents = to.exponents.as_flattened_mut().as_flattened_mut();
        for (to, exponent) in exponents.iter_mut().zip(all.exponent) {
            *to = i32::from_ne_bytes([exponent.max(NO_BYTE) as u8; 4]);
        }
    }
}

/// Factors as the bits of f32, and their exponents.
pub(super) struct Floats<const COUNT: usize> {
    pub(super) value: [i32; COUNT],
    pub(super) exponent: [i32; COUNT],
}

impl<const COUNT: usize> Floats<COUNT> {
    pub(super) const ZERO: Self = Self {
        value: [0; COUNT],
        exponent: [0; COUNT],
    };

    /// Returns whether all exponents are moderate; these floats are of no use otherwise.
    #[inline(always)]
    pub(super) fn convert(&mut self, format: Format, bits: &[impl Bits]) -> bool {
        // Specializes the formats with their constants.
        match format {
            Format::F16 => self.convert_from(Format::F16, bits),
            Format::Bf16 => self.convert_from(Format::Bf16, bits),
            Format::Tf32 => self.convert_from(Format::Tf32, bits),
            Format::E4m3 => false,
        }
    }

    #[inline(always)]
    fn convert_from(&mut self, format: Format, bits: &[impl Bits]) -> bool {
        let mut moderate = true;
        let to = self.value.iter_mut().zip(&mut self.exponent);
        for ((value, exponent), &bits) in to.zip(bits) {
            let bits: u32 = bits.into();
            (*value, *exponent) = match format {
                Format::F16 => {
                    let (sign, magnitude) = (bits >> 15, bits & 0x7fff);
                    // Shifts exponent and mantissa left and scales by the difference of the biases, which is exact for
                    // subnormal numbers too.
                    let scaled = f32::from_bits(magnitude << 13) * f32::from_bits(0x7780_0000);
                    let normal = (magnitude >> 10).max(1) as i32 - 15;
                    moderate &= magnitude < 0x7c00;
                    let exponent = if magnitude == 0 { NONE } else { normal };
                    ((scaled.to_bits() | sign << 31) as i32, exponent)
                }
                Format::Bf16 | Format::Tf32 | Format::E4m3 => {
                    let value = match format {
                        Format::Bf16 => bits << 16,
                        _ => bits & !0x1fff,
                    };
                    let normal = (value >> 23 & 0xff) as i32 - 127;
                    let zero = value & 0x7fff_ffff == 0;
                    moderate &= zero | (normal.abs() <= MODERATE);
                    (value as i32, if zero { NONE } else { normal })
                }
            };
        }
        moderate
    }
}

/// The fields of factors. A sign is 0 or -1.
pub(super) struct Split<const COUNT: usize> {
    pub(super) sign: [i32; COUNT],
    pub(super) magnitude: [i32; COUNT],
    pub(super) exponent: [i32; COUNT],
}

/// Some of these factors.
pub(super) struct Part<'a> {
    pub(super) sign: &'a [i32],
    pub(super) magnitude: &'a [i32],
    pub(super) exponent: &'a [i32],
}

impl<const COUNT: usize> Split<COUNT> {
    #[inline(always)]
    pub(super) fn new(format: Format, bits: &[impl Bits], up: i32) -> Self {
        let mut split = Self {
            sign: [0; COUNT],
            magnitude: [0; COUNT],
            exponent: [NONE; COUNT],
        };
        for (i, &bits) in bits.iter().take(COUNT).enumerate() {
            let (significand, exponent) = format.split(bits.into());
            split.sign[i] = significand >> 31;
            split.magnitude[i] = significand.abs() << up;
            split.exponent[i] = exponent;
        }
        split
    }

    #[inline(always)]
    pub(super) fn range(&self, from: usize, count: usize) -> Option<Part<'_>> {
        let range = from..from + count;
        Some(Part {
            sign: self.sign.get(range.clone())?,
            magnitude: self.magnitude.get(range.clone())?,
            exponent: self.exponent.get(range)?,
        })
    }
}
