//! f32 arithmetic in modes other than `.rn`: `.rz`, `.rm`, `.rp`, `.ftz` and `.sat` in any combination (PTX ISA,
//! "Floating Point Instructions"); f64 keeps enough bits of every exact result to round it correctly.
use super::float_format::{F32, Rounding, fma_to_odd, narrow};
use super::float_ops::{flush, saturate};
use super::scalar::{Scalar, f, put};

const ADD: u8 = 0;
const SUB: u8 = 1;
const MUL: u8 = 2;
const FMA: u8 = 3;
const DIV: u8 = 4;
const RCP: u8 = 5;
const SQRT: u8 = 6;

/// The function of an f32 instruction in these modes.
pub(super) fn find(name: &str, rounding: Rounding, ftz: bool, sat: bool) -> Option<Scalar> {
    if sat && !matches!(name, "add" | "sub" | "mul" | "fma") {
        return None;
    }
    Some(match name {
        "add" => pick::<ADD>(rounding, ftz, sat),
        "sub" => pick::<SUB>(rounding, ftz, sat),
        "mul" => pick::<MUL>(rounding, ftz, sat),
        "fma" | "mad" => pick::<FMA>(rounding, ftz, sat),
        "div" => pick::<DIV>(rounding, ftz, sat),
        "rcp" => pick::<RCP>(rounding, ftz, sat),
        "sqrt" => pick::<SQRT>(rounding, ftz, sat),
        _ => return None,
    })
}

fn pick<const OP: u8>(rounding: Rounding, ftz: bool, sat: bool) -> Scalar {
    match rounding {
        Rounding::Rn => modes::<OP, { Rounding::Rn as u8 }>(ftz, sat),
        Rounding::Rz => modes::<OP, { Rounding::Rz as u8 }>(ftz, sat),
        Rounding::Rm => modes::<OP, { Rounding::Rm as u8 }>(ftz, sat),
        Rounding::Rp => modes::<OP, { Rounding::Rp as u8 }>(ftz, sat),
    }
}

fn modes<const OP: u8, const ROUNDING: u8>(ftz: bool, sat: bool) -> Scalar {
    match (ftz, sat) {
        (false, false) => compute::<OP, ROUNDING, false, false>,
        (false, true) => compute::<OP, ROUNDING, false, true>,
        (true, false) => compute::<OP, ROUNDING, true, false>,
        (true, true) => compute::<OP, ROUNDING, true, true>,
    }
}

/// A function for each operation and its modes, since an instruction holds a pointer to one without data.
fn compute<const OP: u8, const ROUNDING: u8, const FTZ: bool, const SAT: bool>(v: [u64; 3]) -> u64 {
    modal(v, OP, Rounding::from_u8(ROUNDING), FTZ, SAT)
}

/// One copy for all operations and modes, since LLVM would spend long on one for each.
#[inline(never)]
fn modal(v: [u64; 3], op: u8, rounding: Rounding, ftz: bool, sat: bool) -> u64 {
    let [a, b, c] = operands(v, ftz);
    let sum = |a: f64, b: f64, c: f64| match fma_to_odd(a, b, c) {
        // When rounding down, terms that cancel give -0.
        0.0 if rounding == Rounding::Rm && (a * b).is_sign_negative() != c.is_sign_negative() => {
            -0.0
        }
        sum => sum,
    };
    let exact = match op {
        ADD => sum(a, 1.0, b),
        SUB => sum(a, 1.0, -b),
        MUL => a * b,
        FMA => sum(a, b, c),
        DIV => quotient(a, b),
        RCP => quotient(1.0, a),
        _ => root(a),
    };
    let bits = match narrow(exact, F32, rounding) {
        bits if ftz && is_tiny(exact, rounding) => bits & 0x8000_0000,
        bits => bits,
    };
    match sat {
        true => put(saturate(f32::from_bits(bits))),
        false => u64::from(bits),
    }
}

/// Three f32, of which `.ftz` flushes the subnormal ones.
pub(super) fn operands([a, b, c]: [u64; 3], ftz: bool) -> [f64; 3] {
    let one = |x| f64::from(if ftz { flush(f(x)) } else { f(x) });
    [one(a), one(b), one(c)]
}

/// Whether a result is below the smallest normal number even after rounding to 24 bits with unlimited exponent.
fn is_tiny(exact: f64, rounding: Rounding) -> bool {
    let scale = 2f64.powi(64);
    let rounded = f32::from_bits(narrow(exact * scale, F32, rounding));
    f64::from(rounded).abs() < f64::from(f32::MIN_POSITIVE) * scale
}

/// `a / b` with the last bit set if the result is inexact.
fn quotient(a: f64, b: f64) -> f64 {
    let quotient = a / b;
    // Exact, since both operands are f32.
    let rest = (-quotient).mul_add(b, a);
    to_odd(quotient, rest * b.signum())
}

/// The square root with the last bit set if the result is inexact.
fn root(a: f64) -> f64 {
    let root = a.sqrt();
    to_odd(root, (-root).mul_add(root, a))
}

/// Rounds to odd: `result` is the nearest number, and the exact result is larger if `rest` is positive, smaller if it
/// is negative.
fn to_odd(result: f64, rest: f64) -> f64 {
    let bits = result.to_bits();
    match rest {
        _ if !result.is_finite() || result == 0.0 || bits & 1 == 1 => result,
        0.0 => result,
        _ if rest.is_nan() => result,
        _ if (rest > 0.0) == (result > 0.0) => f64::from_bits(bits + 1),
        _ => f64::from_bits(bits - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::random;

    const ROUNDINGS: [Rounding; 4] = [Rounding::Rn, Rounding::Rz, Rounding::Rm, Rounding::Rp];

    /// Checks each direction against its definition: the result is the nearest f32 on that side of the exact one.
    #[test]
    fn quotients_and_roots_are_rounded_in_their_direction() {
        let mut state = 7;
        for _ in 0..200_000 {
            let [a, b] = [(); 2].map(|()| f32::from_bits(random(&mut state) as u32));
            if !(a.is_normal() && b.is_normal() && (a / b).is_normal()) {
                continue;
            }
            let v = [a, b, 0.0].map(|x| u64::from(x.to_bits()));
            let [rn, rz, rm, rp] = ROUNDINGS.map(|rounding| {
                let divide = find("div", rounding, false, false).expect("a division");
                f(divide(v))
            });
            assert_eq!(rn, a / b);
            // The product of two f32 is exact.
            let side = |q: f32| {
                let over = f64::from(q) * f64::from(b) - f64::from(a);
                if b < 0.0 { -over } else { over }
            };
            assert!(side(rm) <= 0.0 && side(rp) >= 0.0, "{a} / {b}");
            assert!(
                rp == rm && side(rm) == 0.0 || rp == rm.next_up(),
                "{a} / {b}"
            );
            assert_eq!(rz, if a / b > 0.0 { rm } else { rp });
            let root = |rounding| {
                let root = find("sqrt", rounding, false, false).expect("a root");
                f(root([u64::from(a.abs().to_bits()), 0, 0]))
            };
            let square = |x: f32| f64::from(x) * f64::from(x);
            let (low, high) = (root(Rounding::Rm), root(Rounding::Rp));
            assert_eq!(root(Rounding::Rn), a.abs().sqrt());
            assert_eq!(root(Rounding::Rz), low);
            let exact = f64::from(a.abs());
            assert!(square(low) <= exact && square(high) >= exact, "sqrt {a}");
            assert!(low == high || high == low.next_up(), "sqrt {a}");
        }
    }

    #[test]
    fn subnormal_results_are_flushed_and_saturation_comes_last() {
        let tiny = u64::from(f32::MIN_POSITIVE.to_bits());
        let half = u64::from(0.5f32.to_bits());
        let mul = |rounding, ftz, sat| find("mul", rounding, ftz, sat).expect("a product");
        assert_eq!(mul(Rounding::Rz, true, false)([tiny, half, 0]), 0);
        assert_eq!(mul(Rounding::Rz, false, false)([tiny, half, 0]), 0x40_0000);
        let large = u64::from(3f32.to_bits());
        let one = u64::from(1f32.to_bits());
        assert_eq!(mul(Rounding::Rp, false, true)([large, large, 0]), one);
        assert!(find("div", Rounding::Rn, false, true).is_none());
    }
}
