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

    /// Exchanges k and columns: each of the words' rows was a column.
    pub fn transpose(&mut self) {
        vectorized(Transposition(&mut self.words));
    }

    /// The elements (k, n), with even columns before odd ones.
    pub fn bits(&self) -> [u16; 16 * N] {
        let word = |i: usize| self.words[i / N / 2][i % N] >> (16 * (i / N % 2));
        std::array::from_fn(|i| word(i) as u16)
    }
}

struct Transposition<'a>(&'a mut [[u32; N]; 8]);

impl Work for Transposition<'_> {
    type Output = ();

    #[inline(always)]
    fn compute<V: Eight>(self, v: V) {
        let mut rows = [v.splat(0); N];
        for (to, row) in rows.iter_mut().zip(&*self.0) {
            *to = v.load(&pulp::cast(*row));
        }
        for (to, row) in self.0.iter_mut().zip(v.transpose(rows)) {
            *to = pulp::cast(v.store(row));
        }
    }
}

struct Conversion<'a, T>(Format, &'a mut T);

impl Work for Conversion<'_, Rows> {
    type Output = ();

    #[inline(always)]
    fn compute<V: Eight>(self, v: V) {
        let Self(format, rows) = self;
        let mut extreme = v.splat(0);
        let halves = rows.bits.as_chunks::<16>().0.as_chunks::<8>().0;
        let to = rows.floats.iter_mut().zip(&mut rows.exponents);
        for (rows, (floats, exponents)) in halves.iter().zip(to) {
            // By k modulo 2, of even and of odd rows.
            let mut bytes = [[v.splat(0); 2]; 2];
            for (pair, rows) in rows.as_chunks::<2>().0.iter().enumerate() {
                let mut values = bytes;
                for (i, row) in rows.iter().enumerate() {
                    let row = v.load(&words(row));
                    for odd in 0..2 {
                        let (value, exponent) = factors(v, format, row, odd, &mut extreme);
                        let exponent = v.max(exponent, v.splat(NO_BYTE + BIAS));
                        let byte = v.and(v.sub(exponent, v.splat(BIAS)), v.splat(0xff));
                        let byte = match pair {
                            0 => byte,
                            1 => v.shift_left::<8>(byte),
                            2 => v.shift_left::<16>(byte),
                            _ => v.shift_left::<24>(byte),
                        };
                        values[odd][i] = value;
                        bytes[odd][i] = v.or(bytes[odd][i], byte);
                    }
                }
                for (odd, values) in values.into_iter().enumerate() {
                    let to = floats.iter_mut().skip(odd).step_by(2);
                    for (to, value) in to.zip(v.spread(values)) {
                        to[pair] = v.store(value);
                    }
                }
            }
            for (odd, bytes) in bytes.into_iter().enumerate() {
                let to = exponents.iter_mut().skip(odd).step_by(2);
                for (to, bytes) in to.zip(v.spread(bytes)) {
                    *to = v.store(bytes);
                }
            }
        }
        rows.moderate = v.store(extreme) == [0; N];
    }
}

/// Each word holds k and k + 1.
#[inline(always)]
fn words(row: &[u16; 16]) -> [i32; N] {
    std::array::from_fn(|i| i32::from(row[2 * i]) | i32::from(row[2 * i + 1]) << 16)
}

impl Work for Conversion<'_, Columns> {
    type Output = ();

    #[inline(always)]
    fn compute<V: Eight>(self, v: V) {
        let Self(format, columns) = self;
        let mut extreme = v.splat(0);
        let floats = columns.floats.as_chunks_mut::<2>().0.iter_mut();
        let to = floats.zip(columns.exponents.as_chunks_mut::<2>().0);
        for (words, (floats, exponents)) in columns.words.iter().zip(to) {
            let words = v.load(&pulp::cast(*words));
            for odd in 0..2 {
                let (value, exponent) = factors(v, format, words, odd, &mut extreme);
                floats[odd] = pulp::cast(v.store(value));
                let byte = v.and(exponent, v.splat(0xff));
                let two = v.or(byte, v.shift_left::<8>(byte));
                exponents[odd] = pulp::cast(v.store(v.or(two, v.shift_left::<16>(two))));
            }
        }
        columns.moderate = v.store(extreme) == [0; N];
    }
}

/// The factors in the lower or the upper halves of words, as the bits of f32, and their exponents; that of zero is
/// [`NO_BYTE`]. Sets the bits of `extreme` for those that are not moderate.
#[inline(always)]
fn factors<V: Eight>(
    v: V,
    format: Format,
    words: V::Word,
    upper: usize,
    extreme: &mut V::Word,
) -> (V::Word, V::Word) {
    let high = match upper {
        0 => v.shift_left::<16>(words),
        _ => v.and(words, v.splat(!0xffff)),
    };
    let magnitude = v.and(high, v.splat(i32::MAX));
    let zero = v.greater(v.splat(1), magnitude);
    let (value, exponent, beyond) = if format == Format::F16 {
        // Shifts exponent and mantissa and scales by the difference of the biases, which is exact for subnormal numbers
        // too.
        let scaled = v.product(v.shift_right(magnitude, v.splat(3)), v.splat(0x7780_0000));
        let normal = v.max(v.shift_right(magnitude, v.splat(26)), v.splat(1));
        (
            v.or(scaled, v.and(high, v.splat(i32::MIN))),
            v.sub(normal, v.splat(15)),
            v.greater(magnitude, v.splat(0x7bff_ffff)),
        )
    } else {
        let normal = v.sub(v.shift_right(magnitude, v.splat(23)), v.splat(127));
        // Zero is moderate.
        let beyond = v.sub(v.greater(v.abs(normal), v.splat(MODERATE)), zero);
        (high, normal, beyond)
    };
    *extreme = v.or(*extreme, beyond);
    // Below NO_BYTE, for any exponent.
    let none = v.and(zero, v.splat(2 * NO_BYTE));
    (value, v.max(v.add(exponent, none), v.splat(NO_BYTE)))
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

#[cfg(test)]
mod tests {
    use super::super::Plain;
    use super::*;

    /// A word with two factors; in every eighth round some that are not moderate.
    fn random_word(format: Format, round: u32, state: &mut u64) -> u32 {
        let bits = crate::random::random(state) as u32;
        let (fields, middle) = match format {
            Format::F16 => (0x3fff_3fff, 0),
            _ => (0x0fff_0fff, 0x3a00_3a00),
        };
        let word = match round % 8 {
            0 => bits,
            _ => (bits & (fields | 0x8000_8000)) + middle,
        };
        // Zeros.
        word & [!0, !0, 0xffff_0000, 0x8000][bits as usize % 4]
    }

    #[test]
    fn any_cpu_converts_factors_alike() {
        let mut state = 9;
        let mut moderate = 0;
        for round in 0..400 {
            for format in [Format::F16, Format::Bf16] {
                let mut word = || random_word(format, round, &mut state);
                let [mut a, mut b] = [Rows::ZERO, Rows::ZERO];
                a.bits = std::array::from_fn(|_| word() as u16);
                b.bits = a.bits;
                a.convert(format);
                Conversion(format, &mut b).compute(Plain);
                assert_eq!(a.moderate, b.moderate);
                assert_eq!((a.floats, a.exponents), (b.floats, b.exponents));
                let value = |bits: u16| format.to_f32(bits.into()).to_bits() as i32;
                for (i, &bits) in a.bits.iter().enumerate().filter(|_| a.moderate) {
                    let (row, k) = (i / 16, i % 16);
                    let found = a.floats[row / 8][k][row % 8 / 2];
                    assert_eq!(found[4 * (row % 2)..][..4], [value(bits); 4], "{bits:x}");
                }

                let [mut a, mut b] = [Columns::ZERO, Columns::ZERO];
                a.words = std::array::from_fn(|_| std::array::from_fn(|_| word()));
                b.words = a.words;
                let before = a.words;
                a.transpose();
                Transposition(&mut b.words).compute(Plain);
                assert_eq!(a.words, b.words);
                assert_eq!(a.words, std::array::from_fn(|i| before.map(|row| row[i])));
                a.convert(format);
                Conversion(format, &mut b).compute(Plain);
                assert_eq!(a.moderate, b.moderate);
                assert_eq!((a.floats, a.exponents), (b.floats, b.exponents));
                let floats = a.floats.as_flattened().as_flattened();
                for (bits, found) in a.bits().into_iter().zip(floats).filter(|_| a.moderate) {
                    assert_eq!(value(bits), *found, "{bits:x}");
                }
                moderate += u32::from(a.moderate);
            }
        }
        assert!((100..800).contains(&moderate), "{moderate}");
    }
}
