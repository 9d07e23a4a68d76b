//! The rule of the parent module in SIMD: computes the eight outputs of a row together.
#[cfg(target_family = "wasm")]
mod simd128;

use super::format::{NONE, nearest_f16, power};
use super::{Bits, Card, Format, LOWEST, M, N, Sums};

/// C becomes A B + C for finite numbers: A is 16 x K, B is K x 8, C is 16 x 8. If a result is subnormal, which is rare,
/// returns `None` and leaves C unchanged; the scalar rule then handles it.
pub(super) fn outputs<T: Bits>(
    card: Card,
    formats: (Format, Sums),
    a: &[T],
    b: &[T],
    c: &mut [u32; M * N],
) -> Option<()> {
    // The CPU's vector instructions affect only the speed, not the bits, because every step is exact.
    let work = Outputs {
        card,
        formats,
        a,
        b,
        c,
    };
    match pulp::Arch::new() {
        #[cfg(target_arch = "x86_64")]
        pulp::Arch::V3(v3) => v3.vectorize(On(v3, work)),
        // Eight words fill an AVX2 vector; a CPU with AVX-512 also has AVX2.
        #[cfg(target_arch = "x86_64")]
        pulp::Arch::V4(v4) => v4.vectorize(On(*v4, work)),
        #[cfg(not(target_family = "wasm"))]
        _ => work.compute(Plain),
        #[cfg(target_family = "wasm")]
        _ => work.compute(simd128::Simd128),
    }
}

/// Arithmetic on eight 32-bit numbers, wrapping.
trait Eight: Copy {
    type Word: Copy;
    fn load(self, from: &[i32; N]) -> Self::Word;
    fn store(self, word: Self::Word) -> [i32; N];
    fn splat(self, value: i32) -> Self::Word;
    fn add(self, a: Self::Word, b: Self::Word) -> Self::Word;
    fn sub(self, a: Self::Word, b: Self::Word) -> Self::Word;
    fn mul(self, a: Self::Word, b: Self::Word) -> Self::Word;
    fn max(self, a: Self::Word, b: Self::Word) -> Self::Word;
    fn xor(self, a: Self::Word, b: Self::Word) -> Self::Word;
    /// A logical shift; 0 if it is 32 bits or more.
    fn shift_right(self, a: Self::Word, bits: Self::Word) -> Self::Word;
    /// a b c, each the bits of an f32, truncated to an integer below 2^31.
    fn whole_product(self, a: Self::Word, b: Self::Word, c: Self::Word) -> Self::Word;
}

/// Scalar code for any CPU.
#[cfg(not(target_family = "wasm"))]
#[derive(Clone, Copy)]
struct Plain;

#[cfg(not(target_family = "wasm"))]
impl Eight for Plain {
    type Word = [i32; N];
    fn load(self, from: &[i32; N]) -> [i32; N] {
        *from
    }
    fn store(self, word: [i32; N]) -> [i32; N] {
        word
    }
    fn splat(self, value: i32) -> [i32; N] {
        [value; N]
    }
    fn add(self, a: [i32; N], b: [i32; N]) -> [i32; N] {
        std::array::from_fn(|n| a[n].wrapping_add(b[n]))
    }
    fn sub(self, a: [i32; N], b: [i32; N]) -> [i32; N] {
        std::array::from_fn(|n| a[n].wrapping_sub(b[n]))
    }
    fn mul(self, a: [i32; N], b: [i32; N]) -> [i32; N] {
        std::array::from_fn(|n| a[n].wrapping_mul(b[n]))
    }
    fn max(self, a: [i32; N], b: [i32; N]) -> [i32; N] {
        std::array::from_fn(|n| a[n].max(b[n]))
    }
    fn xor(self, a: [i32; N], b: [i32; N]) -> [i32; N] {
        std::array::from_fn(|n| a[n] ^ b[n])
    }
    fn shift_right(self, a: [i32; N], bits: [i32; N]) -> [i32; N] {
        std::array::from_fn(|n| (a[n] as u32).unbounded_shr(bits[n] as u32) as i32)
    }
    fn whole_product(self, a: [i32; N], b: [i32; N], c: [i32; N]) -> [i32; N] {
        std::array::from_fn(|n| {
            let [a, b, c] = [a[n], b[n], c[n]].map(|bits| f32::from_bits(bits as u32));
            (a * b * c) as i32
        })
    }
}

#[cfg(target_arch = "x86_64")]
impl Eight for pulp::x86::V3 {
    type Word = std::arch::x86_64::__m256i;
    #[inline(always)]
    fn load(self, from: &[i32; N]) -> Self::Word {
        pulp::cast(*from)
    }
    #[inline(always)]
    fn store(self, word: Self::Word) -> [i32; N] {
        pulp::cast(word)
    }
    #[inline(always)]
    fn splat(self, value: i32) -> Self::Word {
        self.avx._mm256_set1_epi32(value)
    }
    #[inline(always)]
    fn add(self, a: Self::Word, b: Self::Word) -> Self::Word {
        self.avx2._mm256_add_epi32(a, b)
    }
    #[inline(always)]
    fn sub(self, a: Self::Word, b: Self::Word) -> Self::Word {
        self.avx2._mm256_sub_epi32(a, b)
    }
    #[inline(always)]
    fn mul(self, a: Self::Word, b: Self::Word) -> Self::Word {
        self.avx2._mm256_mullo_epi32(a, b)
    }
    #[inline(always)]
    fn max(self, a: Self::Word, b: Self::Word) -> Self::Word {
        self.avx2._mm256_max_epi32(a, b)
    }
    #[inline(always)]
    fn xor(self, a: Self::Word, b: Self::Word) -> Self::Word {
        self.avx2._mm256_xor_si256(a, b)
    }
    #[inline(always)]
    fn shift_right(self, a: Self::Word, bits: Self::Word) -> Self::Word {
        self.avx2._mm256_srlv_epi32(a, bits)
    }
    #[inline(always)]
    fn whole_product(self, a: Self::Word, b: Self::Word, c: Self::Word) -> Self::Word {
        let [a, b, c] = [a, b, c].map(|word| self.avx._mm256_castsi256_ps(word));
        let product = self.avx._mm256_mul_ps(self.avx._mm256_mul_ps(a, b), c);
        self.avx._mm256_cvttps_epi32(product)
    }
}

/// The work, with a set of vector instructions.
#[cfg(target_arch = "x86_64")]
struct On<'a, T>(pulp::x86::V3, Outputs<'a, T>);

#[cfg(target_arch = "x86_64")]
impl<T: Bits> pulp::NullaryFnOnce for On<'_, T> {
    type Output = Option<()>;

    #[inline(always)]
    fn call(self) -> Self::Output {
        self.1.compute(self.0)
    }
}

struct Outputs<'a, T> {
    card: Card,
    formats: (Format, Sums),
    a: &'a [T],
    b: &'a [T],
    c: &'a mut [u32; M * N],
}

impl<T: Bits> Outputs<'_, T> {
    #[inline(always)]
    fn compute<V: Eight>(self, v: V) -> Option<()> {
        use {Format::*, Sums as S};
        // Specializes the common formats with their constants.
        match (self.card, self.formats) {
            (Card::H100, (F16, S::F32)) => self.of(v, Card::H100, F16, S::F32),
            (Card::H100, (F16, S::F16)) => self.of(v, Card::H100, F16, S::F16),
            (Card::H100, (Bf16, S::F32)) => self.of(v, Card::H100, Bf16, S::F32),
            (Card::H100, (Tf32, S::F32)) => self.of(v, Card::H100, Tf32, S::F32),
            (Card::A100, (F16, S::F32)) => self.of(v, Card::A100, F16, S::F32),
            (Card::A100, (Bf16, S::F32)) => self.of(v, Card::A100, Bf16, S::F32),
            (Card::H100 | Card::A100, _) => None,
        }
    }

    #[inline(always)]
    fn of<V: Eight>(self, v: V, card: Card, format: Format, sums: Sums) -> Option<()> {
        let kept = card.kept();
        let (mut addend, mut e, mut sum) = ([0; M * N], [0; M * N], [0; M * N]);
        for i in 0..M * N {
            let (significand, exponent) = sums.split(self.c[i]);
            (addend[i], e[i]) = (significand, exponent.max(LOWEST));
        }
        if self.by_floats(v, kept, format, &mut e, &mut sum).is_none() {
            self.by_integers(v, kept, format, &mut e, &mut sum)?;
        }
        let mut d = [0; M * N];
        let mut subnormal = false;
        for i in 0..M * N {
            let exponent = sums.split(self.c[i]).1;
            let magnitude = addend[i].unsigned_abs() << (kept - 23);
            let cut = magnitude.unbounded_shr((e[i] - exponent) as u32) as i32;
            let sign = addend[i] >> 31;
            let addend = (cut ^ sign) - sign;
            // 33 bits: exact in an f64.
            let value = (f64::from(sum[i]) + f64::from(addend)) * power(e[i] - kept);
            d[i] = match sums {
                Sums::F32 => {
                    // Clears the 29 bits that an f32 does not have, so that the conversion is exact.
                    let cut = f64::from_bits(value.to_bits() & !((1 << 29) - 1));
                    subnormal |= value.abs() < f64::from(f32::MIN_POSITIVE) && value != 0.0;
                    (cut as f32).to_bits()
                }
                Sums::F16 => nearest_f16(value),
            };
        }
        if subnormal {
            return None;
        }
        *self.c = d;
        Some(())
    }

    /// Raises each E to the largest exponent of the products, and sums the products in units of 2^(E - kept). An f32
    /// represents the product of two factors, scaled by a power of two, exactly; its conversion to an integer truncates
    /// toward zero, as a tensor core does. Returns `None`, and changes nothing, if an exponent exceeds [`MODERATE`] or the
    /// format is fp8.
    #[inline(always)]
    fn by_floats<V: Eight>(
        &self,
        v: V,
        kept: i32,
        format: Format,
        e: &mut [i32; M * N],
        sum: &mut [i32; M * N],
    ) -> Option<()> {
        match self.b.len() / N {
            16 => self.by_floats_of::<V, 16>(v, kept, format, e, sum),
            8 => self.by_floats_of::<V, 8>(v, kept, format, e, sum),
            _ => self.by_floats_of::<V, 4>(v, kept, format, e, sum),
        }
    }

    /// The same with a number of steps known at compile time.
    #[inline(always)]
    fn by_floats_of<V: Eight, const STEPS: usize>(
        &self,
        v: V,
        kept: i32,
        format: Format,
        e: &mut [i32; M * N],
        sum: &mut [i32; M * N],
    ) -> Option<()> {
        /// Below this exponent all products are zero, and any unit is correct.
        const LEAST: i32 = -2 * MODERATE;
        let a = Floats::<{ M * 16 }>::new(format, self.a)?;
        let b = Floats::<{ 16 * N }>::new(format, self.b)?;
        let [b_value, b_exponent] =
            [&b.value, &b.exponent].map(|all| all.as_chunks::<N>().0.first_chunk::<STEPS>());
        let (b_value, b_exponent) = (b_value?, b_exponent?);
        let a_rows = a.value.as_chunks::<STEPS>().0.iter();
        let a_rows = a_rows.zip(a.exponent.as_chunks::<STEPS>().0);
        let rows = e.as_chunks_mut().0.iter_mut().zip(sum.as_chunks_mut().0);
        for ((e, sum), (a_value, a_exponent)) in rows.zip(a_rows) {
            let top = largest(v, e, a_exponent, b_exponent);
            *e = v.store(top);
            // 2^(kept - E), built from its exponent field.
            let field = v.sub(v.splat(kept + 127), v.max(top, v.splat(LEAST)));
            let unit = v.mul(field, v.splat(1 << 23));
            let mut total = v.splat(0);
            for (a, b) in a_value.iter().zip(b_value) {
                total = v.add(total, v.whole_product(v.splat(*a), v.load(b), unit));
            }
            *sum = v.store(total);
        }
        Some(())
    }

    /// The same for any factors.
    #[inline(always)]
    fn by_integers<V: Eight>(
        &self,
        v: V,
        kept: i32,
        format: Format,
        e: &mut [i32; M * N],
        sum: &mut [i32; M * N],
    ) -> Option<()> {
        let steps = self.b.len() / N;
        // Shifts A's significands left, so that a product is in units of 2^(its exponent - kept).
        let up = kept - 2 * format.mantissa_bits() as i32;
        let a = Split::<{ M * 16 }>::new(format, self.a, up);
        let b = Split::<{ 16 * N }>::new(format, self.b, 0);
        let rows = e.as_chunks_mut().0.iter_mut().zip(sum.as_chunks_mut().0);
        for (row, (e, sum)) in rows.enumerate() {
            let a = a.range(row * steps, steps)?;
            let top = largest(v, e, a.exponent, b.exponent.as_chunks().0);
            *e = v.store(top);
            // 16 products of bf16 below 2^27 - 2^16 fit an i32, and 8 of tf32 below 2^27.
            let mut total = v.splat(0);
            for k in 0..steps {
                let b = b.range(k * N, N)?;
                let [sign, magnitude, exponent] = [b.sign, b.magnitude, b.exponent]
                    .map(|eight| v.load(eight.as_chunks().0.first().unwrap_or(&[0; N])));
                let exponent = v.add(v.splat(a.exponent[k]), exponent);
                let product = v.mul(v.splat(a.magnitude[k]), magnitude);
                let cut = v.shift_right(product, v.sub(top, exponent));
                let sign = v.xor(v.splat(a.sign[k]), sign);
                total = v.add(total, v.sub(v.xor(cut, sign), sign));
            }
            *sum = v.store(total);
        }
        Some(())
    }
}

/// The largest exponents of a row's products and addends.
#[inline(always)]
fn largest<V: Eight>(v: V, addends: &[i32; N], a: &[i32], b: &[[i32; N]]) -> V::Word {
    a.iter().zip(b).fold(v.load(addends), |top, (a, b)| {
        v.max(top, v.add(v.splat(*a), v.load(b)))
    })
}

/// With exponents up to this magnitude, products of two factors and the unit 2^(kept - E) are normal f32s. A scaled product may
/// underflow: it is then below 1, and truncates to 0.
const MODERATE: i32 = 40;

/// Factors as the bits of f32, and their exponents.
struct Floats<const COUNT: usize> {
    value: [i32; COUNT],
    exponent: [i32; COUNT],
}

impl<const COUNT: usize> Floats<COUNT> {
    /// `None` if an exponent is not moderate.
    #[inline(always)]
    fn new(format: Format, bits: &[impl Bits]) -> Option<Self> {
        let mut floats = Self {
            value: [0; COUNT],
            exponent: [NONE; COUNT],
        };
        let mut moderate = true;
        let to = floats.value.iter_mut().zip(&mut floats.exponent);
        for ((value, exponent), &bits) in to.zip(bits) {
            let bits: u32 = bits.into();
            (*value, *exponent) = match format {
                Format::F16 => {
                    let (sign, magnitude) = (bits >> 15, bits & 0x7fff);
                    // Shifts exponent and mantissa left and scales by the difference of the biases, which is exact for
                    // subnormal numbers too.
                    let scaled = f32::from_bits(magnitude << 13) * f32::from_bits(0x7780_0000);
                    let normal = (magnitude >> 10).max(1) as i32 - 15;
                    let exponent = if magnitude == 0 { NONE } else { normal };
                    ((scaled.to_bits() | sign << 31) as i32, exponent)
                }
                Format::Bf16 | Format::Tf32 => {
                    let value = match format {
                        Format::Bf16 => bits << 16,
                        _ => bits & !0x1fff,
                    };
                    let normal = (value >> 23 & 0xff) as i32 - 127;
                    let zero = value & 0x7fff_ffff == 0;
                    moderate &= zero | (normal.abs() <= MODERATE);
                    (value as i32, if zero { NONE } else { normal })
                }
                Format::E4m3 => return None,
            };
        }
        moderate.then_some(floats)
    }
}

/// The fields of factors. A sign is 0 or -1.
struct Split<const COUNT: usize> {
    sign: [i32; COUNT],
    magnitude: [i32; COUNT],
    exponent: [i32; COUNT],
}

/// Some of these factors.
struct Part<'a> {
    sign: &'a [i32],
    magnitude: &'a [i32],
    exponent: &'a [i32],
}

impl<const COUNT: usize> Split<COUNT> {
    #[inline(always)]
    fn new(format: Format, bits: &[impl Bits], up: i32) -> Self {
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
    fn range(&self, from: usize, count: usize) -> Option<Part<'_>> {
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
    use super::*;

    #[test]
    fn vectors_of_any_cpu_give_the_same_bits() {
        let mut state = 1u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 32) as u32
        };
        /// Limits exponents to half of the largest, so that all results are finite; for f16 sums excludes only the
        /// largest.
        const FINITE: u16 = 0xbfff;
        for (format, sums) in [
            (Format::F16, Sums::F32),
            (Format::F16, Sums::F16),
            (Format::Bf16, Sums::F32),
            (Format::Tf32, Sums::F32),
        ] {
            let mut compared = 0;
            for _ in 0..500 {
                let c: [u32; 128] = std::array::from_fn(|_| match sums {
                    Sums::F32 => random() & 0xbfff_ffff,
                    Sums::F16 => random() & u32::from(FINITE),
                });
                for card in Card::ALL {
                    let found = match format {
                        Format::Tf32 => {
                            let a: [u32; 128] = std::array::from_fn(|_| random() & 0xbfff_ffff);
                            let b: [u32; 64] = std::array::from_fn(|_| random() & 0xbfff_ffff);
                            both(card, (format, sums), &a, &b, &c)
                        }
                        Format::F16 | Format::Bf16 | Format::E4m3 => {
                            let a: [u16; 256] = std::array::from_fn(|_| random() as u16 & FINITE);
                            let b: [u16; 128] = std::array::from_fn(|_| random() as u16 & FINITE);
                            both(card, (format, sums), &a, &b, &c)
                        }
                    };
                    compared += u32::from(found);
                }
            }
            assert!(compared > 400, "{format:?} {compared}");
        }
    }

    /// Whether the vector path returned a result, which must equal the scalar one.
    fn both<T: Bits>(
        card: Card,
        formats: (Format, Sums),
        a: &[T],
        b: &[T],
        c: &[u32; M * N],
    ) -> bool {
        let (mut plain, mut vectors) = (*c, *c);
        let work = Outputs {
            card,
            formats,
            a,
            b,
            c: &mut plain,
        };
        let done = work.compute(Plain);
        assert_eq!(done, outputs(card, formats, a, b, &mut vectors));
        assert_eq!(plain, vectors);
        done.is_some()
    }
}
