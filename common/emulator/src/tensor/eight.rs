//! The rule of the parent module in whole vectors: the eight outputs of a row side by side.
use super::factors::{Floats, K, ZERO};
use super::format::{NONE, nearest_f16, power};
use super::vectors::{Eight, Work, run};
use super::{Bits, Card, Format, LOWEST, M, N, Sums};

/// C becomes A B + C for finite numbers: A is 16 x K, B is K x 8, C is 16 x 8. Not where a result is subnormal, which is
/// rare and left to the rule as it is written: then it is `None`, and C as it was.
pub(super) fn outputs<T: Bits>(
    card: Card,
    formats: (Format, Sums),
    a: &[T],
    b: &[T],
    c: &mut [u32; M * N],
) -> Option<()> {
    run(Outputs {
        card,
        formats,
        a,
        b,
        c,
    })
}

/// The same on an H100, of factors that were taken apart before.
pub(super) fn outputs_of(
    sums: Sums,
    a: &Floats<{ M * K }>,
    b: &Floats<{ K * N }>,
    c: &mut [u32; M * N],
) -> Option<()> {
    run(Prepared { sums, a, b, c })
}

struct Prepared<'a> {
    sums: Sums,
    a: &'a Floats<{ M * K }>,
    b: &'a Floats<{ K * N }>,
    c: &'a mut [u32; M * N],
}

impl Work for Prepared<'_> {
    #[inline(always)]
    fn compute<V: Eight>(self, v: V) -> Option<()> {
        // Each with its own constants.
        match self.sums {
            Sums::F32 => self.of(v, Sums::F32),
            Sums::F16 => self.of(v, Sums::F16),
        }
    }
}

impl Prepared<'_> {
    #[inline(always)]
    fn of<V: Eight>(self, v: V, sums: Sums) -> Option<()> {
        let kept = Card::H100.kept();
        let mut terms = Terms::new(sums, self.c);
        by_floats(v, kept, (self.a, self.b), &mut terms)?;
        terms.add_to(kept, sums, self.c)
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
    #[inline(always)]
    fn compute<V: Eight>(self, v: V) -> Option<()> {
        use {Format::*, Sums as S};
        // The common ones each with its own constants.
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
}

impl<T: Bits> Outputs<'_, T> {
    #[inline(always)]
    fn of<V: Eight>(self, v: V, card: Card, format: Format, sums: Sums) -> Option<()> {
        let Self { a, b, c, .. } = self;
        let (kept, steps) = (card.kept(), b.len() / N);
        let mut terms = Terms::new(sums, c);
        let floats = match (a.first_chunk(), b.first_chunk(), steps) {
            (Some(a), Some(b), K) => decoded(format, a, b),
            _ => decoded(format, &padded(a, steps, K), &padded(b, N, N)),
        };
        match floats {
            Some((a, b)) => by_floats(v, kept, (&a, &b), &mut terms)?,
            None => by_integers(v, kept, format, (a, b), &mut terms)?,
        }
        terms.add_to(kept, sums, c)
    }
}

/// What is added: addends as significands, E of each sum, which begins as the addend's exponent, and the products' sums in
/// units of 2^(E - kept).
struct Terms {
    addend: [i32; M * N],
    e: [i32; M * N],
    sum: [i32; M * N],
}

impl Terms {
    #[inline(always)]
    fn new(sums: Sums, c: &[u32; M * N]) -> Self {
        let mut terms = Self {
            addend: [0; M * N],
            e: [0; M * N],
            sum: [0; M * N],
        };
        for (i, &c) in c.iter().enumerate() {
            let (significand, exponent) = sums.split(c);
            (terms.addend[i], terms.e[i]) = (significand, exponent.max(LOWEST));
        }
        terms
    }

    /// C becomes the sums, unless one of them is subnormal.
    #[inline(always)]
    fn add_to(&self, kept: i32, sums: Sums, c: &mut [u32; M * N]) -> Option<()> {
        let mut d = [0; M * N];
        let mut subnormal = false;
        for i in 0..M * N {
            let exponent = sums.split(c[i]).1;
            let magnitude = self.addend[i].unsigned_abs() << (kept - 23);
            let cut = magnitude.unbounded_shr((self.e[i] - exponent) as u32) as i32;
            let sign = self.addend[i] >> 31;
            let addend = (cut ^ sign) - sign;
            // 33 bits: exact in an f64.
            let value = (f64::from(self.sum[i]) + f64::from(addend)) * power(self.e[i] - kept);
            d[i] = match sums {
                Sums::F32 => {
                    // It loses the 29 bits that an f32 does not have, so that nothing is left to round.
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
        *c = d;
        Some(())
    }
}

type Both = (Floats<{ M * K }>, Floats<{ K * N }>);

#[inline(always)]
fn decoded<T: Bits>(format: Format, a: &[T; M * K], b: &[T; K * N]) -> Option<Both> {
    Some((Floats::new(format, a)?, Floats::new(format, b)?))
}

/// Rows of `from` elements as rows of `to`, filled up with zeros: as factors they change no sum.
#[inline(always)]
fn padded<T: Bits, const COUNT: usize>(all: &[T], from: usize, to: usize) -> [T; COUNT] {
    let mut rows = [T::default(); COUNT];
    for (to, from) in rows.chunks_exact_mut(to).zip(all.chunks_exact(from)) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = *from;
        }
    }
    rows
}

/// Raises each E to that of the products, and adds up the products in units of 2^(E - kept). An f32 holds a product of
/// two such factors and any power of two that it is moved by exactly, and becomes a whole number by being cut toward zero,
/// as a tensor core cuts.
#[inline(always)]
fn by_floats<V: Eight>(
    v: V,
    kept: i32,
    (a, b): (&Floats<{ M * K }>, &Floats<{ K * N }>),
    terms: &mut Terms,
) -> Option<()> {
    /// The field of the largest power of two.
    const LARGEST: i32 = 254;
    /// Rows whose exponents are found at once.
    const ROWS: usize = 4;
    let largest = a.largest + b.largest;
    let b_rows = b.value.as_chunks::<N>().0;
    let fours = a.value.as_chunks::<{ ROWS * K }>().0.iter();
    let fours = fours.zip(a.exponent.as_chunks::<{ ROWS * K }>().0);
    let outputs = terms.e.as_chunks_mut::<{ ROWS * N }>().0.iter_mut();
    let outputs = outputs.zip(terms.sum.as_chunks_mut::<{ ROWS * N }>().0);
    for ((e, sum), (value, exponent)) in outputs.zip(fours) {
        let tops = v.largest_sums(exponent, &b.exponent);
        let rows = e.as_chunks_mut::<N>().0.iter_mut();
        let rows = rows.zip(sum.as_chunks_mut::<N>().0);
        for (((e, sum), value), top) in rows.zip(value.as_chunks::<K>().0).zip(tops) {
            let top = top.map(|top| match top {
                ZERO => NONE,
                top => i32::from(top) + largest,
            });
            let top = v.max(v.load(e), v.load(&top));
            *e = v.store(top);
            // 2^(kept - E), by its field.
            let field = v.sub(v.splat(kept + 127 + largest), top);
            let field = v.min(v.max(field, v.splat(0)), v.splat(LARGEST));
            let unit = v.mul(field, v.splat(1 << 23));
            let mut total = v.splat(0);
            for (a, b) in value.iter().zip(b_rows) {
                total = v.add(total, v.whole_product(v.splat(*a), v.load(b), unit));
            }
            *sum = v.store(total);
        }
    }
    Some(())
}

/// The same for factors whose products may be beyond an f32.
#[inline(always)]
fn by_integers<T: Bits, V: Eight>(
    v: V,
    kept: i32,
    format: Format,
    (a, b): (&[T], &[T]),
    terms: &mut Terms,
) -> Option<()> {
    let steps = b.len() / N;
    // A's significands are moved up, so that a product is in units of 2^(its exponent - kept).
    let up = kept - 2 * format.mantissa_bits() as i32;
    let a = Split::<{ M * 16 }>::new(format, a, up);
    let b = Split::<{ 16 * N }>::new(format, b, 0);
    let rows = terms.e.as_chunks_mut().0.iter_mut();
    let rows = rows.zip(terms.sum.as_chunks_mut().0);
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

/// The largest exponents of a row's products and addends.
#[inline(always)]
fn largest<V: Eight>(v: V, addends: &[i32; N], a: &[i32], b: &[[i32; N]]) -> V::Word {
    a.iter().zip(b).fold(v.load(addends), |top, (a, b)| {
        v.max(top, v.add(v.splat(*a), v.load(b)))
    })
}

/// Factors, taken apart. A sign is 0 or -1.
struct Split<const COUNT: usize> {
    sign: [i32; COUNT],
    magnitude: [i32; COUNT],
    exponent: [i32; COUNT],
}

/// Some of them.
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
    use crate::tensor::vectors::Plain;

    #[test]
    fn vectors_of_any_cpu_give_the_same_bits() {
        let mut state = 1u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 32) as u32
        };
        /// Exponents up to half of the largest, so that all is finite; of f16 sums, all but the largest.
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

    /// Whether there was a result, which is then that of both.
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
