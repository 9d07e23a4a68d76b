//! The steps that compute one output, to show where bits are lost.
use super::{Factor, Format, Sums, largest_exponent};
use crate::Card;

/// A product or the addend: `significand x 2^(exponent - fraction_bits)`, not normalized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// Signed, and exact.
    pub significand: i64,
    /// The sum of the factors' exponents; far below any other for zero.
    pub exponent: i32,
    /// Bits of the significand after the binary point.
    pub fraction_bits: i32,
}

/// A sum as a tensor core forms it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    /// The products in order, then the addend.
    pub terms: Vec<Term>,
    /// The largest exponent among them, but at least -133.
    pub e: i32,
    /// All terms are truncated to multiples of 2 to this power: E - 25 on an H100, E - 24 on an A100.
    pub unit: i32,
    /// Each term in these units, truncated.
    pub cut: Vec<i64>,
    /// Their exact sum.
    pub sum: i64,
    /// The sum as f32, rounded toward zero.
    pub bits: u32,
}

impl Term {
    pub(super) fn product(format: Format, a: u32, b: u32) -> Self {
        let ((a, ea), (b, eb)) = (format.split(a), format.split(b));
        Self {
            significand: i64::from(a) * i64::from(b),
            exponent: ea + eb,
            fraction_bits: 2 * format.mantissa_bits() as i32,
        }
    }

    pub(super) fn addend(sums: Sums, bits: u32) -> Self {
        let (significand, exponent) = sums.split(bits);
        Self {
            significand: i64::from(significand),
            exponent,
            fraction_bits: 23,
        }
    }

    /// Truncates toward zero to units of 2^(e - kept); `e` is at least its own exponent.
    pub(super) fn cut(self, kept: i32, e: i32) -> i64 {
        let magnitude = self.significand.unsigned_abs();
        let drop = e - self.exponent - (kept - self.fraction_bits);
        let cut = match drop {
            0.. => magnitude >> drop.min(63),
            _ => magnitude << -drop,
        } as i64;
        if self.significand < 0 { -cut } else { cut }
    }
}

/// The sums of one instruction for one output, in order: one on an H100; on an A100 one for each eight products, with
/// the previous result as addend. `None` if an input is infinite or NaN: then nothing is summed.
pub fn steps(card: Card, factor: Factor, products: &[(u16, u16)], c: u32) -> Option<Vec<Steps>> {
    let format = Format::from(factor);
    let special = |&(a, b): &(u16, u16)| format.is_special(a.into()) || format.is_special(b.into());
    if products.iter().any(special) || !f32::from_bits(c).is_finite() {
        return None;
    }
    let at_once = if card == Card::A100 {
        8
    } else {
        products.len().max(1)
    };
    let mut sums: Vec<Steps> = Vec::new();
    for part in products.chunks(at_once) {
        let c = sums.last().map_or(c, |before| before.bits);
        // An infinite sum stays infinite.
        if !f32::from_bits(c).is_finite() {
            break;
        }
        sums.push(one(card, format, part, c));
    }
    Some(sums)
}

fn one(card: Card, format: Format, products: &[(u16, u16)], c: u32) -> Steps {
    let product = |&(a, b): &(u16, u16)| Term::product(format, a.into(), b.into());
    let products = products.iter().map(product);
    let terms: Vec<Term> = products.chain([Term::addend(Sums::F32, c)]).collect();
    let e = largest_exponent(terms.iter().copied());
    let kept = card.kept();
    let cut: Vec<i64> = terms.iter().map(|term| term.cut(kept, e)).collect();
    let sum = cut.iter().sum();
    let unit = e - kept;
    let bits = Sums::F32.round(sum, unit);
    Steps {
        terms,
        e,
        unit,
        cut,
        sum,
        bits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::mma;

    /// The result of the last step is the result of the instruction.
    #[test]
    fn the_last_step_is_the_result() {
        let mut state = 7;
        let mut random = || crate::random::random(&mut state);
        for round in 0..2000 {
            let factor = [Factor::F16, Factor::Bf16][round % 2];
            let finite = |bits: u16| {
                if Format::from(factor).is_special(bits.into()) {
                    bits & 0x8fff
                } else {
                    bits
                }
            };
            let mut a = [0u16; 256];
            let mut b = [0u16; 128];
            for k in 0..16 {
                a[k] = finite(random() as u16);
                b[8 * k] = finite(random() as u16);
            }
            let c = (random() as u32) & 0xbf7f_ffff;
            let products: Vec<(u16, u16)> = (0..16).map(|k| (a[k], b[8 * k])).collect();
            let mut addend = [0u32; 128];
            addend[0] = c;
            for card in Card::ALL {
                let steps = steps(card, factor, &products, c).expect("all are finite");
                let result = mma::<16, 256, 128>(card, factor, &a, &b, &addend)[0];
                assert_eq!(
                    steps.last().expect("one sum").bits,
                    result,
                    "{card:?} {products:?} {c}"
                );
            }
        }
    }

    #[test]
    fn a_small_term_is_dropped_and_two_sums_keep_it() {
        let (one, small) = (0x3c00, 0x0800); // 1 and 2^-13
        let mut products = vec![(small, small); 8];
        products.push((one, one));
        products.extend([(0, 0); 7]);
        let h100 = steps(Card::H100, Factor::F16, &products, 0).expect("all are finite");
        assert_eq!((h100.len(), h100[0].unit), (1, -25));
        assert_eq!(h100[0].cut[..9], [0, 0, 0, 0, 0, 0, 0, 0, 1 << 25]);
        let a100 = steps(Card::A100, Factor::F16, &products, 0).expect("all are finite");
        assert_eq!(f32::from_bits(a100[0].bits), 2f32.powi(-23));
        assert_eq!(f32::from_bits(a100[1].bits), 1.0 + 2f32.powi(-23));
        assert_eq!(steps(Card::H100, Factor::F16, &[(0x7c00, one)], 0), None);
    }
}
