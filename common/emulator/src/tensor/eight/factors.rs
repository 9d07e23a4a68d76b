//! Factors as vector instructions take them: as f32 and their exponents, or as significands with signs and exponents.
use super::super::format::NONE;
use super::super::{Bits, Format, M, N};

/// With exponents up to this magnitude, products of two factors and the unit 2^(kept - E) are normal f32s. A scaled product may
/// underflow: it is then below 1, and truncates to 0.
const MODERATE: i32 = 40;

/// Below this exponent all products are zero, and any unit is correct for them.
pub(super) const LEAST: i32 = -2 * MODERATE;

/// Rows whose exponents are compared together: with 8 columns, these are the bytes of a vector.
pub(super) const FOUR: usize = 4;

/// Exponents of A, step by step, each repeated for the columns of B.
pub(super) type RowExponents = [[[[i8; N]; FOUR]; M / FOUR]; 16];
/// Exponents of B, step by step, repeated for four rows of A.
pub(super) type ColumnExponents = [[[i8; N]; FOUR]; 16];

/// 16 rows of A, 16 x 16, converted once for several products.
pub(crate) struct Rows {
    pub bits: [u16; M * 16],
    pub(super) floats: Floats<{ M * 16 }>,
    /// Whether these may be used.
    pub(super) moderate: bool,
    pub(super) exponents: RowExponents,
}

/// 8 columns of B, 16 x 8 (k, n), converted once for several products.
pub(crate) struct Columns {
    pub bits: [u16; 16 * N],
    pub(super) floats: Floats<{ 16 * N }>,
    /// Whether these may be used.
    pub(super) moderate: bool,
    pub(super) exponents: ColumnExponents,
}

impl Rows {
    pub const ZERO: Self = Self {
        bits: [0; M * 16],
        floats: Floats::ZERO,
        moderate: false,
        exponents: [[[[0; N]; FOUR]; M / FOUR]; 16],
    };

    /// Must follow a change of the bits.
    pub fn convert(&mut self, format: Format) {
        self.moderate = self.floats.convert(format, &self.bits);
        let rows = self.floats.exponent.as_chunks::<16>().0;
        for (k, to) in self.exponents.iter_mut().enumerate() {
            for (to, row) in to.as_flattened_mut().iter_mut().zip(rows) {
                *to = [row[k].max(NO_BYTE) as i8; N];
            }
        }
    }
}

impl Columns {
    pub const ZERO: Self = Self {
        bits: [0; 16 * N],
        floats: Floats::ZERO,
        moderate: false,
        exponents: [[[0; N]; FOUR]; 16],
    };

    /// Must follow a change of the bits.
    pub fn convert(&mut self, format: Format) {
        self.moderate = self.floats.convert(format, &self.bits);
        let rows = self.floats.exponent.as_chunks::<N>().0;
        for (to, row) in self.exponents.iter_mut().zip(rows) {
            *to = [row.map(|exponent| exponent.max(NO_BYTE) as i8); FOUR];
        }
    }
}

/// The exponent of zero in a byte: with any other it gives one below [`LEAST`].
const NO_BYTE: i32 = i8::MIN as i32;

/// Factors as the bits of f32, and their exponents.
pub(super) struct Floats<const COUNT: usize> {
    pub(super) value: [i32; COUNT],
    pub(super) exponent: [i32; COUNT],
}

impl<const COUNT: usize> Floats<COUNT> {
    pub(super) const ZERO: Self = Self {
        value: [0; COUNT],
        exponent: [NONE; COUNT],
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
