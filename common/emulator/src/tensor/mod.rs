//! Bit-exact tensor cores: f16, bf16 and tf32 factors by the rule below, in this file; fp8 in `fp8.rs`, integers in
//! `integer.rs`.
//!
//! The H100's rule was found by measurement, and reproduces every output that was compared with an H100
//! (`calibration/tests/all/hardware.rs` holds a sample). For one output, with K products and the addend:
//!
//! 1. A NaN input, 0 x infinity, or infinities of both signs give [`NAN`]. Otherwise any infinity determines the
//!    result.
//! 2. Every input is a significand times a power of two; a subnormal number has the smallest normal
//!    exponent. The significand of a product is the exact product of the significands, its exponent the
//!    sum of the exponents; it is not normalized.
//! 3. E is the largest exponent among the non-zero terms, but at least -133.
//! 4. Each term is truncated toward zero to a multiple of 2^(E-25).
//! 5. These terms are summed exactly.
//! 6. The sum is rounded toward zero to f32; above the largest f32 it is infinite, and a sum of zero is +0. If
//!    the addend and the result are f16, it is rounded to nearest, ties to even, and a result that rounds to
//!    zero is +0.
//!
//! K is that of the whole instruction: 16 or 8 for f16 and bf16, 8 or 4 for tf32.
//!
//! The A100's is **from the literature, not calibrated here**: terms are truncated to a multiple of 2^(E-24), and an
//! instruction with 16 products computes two chained sums of 8: k 0 to 7 with the addend, then k 8 to 15 with the
//! first result. The source is the public code of two models: MMA-Sim (24 fraction bits, K split in two; Xie and
//! others, arXiv 2511.10909) and the MATLAB models of Khattak and Mikaitis (8 terms, one extra bit; arXiv 2512.07004).
//! Both follow Fasi and others, "Numerical behavior of NVIDIA tensor cores" (PeerJ Computer Science 7:e330, 2021). The
//! lower bound of E is assumed to be the same as on the H100.

mod eight;
mod format;
mod fp8;
mod integer;
mod steps;

pub(crate) use eight::{Accumulators, Columns, Rows, add_panels};
pub(crate) use format::{Format, Sums};
pub(crate) use fp8::Fp8;
pub(crate) use integer::{BitOp, Integer};
pub use steps::{Steps, Term, steps};

use crate::Card;

/// Format of 16-bit factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factor {
    /// IEEE half precision: 5 bits of exponent, 10 of mantissa.
    F16,
    /// The upper half of an f32: 8 bits of exponent, 7 of mantissa.
    Bf16,
}

/// The NaN that tensor cores return where the result is f32.
pub const NAN: u32 = 0x7fff_ffff;

/// The lower bound of E.
const LOWEST: i32 = -133;

/// The arithmetic of a matrix instruction: formats of factors and sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    /// Factors of 16 bits.
    Half(Factor, Sums),
    Tf32,
    /// fp8 in `mma.sync`, converted to f16.
    Unpacked([Fp8; 2], Sums),
    /// fp8 in `wgmma`, with f32 sums.
    E4m3,
    Integer {
        factors: [Integer; 2],
        saturate: bool,
    },
    Bits(BitOp),
}

impl Arithmetic {
    /// Whether two sums share a register; otherwise each has 32 bits.
    pub fn is_packed(self) -> bool {
        match self {
            Self::Half(_, sums) | Self::Unpacked(_, sums) => sums == Sums::F16,
            Self::Tf32 | Self::E4m3 | Self::Integer { .. } | Self::Bits(_) => false,
        }
    }

    /// The format of factors of 16 bits.
    pub fn half(self) -> Option<Format> {
        match self {
            Self::Half(factor, _) => Some(factor.into()),
            Self::Tf32 | Self::Unpacked(..) | Self::E4m3 | Self::Integer { .. } | Self::Bits(_) => {
                None
            }
        }
    }
}

impl Card {
    /// Bits that are kept below E.
    const fn kept(self) -> i32 {
        match self {
            Self::H100 => 25,
            Self::A100 => 24,
        }
    }
}

impl Factor {
    /// The value of these bits.
    pub fn to_f32(self, bits: u16) -> f32 {
        Format::from(self).to_f32(bits.into())
    }
    /// The bits of the number of this format nearest to `value`, ties to even.
    pub fn nearest(self, value: f64) -> u16 {
        match self {
            Factor::F16 => half::f16::from_f64(value).to_bits(),
            Factor::Bf16 => half::bf16::from_f64(value).to_bits(),
        }
    }
}

/// Computes one output term by term, exactly as the rule above; tests compare the vector path with it.
fn cut_sum(
    kept: i32,
    format: Format,
    sums: Sums,
    products: impl Iterator<Item = (u32, u32)> + Clone,
    c: u32,
) -> u32 {
    let mut infinity: Option<bool> = None;
    let mut see = |value: f32| -> bool {
        if value.is_nan() {
            return true;
        }
        if value.is_infinite() {
            let negative = value < 0.0;
            return infinity
                .replace(negative)
                .is_some_and(|other| other != negative);
        }
        false
    };
    for (a, b) in products.clone() {
        // Only infinities and NaN matter here; bf16 factors may overflow f32 where the sum does not.
        if (format.is_special(a) || format.is_special(b))
            && see(format.to_f32(a) * format.to_f32(b))
        {
            return sums.nan();
        }
    }
    if see(sums.to_f32(c)) {
        return sums.nan();
    }
    if let Some(negative) = infinity {
        return sums.infinity(negative);
    }
    let terms = products.map(|(a, b)| Term::product(format, a, b));
    let terms = terms.chain([Term::addend(sums, c)]);
    let e = largest_exponent(terms.clone());
    let sum: i64 = terms.map(|term| term.cut(kept, e)).sum();
    sums.round(sum, e - kept)
}

/// E of the rule above.
fn largest_exponent(terms: impl Iterator<Item = Term>) -> i32 {
    terms.map(|term| term.exponent).fold(LOWEST, i32::max)
}

/// Rows of A, and of C and D.
pub const M: usize = 16;
/// Columns of B, and of C and D.
pub const N: usize = 8;

/// Computes D = A B + C like one `mma.sync` m16n8kK of this card: A is 16 x K, B is K x 8, C and D are 16 x 8, all
/// row-major; K is 8 or 16. C and D are the bits of f32.
///
/// `wgmma` of an H100 computes each output in the same way, so its 64 rows are four of these.
pub fn mma<const K: usize, const A: usize, const B: usize>(
    card: Card,
    factor: Factor,
    a: &[u16; A],
    b: &[u16; B],
    c: &[u32; M * N],
) -> [u32; M * N] {
    let mut d = *c;
    half::<K, A, B>(card, factor, Sums::F32, a, b, &mut d);
    d
}

/// The same for any arithmetic: adds A B to C. K counts units of 16 bits, which hold one or more packed elements or half
/// of one; low bits come first. C has one sum per word.
#[inline(always)]
pub(crate) fn multiply<const K: usize, const A: usize, const B: usize>(
    card: Card,
    arithmetic: Arithmetic,
    a: &[u16; A],
    b: &[u16; B],
    c: &mut [u32; M * N],
) {
    match arithmetic {
        Arithmetic::Half(factor, sums) => half::<K, A, B>(card, factor, sums, a, b, c),
        other => *c = packed(card, other, &bytes(a, b, K), c),
    }
}

fn half<const K: usize, const A: usize, const B: usize>(
    card: Card,
    factor: Factor,
    sums: Sums,
    a: &[u16; A],
    b: &[u16; B],
    c: &mut [u32; M * N],
) {
    const { assert!(A == M * K && B == K * N) };
    if card == Card::A100 && K == 16 {
        halves(factor, sums, a, b, c);
    } else {
        sum::<u16, K, A, B>(card, (factor.into(), sums), a, b, c);
    }
}

/// Rows of A and columns of B, padded with zeros to 32 bytes.
type Packed = ([[u16; 16]; M], [[u16; 16]; N]);

fn bytes(a: &[u16], b: &[u16], k: usize) -> Packed {
    let at = |of: &[u16], i: usize| of.get(i).copied().unwrap_or_default();
    let row = |m| std::array::from_fn(|i| if i < k { at(a, m * k + i) } else { 0 });
    let column = |n| std::array::from_fn(|i| at(b, i * N + n));
    (std::array::from_fn(row), std::array::from_fn(column))
}

/// Pads missing products with zeros, which do not change a sum.
#[inline(never)]
fn packed(
    card: Card,
    arithmetic: Arithmetic,
    (rows, columns): &Packed,
    c: &[u32; M * N],
) -> [u32; M * N] {
    let words = |halves: &[u16; 16]| -> [u32; 8] {
        std::array::from_fn(|i| u32::from(halves[2 * i]) | u32::from(halves[2 * i + 1]) << 16)
    };
    let operands = || {
        (
            rows.map(|row| words(&row)),
            columns.map(|column| words(&column)),
        )
    };
    match arithmetic {
        Arithmetic::Half(factor, sums) => {
            let (a, b) = row_major(rows, columns);
            let mut d = *c;
            half::<16, 256, 128>(card, factor, sums, &a, &b, &mut d);
            d
        }
        Arithmetic::Tf32 => {
            let (rows, columns) = operands();
            let (a, b) = row_major::<u32, 8, 128, 64>(&rows, &columns);
            let mut d = *c;
            sum::<u32, 8, 128, 64>(card, (Format::Tf32, Sums::F32), &a, &b, &mut d);
            d
        }
        Arithmetic::Unpacked(formats, sums) => {
            let mut product = [0; M * N];
            for part in 0..2 {
                let rows = rows.map(|row| fp8::unpacked(formats[0], part, &row));
                let columns = columns.map(|column| fp8::unpacked(formats[1], part, &column));
                let (a, b) = row_major(&rows, &columns);
                half::<16, 256, 128>(card, Factor::F16, sums, &a, &b, &mut product);
            }
            std::array::from_fn(|i| fp8::add(sums, product[i], c[i]))
        }
        Arithmetic::E4m3 => {
            let bytes = |halves: &[u16; 16]| -> [u8; 32] {
                std::array::from_fn(|i| halves[i / 2].to_le_bytes()[i % 2])
            };
            let (rows, columns) = (rows.map(|row| bytes(&row)), columns.map(|c| bytes(&c)));
            fp8::wide(&rows, &columns, c)
        }
        Arithmetic::Integer { factors, saturate } => {
            let (rows, columns) = operands();
            integer::products(factors, saturate, (&rows, &columns), c)
        }
        Arithmetic::Bits(op) => {
            let (rows, columns) = operands();
            integer::bits(op, (&rows, &columns), c)
        }
    }
}

/// Converts A and B to row-major order.
fn row_major<T: Copy, const K: usize, const A: usize, const B: usize>(
    rows: &[[T; K]; M],
    columns: &[[T; K]; N],
) -> ([T; A], [T; B]) {
    const { assert!(A == M * K && B == K * N) };
    (
        std::array::from_fn(|i| rows[i / K][i % K]),
        std::array::from_fn(|i| columns[i % N][i / N]),
    )
}

/// An A100's m16n8k16: first k 0 to 7, then k 8 to 15.
fn halves(factor: Factor, sums: Sums, a: &[u16], b: &[u16], c: &mut [u32; M * N]) {
    for half in 0..2 {
        let part = |i: usize| 16 * (i / 8) + 8 * half + i % 8;
        let a = std::array::from_fn(|i| a.get(part(i)).copied().unwrap_or_default());
        let b = std::array::from_fn(|i| b.get(8 * N * half + i).copied().unwrap_or_default());
        let formats = (factor.into(), sums);
        sum::<u16, 8, { M * 8 }, { 8 * N }>(Card::A100, formats, &a, &b, c);
    }
}

/// Adds all products to C in one sum.
fn sum<T: Bits, const K: usize, const A: usize, const B: usize>(
    card: Card,
    (format, sums): (Format, Sums),
    a: &[T; A],
    b: &[T; B],
    c: &mut [u32; M * N],
) {
    if eight::outputs(card, (format, sums), a, b, c).is_none() {
        *c = by_output::<T, K, A, B>(card, (format, sums), a, b, c);
    }
}

/// The bit pattern of a factor.
trait Bits: Copy + Into<u32> {}
impl Bits for u16 {}
impl Bits for u32 {}

/// The same, one output at a time.
#[inline(never)]
fn by_output<T: Bits, const K: usize, const A: usize, const B: usize>(
    card: Card,
    (format, sums): (Format, Sums),
    a: &[T; A],
    b: &[T; B],
    c: &[u32; M * N],
) -> [u32; M * N] {
    std::array::from_fn(|i| {
        let (row, n) = (i / N, i % N);
        let products = (0..K).map(|k| (a[row * K + k].into(), b[k * N + n].into()));
        cut_sum(card.kept(), format, sums, products, c[i])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq)]
    pub(super) struct Register(pub [u32; 32]);

    impl AsMut<[u32; 32]> for Register {
        fn as_mut(&mut self) -> &mut [u32; 32] {
            &mut self.0
        }
    }

    #[test]
    fn the_vector_path_equals_the_rule() {
        let mut x = 1u64;
        let mut random = || {
            x = x
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (x >> 32) as u32
        };
        let mut panels = 0;
        for round in 0..2000 {
            for factor in [Factor::F16, Factor::Bf16] {
                // Half of the rounds have a narrow range of exponents, so that terms overlap and cancel.
                let mask = if round % 2 == 0 {
                    0xffff
                } else {
                    0x83ff
                        | if factor == Factor::F16 {
                            0x0c00
                        } else {
                            0x0380
                        }
                };
                let top: u16 = if round % 2 == 0 { 0 } else { 0x3000 };
                let mut a: [u16; 256] = std::array::from_fn(|_| random() as u16 & mask | top);
                let mut b: [u16; 128] = std::array::from_fn(|_| random() as u16 & mask | top);
                let c: [u32; 128] = std::array::from_fn(|_| match round % 3 {
                    0 => 0,
                    // 2^-119 to 2^-64, where it is the only nonzero term.
                    1 if round % 5 == 0 => random() & 0x9fff_ffff | 0x0400_0000,
                    1 => random(),
                    // 0.5 to 2.
                    _ => random() & 0x80ff_ffff | 0x3f00_0000,
                });
                // The exponents up to which floats are exact, and one beyond.
                if round % 4 == 1 && factor == Factor::Bf16 {
                    let fields = [127 - 40, 127, 127 + 40 + (round % 8 / 4) as u16];
                    a = a.map(|bits| bits & 0x807f | fields[bits as usize % 3] << 7);
                    b = b.map(|bits| bits & 0x807f | fields[bits as usize % 3] << 7);
                }
                // Rows in which the addend is the only nonzero term, even if it is small.
                if round % 5 == 0 {
                    a.iter_mut()
                        .step_by(round / 40 % 2 + 1)
                        .for_each(|a| *a = 0);
                }
                // Sums that need 32 bits, and more with their addends.
                if round % 7 == 0 {
                    (a, b) = ([0x3fff; 256], [0x3fff; 128]);
                }
                for card in Card::ALL {
                    compare::<u16, 16, 256, 128>(card, (factor.into(), Sums::F32), &a, &b, &c);
                }
                let (mut rows, mut columns) = (Rows::ZERO, Columns::ZERO);
                rows.bits = a;
                let pair =
                    |kk: usize, n: usize| [b[16 * kk + n], b[16 * kk + 8 + n]].map(u32::from);
                let word = |[low, high]: [u32; 2]| low | high << 16;
                columns.words =
                    std::array::from_fn(|kk| std::array::from_fn(|n| word(pair(kk, n))));
                assert_eq!(columns.bits(), b);
                rows.convert(factor.into());
                columns.convert(factor.into());
                let of = |sums: [u32; 128]| -> [Register; 4] {
                    std::array::from_fn(|r| {
                        Register(std::array::from_fn(|lane| sums[eight::place(r, lane)]))
                    })
                };
                let mut registers = of(c);
                let sums = Accumulators {
                    registers: &mut registers,
                    d: &[0, 1, 2, 3],
                };
                let left = add_panels(&rows, std::slice::from_ref(&columns), true, sums);
                let formats = (factor.into(), Sums::F32);
                let expected = by_output::<u16, 16, 256, 128>(Card::H100, formats, &a, &b, &c);
                panels += 1 - left;
                let expected = of(if left == 1 { c } else { expected });
                assert_eq!(registers, expected, "{factor:?}");
                // f16 sums; and tf32 factors with the same bits and some below them.
                let halves = c.map(|bits| bits >> 16);
                compare::<u16, 16, 256, 128>(Card::H100, (Format::F16, Sums::F16), &a, &b, &halves);
                let mut wide = |bits: u16| u32::from(bits) << 16 | random() & 0xffff;
                let a: [u32; 128] = std::array::from_fn(|i| wide(a[i]));
                let b: [u32; 64] = std::array::from_fn(|i| wide(b[i]));
                compare::<u32, 8, 128, 64>(Card::H100, (Format::Tf32, Sums::F32), &a, &b, &c);
            }
        }
        // The rest has infinities, large exponents or wide sums.
        assert!(panels > 1000, "{panels}");
    }

    fn compare<T: Bits, const K: usize, const A: usize, const B: usize>(
        card: Card,
        formats: (Format, Sums),
        a: &[T; A],
        b: &[T; B],
        c: &[u32; M * N],
    ) {
        let mut d = *c;
        sum::<T, K, A, B>(card, formats, a, b, &mut d);
        assert_eq!(
            d,
            by_output::<T, K, A, B>(card, formats, a, b, c),
            "{formats:?}"
        );
    }
}
