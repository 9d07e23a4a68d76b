//! The functions of floating-point instructions: f32, f64, f16 and bf16.
use super::convert::rounding;
use super::float_format::{BF16, F16, Rounding, bf16_to_f64, f16_to_f64, fma_to_odd, narrow};
use super::scalar::{Scalar, d, f, put, put64};
use super::{double_modes, float_modes, min_max};
use crate::ptx::{Instr, Type, TypeKind};

/// Applies an operation to both halves of a packed pair.
fn both(v: [u64; 3], op: fn([u64; 3]) -> u64) -> u64 {
    let low = op(v.map(|x| x & 0xffff)) & 0xffff;
    let high = op(v.map(|x| x >> 16 & 0xffff)) & 0xffff;
    high << 16 | low
}
fn h(x: f64) -> u64 {
    u64::from(narrow(x, F16, Rounding::Rn))
}
fn b(x: f64) -> u64 {
    u64::from(narrow(x, BF16, Rounding::Rn))
}

pub(super) fn flush(x: f32) -> f32 {
    let zero = 0.0f32.copysign(x);
    if x.is_subnormal() { zero } else { x }
}

pub(super) fn float32(name: &str, instr: &Instr) -> Option<Scalar> {
    if instr.has("relu") {
        return None;
    }
    if matches!(name, "min" | "max") {
        return min_max::f32(name, instr);
    }
    if instr.has_any(&["xorsign", "NaN"]) {
        return None;
    }
    let (rounding, ftz, sat) = (rounding(instr), instr.has("ftz"), instr.has("sat"));
    Some(match (name, ftz, sat) {
        ("copysign", ..) => |v| v[1] & 0x7fff_ffff | v[0] & 0x8000_0000,
        _ if rounding != Rounding::Rn => return float_modes::find(name, rounding, ftz, sat),
        ("add", false, false) => |v| put(f(v[0]) + f(v[1])),
        ("sub", false, false) => |v| put(f(v[0]) - f(v[1])),
        ("mul", false, false) => |v| put(f(v[0]) * f(v[1])),
        ("fma" | "mad", false, false) => |v| put(f(v[0]).mul_add(f(v[1]), f(v[2]))),
        ("add", true, false) => |v| put(flush(flush(f(v[0])) + flush(f(v[1])))),
        ("sub", true, false) => |v| put(flush(flush(f(v[0])) - flush(f(v[1])))),
        ("mul", true, false) => mul_ftz,
        ("fma" | "mad", true, false) => |v| {
            let [a, b, c] = v.map(|x| flush(f(x)));
            let exact = fma_to_odd(a.into(), b.into(), c.into());
            flush_tiny(exact, put(a.mul_add(b, c)))
        },
        ("add", false, true) => |v| put(saturate(f(v[0]) + f(v[1]))),
        ("sub", false, true) => |v| put(saturate(f(v[0]) - f(v[1]))),
        ("mul", false, true) => |v| put(saturate(f(v[0]) * f(v[1]))),
        ("fma", false, true) => |v| put(saturate(f(v[0]).mul_add(f(v[1]), f(v[2])))),
        ("div", false, false) => |v| put(f(v[0]) / f(v[1])),
        ("rcp", false, false) => |v| put(1.0 / f(v[0])),
        ("sqrt", false, false) => |v| put(f(v[0]).sqrt()),
        ("abs", false, false) => |v| put(f(v[0]).abs()),
        ("neg", false, false) => |v| put(-f(v[0])),
        ("abs", true, false) => |v| put(flush(f(v[0])).abs()),
        ("neg", true, false) => |v| put(-flush(f(v[0]))),
        _ => return float_modes::find(name, rounding, ftz, sat),
    })
}
/// `mul.ftz.f32`
pub(crate) fn mul_ftz(v: [u64; 3]) -> u64 {
    let [a, b, _] = v.map(|x| flush(f(x)));
    flush_tiny(f64::from(a) * f64::from(b), put(a * b))
}
/// Flushes a result if it is tiny even after rounding to 24 bits with unlimited exponent.
fn flush_tiny(exact: f64, rounded: u64) -> u64 {
    let smallest = f64::from(f32::MIN_POSITIVE) * (1.0 - 2f64.powi(-25));
    let tiny = exact.abs() < smallest;
    if tiny { rounded & 0x8000_0000 } else { rounded }
}
pub(super) fn saturate(x: f32) -> f32 {
    // NaN and -0 saturate to +0.
    if x > 0.0 { x.min(1.0) } else { 0.0 }
}

pub(super) fn float64(name: &str, instr: &Instr) -> Option<Scalar> {
    if instr.has_any(&["ftz", "sat", "NaN", "relu", "xorsign"]) {
        return None;
    }
    Some(match (name, rounding(instr)) {
        ("add", Rounding::Rn) => |v| sum64(v, |a, b| a + b),
        ("add", Rounding::Rz) => |v| sum64(v, |a, b| directed64(a, b, Rounding::Rz)),
        ("add", Rounding::Rm) => |v| sum64(v, |a, b| directed64(a, b, Rounding::Rm)),
        ("add", Rounding::Rp) => |v| sum64(v, |a, b| directed64(a, b, Rounding::Rp)),
        ("sub", Rounding::Rn) => |v| sum64(v, |a, b| a - b),
        ("sub", Rounding::Rz) => |v| sum64(v, |a, b| directed64(a, -b, Rounding::Rz)),
        ("sub", Rounding::Rm) => |v| sum64(v, |a, b| directed64(a, -b, Rounding::Rm)),
        ("sub", Rounding::Rp) => |v| sum64(v, |a, b| directed64(a, -b, Rounding::Rp)),
        ("copysign", _) => |v| v[1] & !(1 << 63) | v[0] & (1 << 63),
        (_, rounding) if rounding != Rounding::Rn => return double_modes::find(name, rounding),
        ("mul", _) => |v| nan64([v[1], v[0]], d(v[0]) * d(v[1])),
        ("fma" | "mad", _) => |v| fma_f64(v[0], v[1], v[2]),
        ("div", _) => |v| nan64([v[0], v[1]], d(v[0]) / d(v[1])),
        ("rcp", _) => |v| nan64([v[0]], 1.0 / d(v[0])),
        ("sqrt", _) => |v| nan64([v[0]], d(v[0]).sqrt()),
        ("min", _) => |v| put64(min64(d(v[0]), d(v[1]))),
        ("max", _) => |v| put64(-min64(-d(v[0]), -d(v[1]))),
        ("abs", _) => |v| nan64([v[0]], d(v[0]).abs()),
        ("neg", _) => |v| nan64([v[0]], -d(v[0])),
        _ => return None,
    })
}
/// An f64 result. A NaN operand is propagated as a quiet NaN, the first in this order, seen on an H100: fma checks its
/// second, third and first operand; add, sub and mul check their second and first. The NaN of an invalid operation has
/// its sign set.
pub(crate) fn nan64<const N: usize>(operands: [u64; N], result: f64) -> u64 {
    if !result.is_nan() {
        return put64(result);
    }
    let first = operands.into_iter().find(|&x| d(x).is_nan());
    first.unwrap_or(0xfff0_0000_0000_0000) | 1 << 51
}
/// `fma.rn.f64`
pub(crate) fn fma_f64(a: u64, b: u64, c: u64) -> u64 {
    nan64([b, c, a], d(a).mul_add(d(b), d(c)))
}
fn sum64(v: [u64; 3], add: fn(f64, f64) -> f64) -> u64 {
    nan64([v[1], v[0]], add(d(v[0]), d(v[1])))
}
/// Clamps to the range from 0 to 1; NaN and -0 become 0.
pub(super) fn unit(x: f64) -> f64 {
    if x > 0.0 { x.min(1.0) } else { 0.0 }
}
pub(super) fn min64(a: f64, b: f64) -> f64 {
    match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        // -0 counts as less than +0.
        _ if a == b && a.is_sign_negative() => a,
        _ if a < b => a,
        _ => b,
    }
}
/// A sum rounded up, down or toward zero.
fn directed64(a: f64, b: f64, rounding: Rounding) -> f64 {
    let sum = a + b;
    if sum.is_infinite() && a.is_finite() && b.is_finite() {
        let stays = match rounding {
            Rounding::Rm => sum > 0.0,
            Rounding::Rp => sum < 0.0,
            _ => true,
        };
        return if stays { f64::MAX.copysign(sum) } else { sum };
    }
    if sum == 0.0 && rounding == Rounding::Rm && a.is_sign_negative() != b.is_sign_negative() {
        return -0.0;
    }
    // Knuth's two-sum: the exact error of rounding to nearest.
    let part = sum - a;
    let lost = (a - (sum - part)) + (b - part);
    let down = match rounding {
        Rounding::Rm => true,
        Rounding::Rp => false,
        _ => sum > 0.0,
    };
    match down {
        true if lost < 0.0 => sum.next_down(),
        false if lost > 0.0 => sum.next_up(),
        _ => sum,
    }
}

pub(super) fn float16(name: &str, ty: Type, instr: &Instr) -> Option<Scalar> {
    let (relu, ftz) = (instr.has("relu"), instr.has("ftz"));
    let is_half = ty.kind == TypeKind::Float;
    if rounding(instr) != Rounding::Rn || ftz && !is_half || relu && name != "fma" {
        return None;
    }
    /// f16 and bf16, single and in pairs, from one expression in f64.
    macro_rules! narrow {
        ($op:expr) => {{
            const OP: fn([f64; 3]) -> f64 = $op;
            fn half(v: [u64; 3]) -> u64 {
                h(OP(each(v, f16_to_f64)))
            }
            fn flushed(v: [u64; 3]) -> u64 {
                flush_f16(OP(each(v, |x| flush_f16_operand(f16_to_f64(x)))))
            }
            fn brain(v: [u64; 3]) -> u64 {
                b(OP(each(v, bf16_to_f64)))
            }
            match (is_half, ftz, ty.pair) {
                (true, false, false) => half,
                (true, false, true) => |v| both(v, half),
                (true, true, false) => flushed,
                (true, true, true) => |v| both(v, flushed),
                (false, _, false) => brain,
                (false, _, true) => |v| both(v, brain),
            }
        }};
    }
    Some(match name {
        "add" if instr.has("sat") => narrow!(|v| unit(fma_to_odd(v[0], 1.0, v[1]))),
        "sub" if instr.has("sat") => narrow!(|v| unit(fma_to_odd(v[0], 1.0, -v[1]))),
        "mul" if instr.has("sat") => narrow!(|v| unit(v[0] * v[1])),
        "fma" if instr.has("sat") => narrow!(|v| unit(fma_to_odd(v[0], v[1], v[2]))),
        "add" => narrow!(|v| fma_to_odd(v[0], 1.0, v[1])),
        "sub" => narrow!(|v| fma_to_odd(v[0], 1.0, -v[1])),
        "mul" => narrow!(|v| v[0] * v[1]),
        "fma" if relu => narrow!(|v| match fma_to_odd(v[0], v[1], v[2]) {
            x if x <= 0.0 => 0.0,
            x => x,
        }),
        "fma" => narrow!(|v| fma_to_odd(v[0], v[1], v[2])),
        "min" | "max" => match (name, instr.has("NaN"), instr.has("xorsign")) {
            ("min", false, false) => narrow!(min_max::of::<false, false, false>),
            ("min", false, true) => narrow!(min_max::of::<false, false, true>),
            ("min", true, false) => narrow!(min_max::of::<false, true, false>),
            ("min", true, true) => narrow!(min_max::of::<false, true, true>),
            (_, false, false) => narrow!(min_max::of::<true, false, false>),
            (_, false, true) => narrow!(min_max::of::<true, false, true>),
            (_, true, false) => narrow!(min_max::of::<true, true, false>),
            (_, true, true) => narrow!(min_max::of::<true, true, true>),
        },
        "neg" => narrow!(|v| -v[0]),
        "abs" => narrow!(|v| v[0].abs()),
        _ => return None,
    })
}

/// The same as `v.map(widen)`, but compiled once, not for each operation.
fn each([a, b, c]: [u64; 3], widen: fn(u64) -> f64) -> [f64; 3] {
    [widen(a), widen(b), widen(c)]
}

/// 2^-14, the smallest normal f16.
const SMALLEST_F16: f64 = 1.0 / 16384.0;

/// `.ftz` of an f16 operand.
pub(super) fn flush_f16_operand(x: f64) -> f64 {
    if x.abs() < SMALLEST_F16 { x * 0.0 } else { x }
}

/// `.ftz` of an exact result: flushed if it is tiny even after rounding to 11 bits with unlimited exponent.
fn flush_f16(exact: f64) -> u64 {
    let tiny = exact.abs() < SMALLEST_F16 * (1.0 - 2f64.powi(-12));
    if tiny { h(exact) & 0x8000 } else { h(exact) }
}
