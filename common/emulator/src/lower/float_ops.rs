//! What floating-point instructions compute: f32, f64, f16 and bf16.
use super::convert::rounding;
use super::float_format::{BF16, F16, F32, Rounding, bf16_to_f64, f16_to_f64, fma_to_odd, narrow};
use super::scalar::{Scalar, d, f, put, put64};
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

fn min32(a: f32, b: f32) -> f32 {
    min64(a.into(), b.into()) as f32
}
fn max32(a: f32, b: f32) -> f32 {
    -min32(-a, -b)
}
pub(super) fn flush(x: f32) -> f32 {
    let zero = 0.0f32.copysign(x);
    if x.is_subnormal() { zero } else { x }
}

pub(super) fn float32(name: &str, instr: &Instr) -> Option<Scalar> {
    if instr.has_any(&["xorsign", "abs", "relu"]) {
        return None;
    }
    let rounding = rounding(instr);
    if rounding != Rounding::Rn {
        if instr.has_any(&["ftz", "sat"]) {
            return None;
        }
        return match rounding {
            Rounding::Rz => directed::<{ Rounding::Rz as u8 }>(name),
            Rounding::Rm => directed::<{ Rounding::Rm as u8 }>(name),
            _ => directed::<{ Rounding::Rp as u8 }>(name),
        };
    }
    Some(
        match (name, instr.has("ftz"), instr.has("sat"), instr.has("NaN")) {
            ("add", false, false, _) => |v| put(f(v[0]) + f(v[1])),
            ("sub", false, false, _) => |v| put(f(v[0]) - f(v[1])),
            ("mul", false, false, _) => |v| put(f(v[0]) * f(v[1])),
            ("fma" | "mad", false, false, _) => |v| put(f(v[0]).mul_add(f(v[1]), f(v[2]))),
            ("add", true, false, _) => |v| put(flush(flush(f(v[0])) + flush(f(v[1])))),
            ("sub", true, false, _) => |v| put(flush(flush(f(v[0])) - flush(f(v[1])))),
            ("mul", true, false, _) => mul_ftz,
            ("fma" | "mad", true, false, _) => |v| {
                let [a, b, c] = v.map(|x| flush(f(x)));
                let exact = fma_to_odd(a.into(), b.into(), c.into());
                flush_tiny(exact, put(a.mul_add(b, c)))
            },
            ("add", false, true, _) => |v| put(saturate(f(v[0]) + f(v[1]))),
            ("sub", false, true, _) => |v| put(saturate(f(v[0]) - f(v[1]))),
            ("mul", false, true, _) => |v| put(saturate(f(v[0]) * f(v[1]))),
            ("fma", false, true, _) => |v| put(saturate(f(v[0]).mul_add(f(v[1]), f(v[2])))),
            ("div", false, false, _) => |v| put(f(v[0]) / f(v[1])),
            ("rcp", false, false, _) => |v| put(1.0 / f(v[0])),
            ("sqrt", false, false, _) => |v| put(f(v[0]).sqrt()),
            ("min", false, false, nan) if nan => |v| put(either_nan(v, min32)),
            ("max", false, false, nan) if nan => |v| put(either_nan(v, max32)),
            ("min", false, false, _) => |v| put(min32(f(v[0]), f(v[1]))),
            ("max", false, false, _) => |v| put(max32(f(v[0]), f(v[1]))),
            ("abs", false, ..) => |v| put(f(v[0]).abs()),
            ("neg", false, ..) => |v| put(-f(v[0])),
            ("copysign", ..) => |v| v[1] & 0x7fff_ffff | v[0] & 0x8000_0000,
            _ => return None,
        },
    )
}
/// `mul.ftz.f32`
pub(crate) fn mul_ftz(v: [u64; 3]) -> u64 {
    let [a, b, _] = v.map(|x| flush(f(x)));
    flush_tiny(f64::from(a) * f64::from(b), put(a * b))
}
/// A result is flushed if it is tiny even after rounding to 24 bits at any exponent.
fn flush_tiny(exact: f64, rounded: u64) -> u64 {
    let smallest = f64::from(f32::MIN_POSITIVE) * (1.0 - 2f64.powi(-25));
    let tiny = exact.abs() < smallest;
    if tiny { rounded & 0x8000_0000 } else { rounded }
}
fn either_nan(v: [u64; 3], pick: fn(f32, f32) -> f32) -> f32 {
    let (a, b) = (f(v[0]), f(v[1]));
    let nan = a.is_nan() || b.is_nan();
    if nan { f32::NAN } else { pick(a, b) }
}

/// f32 operations that round up, down or toward zero. f64 holds every product exactly, and every sum with
/// what `narrow` must know of the rest.
fn directed<const ROUNDING: u8>(name: &str) -> Option<Scalar> {
    fn sum<const ROUNDING: u8>(a: f64, b: f64, c: f64) -> u64 {
        let rounding = Rounding::from_u8(ROUNDING);
        let exact = fma_to_odd(a, b, c);
        // Rounding down, terms that cancel give -0.
        if rounding == Rounding::Rm
            && exact == 0.0
            && (a * b).is_sign_negative() != c.is_sign_negative()
        {
            return 0x8000_0000;
        }
        u64::from(narrow(exact, F32, rounding))
    }
    Some(match name {
        "add" => |v| sum::<ROUNDING>(f(v[0]).into(), 1.0, f(v[1]).into()),
        "sub" => |v| sum::<ROUNDING>(f(v[0]).into(), 1.0, (-f(v[1])).into()),
        "mul" => |v| {
            let product = f64::from(f(v[0])) * f64::from(f(v[1]));
            u64::from(narrow(product, F32, Rounding::from_u8(ROUNDING)))
        },
        "fma" => |v| sum::<ROUNDING>(f(v[0]).into(), f(v[1]).into(), f(v[2]).into()),
        _ => return None,
    })
}
fn saturate(x: f32) -> f32 {
    // NaN saturates to +0, and so does -0.
    if x > 0.0 { x.min(1.0) } else { 0.0 }
}

pub(super) fn float64(name: &str, instr: &Instr) -> Option<Scalar> {
    if instr.has_any(&["ftz", "sat", "NaN", "relu"]) {
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
        (_, rounding) if rounding != Rounding::Rn => return None,
        ("mul", _) => |v| nan64([v[0], v[1]], d(v[0]) * d(v[1])),
        ("fma" | "mad", _) => |v| fma_f64(v[0], v[1], v[2]),
        ("div", _) => |v| nan64([v[0], v[1]], d(v[0]) / d(v[1])),
        ("rcp", _) => |v| nan64([v[0]], 1.0 / d(v[0])),
        ("sqrt", _) => |v| nan64([v[0]], d(v[0]).sqrt()),
        ("min", _) => |v| put64(min64(d(v[0]), d(v[1]))),
        ("max", _) => |v| put64(-min64(-d(v[0]), -d(v[1]))),
        ("abs", _) => |v| nan64([v[0]], d(v[0]).abs()),
        ("neg", _) => |v| nan64([v[0]], -d(v[0])),
        ("copysign", _) => |v| v[1] & !(1 << 63) | v[0] & (1 << 63),
        _ => return None,
    })
}
/// An f64 result. NaN is that of the first operand that is one, made quiet (seen on an H100: fma
/// looks at its second operand, its third and its first, add and sub at their second and their first); the NaN of an invalid operation has its sign set.
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
/// Within 0 and 1; NaN and -0 become 0.
pub(super) fn unit(x: f64) -> f64 {
    if x > 0.0 { x.min(1.0) } else { 0.0 }
}
fn min64(a: f64, b: f64) -> f64 {
    match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        // -0 counts as less than +0.
        _ if a == b && a.is_sign_negative() => a,
        _ if a < b => a,
        _ => b,
    }
}
/// The first of two operands that is NaN, else this result.
fn nan_or(v: [f64; 3], result: f64) -> f64 {
    let nan = v[..2].iter().find(|x| x.is_nan());
    nan.copied().unwrap_or(result)
}
/// A sum that is rounded up, down or toward zero.
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
    // Knuth's two-sum: what rounding to nearest has lost, exactly.
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
    let relu = instr.has("relu");
    if rounding(instr) != Rounding::Rn || instr.has("ftz") || (relu && name != "fma") {
        return None;
    }
    /// f16 and bf16, alone and in pairs, from one expression over f64.
    macro_rules! narrow {
        ($op:expr) => {{
            const OP: fn([f64; 3]) -> f64 = $op;
            fn half(v: [u64; 3]) -> u64 {
                h(OP(v.map(f16_to_f64)))
            }
            fn brain(v: [u64; 3]) -> u64 {
                b(OP(v.map(bf16_to_f64)))
            }
            match (ty.kind, ty.pair) {
                (TypeKind::Float, false) => half,
                (TypeKind::Float, true) => |v| both(v, half),
                (_, false) => brain,
                (_, true) => |v| both(v, brain),
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
        "min" if instr.has("NaN") => narrow!(|v| nan_or(v, min64(v[0], v[1]))),
        "max" if instr.has("NaN") => narrow!(|v| nan_or(v, -min64(-v[0], -v[1]))),
        "min" => narrow!(|v| min64(v[0], v[1])),
        "max" => narrow!(|v| -min64(-v[0], -v[1])),
        "neg" => narrow!(|v| -v[0]),
        "abs" => narrow!(|v| v[0].abs()),
        _ => return None,
    })
}
