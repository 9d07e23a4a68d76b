//! The rule for a warp's part of a `wgmma`: 16 rows of A, converted once, times a panel of 8 columns of B.
//!
//! A vector holds eight neighboring lanes of a register: two rows, of every second column (PTX ISA, "Register Fragments for
//! wgmma.mma_async.m64nNk16"). So sums stay where they are. Biased exponents are compared in place, as bits 23 to 30.
//!
//! Eight products take four instructions: two multiplications, a conversion and an addition. With AVX2 on a core that starts four such
//! instructions in a clock, that is a clock, 256 for a panel, and the loop takes half of a panel's time. An addition to the exponent in
//! place of the second multiplication makes it slower (Zen 3).
use super::super::{Card, N};
use super::factors::{BIAS, Columns, FOUR, LEAST, Rows};
use super::{Eight, Work, vectorized};

/// Where a register of a panel and one of its lanes are in the 16 x 8 sums of `mma`, with even columns before odd ones.
#[cfg(test)]
pub(in super::super) const fn place(register: usize, lane: usize) -> usize {
    (lane / 4 + 8 * (register / 2)) * N + lane % 4 + 4 * (register % 2)
}

/// Registers of a warp, and which of them hold D. Four hold 16 rows of 8 columns: of the upper and the lower 8 rows, the even
/// and the odd columns.
pub(crate) struct Accumulators<'a, R> {
    pub registers: &'a mut [R],
    pub d: &'a [u32],
}

/// Adds the product of A and each panel of B to its registers, or writes it to them. Returns a bit for each panel that it left
/// alone, because of factors that are not moderate, an addend that is not finite or is lost in the units of [`LEAST`], or a
/// sum that is too wide.
pub(crate) fn add_panels<R: AsMut<[u32; 32]>>(
    a: &Rows,
    b: &[Columns],
    adds: bool,
    d: Accumulators<'_, R>,
) -> u32 {
    vectorized(Panels { a, b, adds, d })
}

struct Panels<'a, R> {
    a: &'a Rows,
    b: &'a [Columns],
    adds: bool,
    d: Accumulators<'a, R>,
}

impl<R: AsMut<[u32; 32]>> Work for Panels<'_, R> {
    type Output = u32;

    #[inline(always)]
    fn compute<V: Eight>(self, v: V) -> u32 {
        let Self {
            a,
            b,
            adds,
            d: Accumulators { registers, d },
        } = self;
        let mut left = 0;
        for (i, (b, regs)) in b.iter().zip(d.as_chunks::<4>().0).enumerate() {
            let mut done = None;
            if let Ok([d0, d1, d2, d3]) = registers.get_disjoint_mut(regs.map(|reg| reg as usize)) {
                let d = [d0.as_mut(), d1.as_mut(), d2.as_mut(), d3.as_mut()];
                done = Panel { a, b, adds, d }.add(v);
            }
            left |= u32::from(done.is_none()) << i;
        }
        left
    }
}

struct Panel<'a> {
    a: &'a Rows,
    b: &'a Columns,
    adds: bool,
    d: [&'a mut [u32; 32]; 4],
}

/// The exponent field of an f32.
const FIELD: i32 = 0xff << 23;
/// [`LEAST`] as a byte, with the bias of A's exponents.
const LEAST_TOP: u8 = (LEAST - BIAS) as u8;
/// No other card has `wgmma`.
const KEPT: i32 = Card::H100.kept();

impl Panel<'_> {
    #[inline(always)]
    fn add<V: Eight>(self, v: V) -> Option<()> {
        if !(self.a.moderate && self.b.moderate) {
            return None;
        }
        let mut d = [[[0; N]; FOUR]; 4];
        let [mut highest, mut wide] = [v.splat(0); 2];
        let mut lowest = v.splat(0x7f7f_7f7f);
        for (register, d) in d.iter_mut().enumerate() {
            let (half, odd) = (register / 2, register % 2);
            let c = match self.adds {
                true => self.d[register].as_chunks::<N>().0,
                false => &[[0u32; N]; FOUR],
            };
            let tops = tops(v, &self.a.exponents[half], &self.b.exponents, odd);
            lowest = v.min_bytes(lowest, tops);
            // Adds 128: with the bias of A's exponents, 127.
            let tops = v.xor(tops, v.splat(i32::MIN | 0x0080_8080));
            let (mut units, mut totals) = ([tops; FOUR], [tops; FOUR]);
            let rows = units.iter_mut().zip(&mut totals).zip(c);
            for (i, ((unit, total), c)) in rows.enumerate() {
                let c = v.load(&pulp::cast(*c));
                // Byte i of each word.
                let top = match i {
                    0 => v.shift_left::<23>(tops),
                    1 => v.shift_left::<15>(tops),
                    2 => v.shift_left::<7>(tops),
                    _ => v.shift_right(tops, v.splat(1)),
                };
                let field = v.splat(FIELD);
                let e = v.max(v.and(top, field), v.and(c, field));
                highest = v.max(highest, e);
                // 2^(kept - E)
                *unit = v.sub(v.splat((KEPT + 254 - 512) << 23), e);
                *total = v.truncate(v.product(c, *unit));
            }
            for (a, b) in self.a.floats[half].iter().zip(&self.b.floats) {
                let b = v.twice(&b[odd]);
                for (total, (a, unit)) in totals.iter_mut().zip(a.iter().zip(&units)) {
                    let product = v.product(v.product(v.load(a), b), *unit);
                    *total = v.add(*total, v.truncate(product));
                }
            }
            for (d, (total, unit)) in d.iter_mut().zip(totals.into_iter().zip(units)) {
                wide = v.or(wide, v.abs(total));
                *d = v.store(toward_zero(v, total, unit));
            }
        }
        // An addend is below 2^26, so that a sum which overflows becomes one of at least 2^30.
        let wide = v.store(wide).iter().any(|&bits| bits & 3 << 30 != 0);
        let special = v.store(highest).contains(&FIELD);
        let mut lowest = v.store(lowest).into_iter().flat_map(i32::to_ne_bytes);
        let least = lowest.any(|top| top == LEAST_TOP);
        if wide || special || (least && self.adds && self.is_small_addend()) {
            return None;
        }
        for (to, d) in self.d.into_iter().zip(d) {
            for (to, d) in to.as_chunks_mut::<N>().0.iter_mut().zip(d) {
                *to = pulp::cast(d);
            }
        }
        Some(())
    }

    /// Whether the units of [`LEAST`] do not hold all bits of some addend.
    #[inline(always)]
    fn is_small_addend(&self) -> bool {
        const BEYOND: u32 = ((LEAST + 128) as u32) << 23;
        let small = |c: &u32| (1..BEYOND).contains(&(c & 0x7fff_ffff));
        self.d.iter().any(|register| register.iter().any(small))
    }
}

/// The largest exponents of a register's products, at least [`LEAST`], with the bias of A's. A byte holds each: of lane l,
/// byte l / 8 of word l % 8.
#[inline(always)]
fn tops<V: Eight>(v: V, a: &[[i32; N]; 16], b: &[[[i32; 4]; 2]; 16], odd: usize) -> V::Word {
    let mut tops = v.splat(i32::from_ne_bytes([LEAST_TOP; 4]));
    // A closure would not be compiled for these vector instructions if it were not inlined.
    for (a, b) in a.iter().zip(b) {
        tops = v.max_bytes(tops, v.add_bytes(v.load(a), v.twice(&b[odd])));
    }
    tops
}

/// A sum below 2^30, in units of the reciprocal of `unit`, as the bits of an f32, rounded toward zero.
#[inline(always)]
pub(super) fn toward_zero<V: Eight>(v: V, total: V::Word, unit: V::Word) -> V::Word {
    let nearest = v.nearest(total);
    // One unit in the last place less where the nearest number is larger.
    let larger = v.greater(v.abs(v.truncate(nearest)), v.abs(total));
    let inverse = v.sub(v.splat(254 << 23), unit);
    v.product(v.add(nearest, larger), inverse)
}

#[cfg(test)]
mod tests {
    use super::super::plain::Plain;
    use super::*;
    use crate::tensor::Format;
    use crate::tensor::tests::Register;

    /// Also that an infinite or NaN addend is noticed without AVX2, whose conversions to integers make it too wide.
    #[test]
    fn any_cpu_gives_the_same_registers() {
        let mut state = 5;
        let mut random = || crate::random::random(&mut state) as u32;
        let mut added = 0;
        for round in 0..300 {
            let (mut a, mut b) = (Rows::ZERO, Columns::ZERO);
            // f16 from 2^-15 to 4.
            a.bits = std::array::from_fn(|_| random() as u16 & 0xc3ff);
            b.words = std::array::from_fn(|_| std::array::from_fn(|_| random() & 0xc3ff_c3ff));
            a.convert(Format::F16);
            b.convert(Format::F16);
            let mut plain: [Register; 4] =
                std::array::from_fn(|_| Register(std::array::from_fn(|_| random() & 0xc2ff_ffff)));
            let special = round % 3 == 0;
            if special {
                plain[round % 4].0[round % 32] =
                    [0x7f80_0000, 0xff80_0000, 0x7fc0_0000][round / 3 % 3];
            }
            let mut vectors = plain.clone();
            let work = |registers| Panels {
                a: &a,
                b: std::slice::from_ref(&b),
                adds: true,
                d: Accumulators {
                    registers,
                    d: &[0, 1, 2, 3],
                },
            };
            let left = work(&mut plain).compute(Plain);
            assert_eq!(left, vectorized(work(&mut vectors)));
            assert_eq!(plain, vectors);
            assert!(!special || left == 1);
            added += 1 - left;
        }
        assert!(added > 100, "{added}");
    }
}
