//! f64 arithmetic that rounds down, up or toward zero: `mul`, `fma`, `div`, `rcp`, `sqrt` (PTX ISA, "Floating Point
//! Instructions"). `add` and `sub` are in `float_ops.rs`.
//!
//! An exact result is an integer of 128 bits and an exponent. Bits that do not fit are ORed into the lowest bit, far
//! below the rounding position.
use super::float_format::Rounding;
use super::float_ops::nan64;
use super::scalar::{Scalar, d};

/// The function of an f64 instruction with directed rounding.
pub(super) fn find(name: &str, rounding: Rounding) -> Option<Scalar> {
    Some(match rounding {
        Rounding::Rn => return None,
        Rounding::Rz => of::<{ Rounding::Rz as u8 }>(name)?,
        Rounding::Rm => of::<{ Rounding::Rm as u8 }>(name)?,
        Rounding::Rp => of::<{ Rounding::Rp as u8 }>(name)?,
    })
}

fn of<const ROUNDING: u8>(name: &str) -> Option<Scalar> {
    Some(match name {
        "mul" => |v| multiply([v[0], v[1]], Rounding::from_u8(ROUNDING)),
        "fma" | "mad" => |v| multiply_add(v, Rounding::from_u8(ROUNDING)),
        "div" => |v| divide([v[0], v[1]], [v[0], v[1]], Rounding::from_u8(ROUNDING)),
        "rcp" => |v| {
            divide(
                [1f64.to_bits(), v[0]],
                [v[0]; 2],
                Rounding::from_u8(ROUNDING),
            )
        },
        "sqrt" => |v| root(v[0], Rounding::from_u8(ROUNDING)),
        _ => return None,
    })
}

/// A finite nonzero number: `significand x 2^exponent`, with 53 bits.
#[derive(Clone, Copy)]
struct Number {
    negative: bool,
    significand: u128,
    exponent: i32,
}

impl Number {
    fn of(bits: u64) -> Option<Self> {
        let (field, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
        if field == 0x7ff || bits << 1 == 0 {
            return None;
        }
        let significand = if field == 0 {
            fraction
        } else {
            fraction | 1 << 52
        };
        let shift = significand.leading_zeros() as i32 - 11;
        Some(Self {
            negative: bits >> 63 == 1,
            significand: u128::from(significand << shift),
            exponent: field.max(1) - 1075 - shift,
        })
    }

    /// Rounds to f64; `self` may have any number of bits.
    fn round(self, rounding: Rounding) -> u64 {
        let sign = u64::from(self.negative) << 63;
        let up = match rounding {
            Rounding::Rm => self.negative,
            Rounding::Rp => !self.negative,
            Rounding::Rn | Rounding::Rz => false,
        };
        let top = 127 - self.significand.leading_zeros() as i32;
        // The unit in the last place of the result; for a subnormal one the smallest of all.
        let unit = (self.exponent + top - 52).max(-1074);
        let shift = unit - self.exponent;
        let (kept, lost) = match shift {
            ..=0 => (self.significand << -shift, false),
            1..128 => {
                let kept = self.significand >> shift;
                (kept, kept << shift != self.significand)
            }
            _ => (0, true),
        };
        let kept = kept as u64 + u64::from(up && lost);
        let field = (unit + 1074) as u64;
        // The hidden bit carries into the exponent's field.
        let magnitude = match kept >> 52 {
            0 => kept,
            _ => (field << 52) + kept,
        };
        let infinity = f64::INFINITY.to_bits();
        match magnitude >= infinity {
            true if up => sign | infinity,
            true => sign | (infinity - 1),
            false => sign | magnitude,
        }
    }
}

fn product(a: Number, b: Number) -> Number {
    Number {
        negative: a.negative != b.negative,
        significand: a.significand * b.significand,
        exponent: a.exponent + b.exponent,
    }
}

fn multiply(v: [u64; 2], rounding: Rounding) -> u64 {
    match (Number::of(v[0]), Number::of(v[1])) {
        (Some(a), Some(b)) => product(a, b).round(rounding),
        _ => nan64([v[1], v[0]], d(v[0]) * d(v[1])),
    }
}

fn multiply_add(v: [u64; 3], rounding: Rounding) -> u64 {
    let [a, b, c] = v.map(Number::of);
    let (Some(a), Some(b)) = (a, b) else {
        let zero = d(v[0]) * d(v[1]);
        return match zero == 0.0 && d(v[2]) == 0.0 {
            true => sum_of_zeros(zero.is_sign_negative(), v[2] >> 63 == 1, rounding),
            // These are exact: a product of zero, an infinity or a NaN.
            false => nan64([v[1], v[2], v[0]], d(v[0]).mul_add(d(v[1]), d(v[2]))),
        };
    };
    let product = product(a, b);
    match c {
        Some(c) => sum(product, c, rounding),
        None if d(v[2]) == 0.0 => product.round(rounding),
        None => nan64([v[1], v[2], v[0]], d(v[2])),
    }
}

fn sum_of_zeros(one: bool, other: bool, rounding: Rounding) -> u64 {
    let negative = match one == other {
        true => one,
        false => rounding == Rounding::Rm,
    };
    u64::from(negative) << 63
}

/// `product + c`, with 106 and 53 bits.
fn sum(product: Number, c: Number, rounding: Rounding) -> u64 {
    // Leaves 20 bits of room above the product, then uses the lower exponent of both, as far as it fits.
    let product = Number {
        significand: product.significand << 20,
        exponent: product.exponent - 20,
        ..product
    };
    let (product, c) = match c.exponent - product.exponent {
        // The lowest bits of c are below the product's.
        behind @ ..0 => (product, shifted_right(c, -behind)),
        ahead @ 0..=73 => (
            product,
            Number {
                significand: c.significand << ahead,
                exponent: product.exponent,
                ..c
            },
        ),
        ahead => (
            shifted_right(product, ahead - 73),
            Number {
                significand: c.significand << 73,
                exponent: c.exponent - 73,
                ..c
            },
        ),
    };
    let same = product.negative == c.negative;
    let (large, small) = match product.significand >= c.significand {
        true => (product, c),
        false => (c, product),
    };
    let significand = match same {
        true => large.significand + small.significand,
        false => large.significand - small.significand,
    };
    if significand == 0 {
        return sum_of_zeros(product.negative, c.negative, rounding);
    }
    Number {
        significand,
        ..large
    }
    .round(rounding)
}

/// Divides by a power of two; lost bits are ORed into the lowest bit.
fn shifted_right(number: Number, by: i32) -> Number {
    let kept = number.significand.unbounded_shr(by as u32);
    let lost = kept.unbounded_shl(by as u32) != number.significand;
    Number {
        significand: kept | u128::from(lost),
        exponent: number.exponent.saturating_add(by),
        ..number
    }
}

/// `names` are the operands from which a NaN may be propagated.
fn divide(v: [u64; 2], names: [u64; 2], rounding: Rounding) -> u64 {
    let (Some(a), Some(b)) = (Number::of(v[0]), Number::of(v[1])) else {
        return nan64(names, d(v[0]) / d(v[1]));
    };
    let (dividend, divisor) = (a.significand << 64, b.significand);
    let lost = !dividend.is_multiple_of(divisor);
    Number {
        negative: a.negative != b.negative,
        significand: (dividend / divisor) | u128::from(lost),
        exponent: a.exponent - 64 - b.exponent,
    }
    .round(rounding)
}

fn root(bits: u64, rounding: Rounding) -> u64 {
    match Number::of(bits) {
        Some(a) if !a.negative => {
            // 53 bits with 72 or 73 bits below them, so that the exponent is even.
            let shift = 72 + (a.exponent & 1);
            let square = a.significand << shift;
            let root = square.isqrt();
            Number {
                negative: false,
                significand: root | u128::from(root * root != square),
                exponent: (a.exponent - shift) / 2,
            }
            .round(rounding)
        }
        _ => nan64([bits], d(bits).sqrt()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::random;

    fn operand(state: &mut u64) -> u64 {
        let bits = random(state);
        match random(state) % 4 {
            // Numbers close to 1, whose sums cancel and whose products are short.
            0 => bits & 0x800f_ff00_0000_0000 | 1023 << 52,
            1 => bits & 0x803f_ffff_ffff_ffff | 1000 << 52,
            2 => bits & 0x800f_ffff_ffff_ffff,
            _ => bits,
        }
    }

    /// The nearest result is one of the two directed ones, which are neighbors or equal.
    #[test]
    fn the_nearest_result_is_one_of_two_neighbors() {
        let mut state = 3;
        let (mut exact, mut all) = (0, 0);
        for _ in 0..300_000 {
            let v = [(); 3].map(|()| operand(&mut state));
            let [a, b, c] = v.map(f64::from_bits);
            for (name, nearest) in [
                ("mul", a * b),
                ("fma", a.mul_add(b, c)),
                ("div", a / b),
                ("rcp", 1.0 / a),
                ("sqrt", a.sqrt()),
            ] {
                let [rz, rm, rp] = [Rounding::Rz, Rounding::Rm, Rounding::Rp].map(|rounding| {
                    let function = find(name, rounding).expect(name);
                    f64::from_bits(function(v))
                });
                if nearest.is_nan() {
                    assert!(rz.is_nan() && rm.is_nan() && rp.is_nan(), "{name} {v:x?}");
                    continue;
                }
                assert!(
                    rm == rp || rp == rm.next_up(),
                    "{name} {v:x?}: {rm:e} {rp:e}"
                );
                assert!(nearest == rm || nearest == rp, "{name} {v:x?}: {nearest:e}");
                let toward_zero = if rm >= 0.0 { rm } else { rp };
                assert_eq!(rz, toward_zero, "{name} {v:x?}");
                all += 1;
                exact += u32::from(rm == rp);
            }
        }
        assert!(exact > all / 100 && exact < all / 2, "{exact} of {all}");
    }

    #[test]
    fn zeros_and_infinities() {
        let fma = find("fma", Rounding::Rm).expect("an fma");
        let one = 1f64.to_bits();
        assert_eq!(fma([one, one, (-1f64).to_bits()]), 1 << 63);
        assert_eq!(fma([one, 0, 1 << 63]), 1 << 63);
        let mul = |rounding| find("mul", rounding).expect("a product");
        let [tiny, most] = [1, f64::MAX.to_bits()];
        assert_eq!(mul(Rounding::Rp)([tiny, tiny, 0]), 1);
        assert_eq!(mul(Rounding::Rz)([tiny, tiny, 0]), 0);
        assert_eq!(mul(Rounding::Rz)([most, most, 0]), most);
        assert_eq!(mul(Rounding::Rp)([most, most, 0]), f64::INFINITY.to_bits());
    }
}
