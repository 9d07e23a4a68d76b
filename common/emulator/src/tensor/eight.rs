//! The rule of the parent module in SIMD: computes the eight outputs of a row together.
#[cfg(target_arch = "x86_64")]
mod avx2;
mod factors;
mod panel;
#[cfg(not(target_family = "wasm"))]
mod plain;
#[cfg(target_family = "wasm")]
mod simd128;

#[cfg(not(target_family = "wasm"))]
use plain::Plain;

use super::format::{nearest_f16, power};
use super::{Bits, Card, Format, LOWEST, M, N, Sums};
pub(crate) use factors::{Columns, Rows};
use factors::{FOUR, Floats, LEAST, Split};
#[cfg(test)]
pub(super) use panel::place;
use panel::toward_zero;
pub(crate) use panel::{Accumulators, add_panels};

/// C becomes A B + C for finite numbers: A is 16 x K, B is K x 8, C is 16 x 8. If a result is subnormal, which is rare,
/// returns `None` and leaves C unchanged; the scalar rule then handles it.
pub(super) fn outputs<T: Bits>(
    card: Card,
    formats: (Format, Sums),
    a: &[T],
    b: &[T],
    c: &mut [u32; M * N],
) -> Option<()> {
    vectorized(Outputs {
        card,
        formats,
        a,
        b,
        c,
    })
}

/// What is compiled for each set of vector instructions.
trait Work {
    type Output;
    /// Must be inlined.
    fn compute<V: Eight>(self, v: V) -> Self::Output;
}

/// Does the work with the CPU's vector instructions. They affect only the speed, not the bits, because every step is exact.
fn vectorized<W: Work>(work: W) -> W::Output {
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
    /// Four numbers, and the same again.
    fn twice(self, from: &[i32; 4]) -> Self::Word;
    fn splat(self, value: i32) -> Self::Word;
    fn add(self, a: Self::Word, b: Self::Word) -> Self::Word;
    fn sub(self, a: Self::Word, b: Self::Word) -> Self::Word;
    fn mul(self, a: Self::Word, b: Self::Word) -> Self::Word;
    fn max(self, a: Self::Word, b: Self::Word) -> Self::Word;
    fn abs(self, a: Self::Word) -> Self::Word;
    fn and(self, a: Self::Word, b: Self::Word) -> Self::Word;
    fn or(self, a: Self::Word, b: Self::Word) -> Self::Word;
    fn xor(self, a: Self::Word, b: Self::Word) -> Self::Word;
    /// -1 where a > b, else 0.
    fn greater(self, a: Self::Word, b: Self::Word) -> Self::Word;
    /// A logical shift; 0 if it is 32 bits or more.
    fn shift_right(self, a: Self::Word, bits: Self::Word) -> Self::Word;
    fn shift_left<const BITS: i32>(self, a: Self::Word) -> Self::Word;
    /// Adds each byte, signed and saturating.
    fn add_bytes(self, a: Self::Word, b: Self::Word) -> Self::Word;
    /// The larger of each two bytes, signed.
    fn max_bytes(self, a: Self::Word, b: Self::Word) -> Self::Word;
    /// The smaller of each two bytes, signed.
    fn min_bytes(self, a: Self::Word, b: Self::Word) -> Self::Word;
    /// The product of the bits of f32.
    fn product(self, a: Self::Word, b: Self::Word) -> Self::Word;
    /// The bits of an f32, truncated to an integer below 2^31.
    fn truncate(self, a: Self::Word) -> Self::Word;
    /// An integer as the bits of the nearest f32.
    fn nearest(self, a: Self::Word) -> Self::Word;
    /// For each i: element i of the first vector in the lower four lanes, of the second one in the upper four.
    #[inline(always)]
    fn spread(self, pair: [Self::Word; 2]) -> [Self::Word; N] {
        let [a, b] = pair.map(|word| self.store(word));
        std::array::from_fn(|i| self.load(&[a[i], a[i], a[i], a[i], b[i], b[i], b[i], b[i]]))
    }
    /// Exchanges rows and columns.
    #[inline(always)]
    fn transpose(self, rows: [Self::Word; N]) -> [Self::Word; N] {
        let rows = rows.map(|row| self.store(row));
        std::array::from_fn(|i| self.load(&rows.map(|row| row[i])))
    }
}

/// The work, with a set of vector instructions.
#[cfg(target_arch = "x86_64")]
struct On<W>(pulp::x86::V3, W);

#[cfg(target_arch = "x86_64")]
impl<W: Work> pulp::NullaryFnOnce for On<W> {
    type Output = W::Output;

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

impl<T: Bits> Work for Outputs<'_, T> {
    type Output = Option<()>;

    #[inline(always)]
    fn compute<V: Eight>(self, v: V) -> Option<()> {
        let (kept, (format, sums)) = (self.card.kept(), self.formats);
        let mut sum = [0; M * N];
        // For floats, zero may have any exponent that is below those of products.
        let mut e = match sums {
            Sums::F32 => self.c.map(|c| (c >> 23 & 0xff).max(1) as i32 - 127),
            Sums::F16 => self.addends(),
        };
        if self.by_floats(v, &mut e, &mut sum).is_some() {
            if sums == Sums::F32 && rounded(v, kept, (&e, &sum), self.c).is_some() {
                return Some(());
            }
        } else {
            let special = |bits: &T| format.is_special((*bits).into());
            if self.a.iter().any(special) || self.b.iter().any(special) {
                return None;
            }
            e = self.addends();
            // Specializes the formats with their constants.
            match format {
                Format::F16 => self.by_integers(v, Format::F16, &mut e, &mut sum),
                Format::Bf16 => self.by_integers(v, Format::Bf16, &mut e, &mut sum),
                Format::Tf32 => self.by_integers(v, Format::Tf32, &mut e, &mut sum),
                Format::E4m3 => None,
            }?;
        }
        if !self.c.iter().all(|&c| sums.is_finite(c)) {
            return None;
        }
        let mut d = [0; M * N];
        let mut subnormal = false;
        for i in 0..M * N {
            let (addend, exponent) = sums.split(self.c[i]);
            let magnitude = addend.unsigned_abs() << (kept - 23);
            let cut = magnitude.unbounded_shr((e[i] - exponent) as u32) as i32;
            let sign = addend >> 31;
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
}

impl<T: Bits> Outputs<'_, T> {
    /// E of the addends alone.
    #[inline(always)]
    fn addends(&self) -> [i32; M * N] {
        self.c.map(|c| self.formats.1.split(c).1.max(LOWEST))
    }

    /// Raises each E to the largest exponent of the products, and sums the products in units of 2^(E - kept). An f32
    /// represents the product of two factors, scaled by a power of two, exactly; its conversion to an integer truncates
    /// toward zero, as a tensor core does. Returns `None` if an exponent exceeds [`MODERATE`] or the format is fp8.
    #[inline(always)]
    fn by_floats<V: Eight>(
        &self,
        v: V,
        e: &mut [i32; M * N],
        sum: &mut [i32; M * N],
    ) -> Option<()> {
        let (mut a, mut b) = (Floats::ZERO, Floats::ZERO);
        if !a.convert(self.formats.0, self.a) || !b.convert(self.formats.0, self.b) {
            return None;
        }
        let rows = a.exponent.chunks_exact(self.b.len() / N);
        for (e, row) in e.as_chunks_mut().0.iter_mut().zip(rows) {
            *e = v.store(largest(v, e, row, b.exponent.as_chunks().0));
        }
        let kept = self.card.kept();
        match self.b.len() / N {
            16 => products::<V, 16>(v, kept, (&a, &b), e, sum),
            8 => products::<V, 8>(v, kept, (&a, &b), e, sum),
            _ => products::<V, 4>(v, kept, (&a, &b), e, sum),
        }
        Some(())
    }

    /// The same for any factors.
    #[inline(always)]
    fn by_integers<V: Eight>(
        &self,
        v: V,
        format: Format,
        e: &mut [i32; M * N],
        sum: &mut [i32; M * N],
    ) -> Option<()> {
        let (kept, steps) = (self.card.kept(), self.b.len() / N);
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

/// The sums of [`Outputs::by_floats`], with a number of steps known at compile time.
#[inline(always)]
fn products<V: Eight, const STEPS: usize>(
    v: V,
    kept: i32,
    (a, b): (&Floats<{ M * 16 }>, &Floats<{ 16 * N }>),
    e: &[i32; M * N],
    sum: &mut [i32; M * N],
) {
    let rows = a.value.as_chunks::<STEPS>().0.as_chunks::<FOUR>().0;
    let e = e.as_chunks().0.as_chunks::<FOUR>().0;
    let sum = sum.as_chunks_mut().0.as_chunks_mut::<FOUR>().0;
    for (rows, (e, sum)) in rows.iter().zip(e.iter().zip(sum)) {
        let (mut units, mut totals) = ([v.splat(0); FOUR], [v.splat(0); FOUR]);
        for (unit, e) in units.iter_mut().zip(e) {
            *unit = scale(v, kept, v.load(e));
        }
        for (k, b) in b.value.as_chunks().0.iter().enumerate().take(STEPS) {
            let b = v.load(b);
            for (total, (row, unit)) in totals.iter_mut().zip(rows.iter().zip(&units)) {
                let product = v.product(v.product(v.splat(row[k]), b), *unit);
                *total = v.add(*total, v.truncate(product));
            }
        }
        for (sum, total) in sum.iter_mut().zip(totals) {
            *sum = v.store(total);
        }
    }
}

/// 2^(kept - E) as the bits of an f32, for E of at least [`LEAST`]; lower ones count as that.
#[inline(always)]
fn scale<V: Eight>(v: V, kept: i32, e: V::Word) -> V::Word {
    let field = v.sub(v.splat(kept + 127), v.max(e, v.splat(LEAST)));
    v.shift_left::<23>(field)
}

/// Adds sums of products, in units of 2^(E - kept), to C and rounds toward zero. Returns `None`, and changes nothing, if an
/// addend is not finite, is lost in the units of [`LEAST`], or the sum is too wide.
#[inline(always)]
fn rounded<V: Eight>(
    v: V,
    kept: i32,
    (e, sum): (&[i32; M * N], &[i32; M * N]),
    c: &mut [u32; M * N],
) -> Option<()> {
    /// An addend is below 2^26, so that a sum which overflows becomes one beyond this bound. The f32 nearest to one within
    /// it is still an integer of 32 bits.
    const WIDE: i32 = i32::MAX - (1 << 26);
    let mut d = [0; M * N];
    let mut rare = v.splat(0);
    let rows = e.as_chunks().0.iter().zip(sum.as_chunks().0);
    let to = c.as_chunks::<N>().0.iter().zip(d.as_chunks_mut().0);
    for ((e, sum), (c, d)) in rows.zip(to) {
        let (e, c) = (v.load(e), v.load(&pulp::cast(*c)));
        let unit = scale(v, kept, e);
        let total = v.add(v.load(sum), v.truncate(v.product(c, unit)));
        let [above, below] = [
            v.greater(total, v.splat(WIDE)),
            v.greater(v.splat(-WIDE), total),
        ];
        let lost = v.and(v.greater(v.splat(LEAST), e), c);
        let special = v.greater(e, v.splat(127));
        rare = v.or(v.or(rare, lost), v.or(special, v.or(above, below)));
        *d = v.store(toward_zero(v, total, unit));
    }
    if v.store(rare) != [0; N] {
        return None;
    }
    *c = d.map(|bits| bits as u32);
    Some(())
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
