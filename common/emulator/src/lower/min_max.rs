//! `min` and `max` of floats (PTX ISA, "min", "max", "Half Precision Floating Point Instructions").
use super::float_format::{F32, Rounding, narrow};
use super::float_modes::operands;
use super::float_ops::min64;
use super::scalar::Scalar;
use crate::ptx::Instr;

/// The minimum or maximum of two numbers, as f64. `NAN`: a NaN operand is propagated. `XORSIGN`: magnitudes are
/// compared, and the sign is the exclusive or of both signs.
pub(super) fn of<const MAX: bool, const NAN: bool, const XORSIGN: bool>(
    [a, b, _]: [f64; 3],
) -> f64 {
    if NAN && let Some(nan) = [a, b].into_iter().find(|x| x.is_nan()) {
        return nan;
    }
    let pick = |a: f64, b: f64| match MAX {
        true => -min64(-a, -b),
        false => min64(a, b),
    };
    match XORSIGN {
        true if a.is_sign_negative() != b.is_sign_negative() => -pick(a.abs(), b.abs()).abs(),
        true => pick(a.abs(), b.abs()).abs(),
        false => pick(a, b),
    }
}

fn single<const MAX: bool, const NAN: bool, const XORSIGN: bool, const FTZ: bool>(
    v: [u64; 3],
) -> u64 {
    let result = of::<MAX, NAN, XORSIGN>(operands(v, FTZ));
    u64::from(narrow(result, F32, Rounding::Rn))
}

/// Of f32.
pub(super) fn f32(name: &str, instr: &Instr) -> Option<Scalar> {
    if instr.has_any(&["sat", "rn", "rz", "rm", "rp"]) || instr.has("xorsign") != instr.has("abs") {
        return None;
    }
    Some(match name {
        "min" => with::<false>(instr),
        _ => with::<true>(instr),
    })
}

fn with<const MAX: bool>(instr: &Instr) -> Scalar {
    match (instr.has("NaN"), instr.has("xorsign"), instr.has("ftz")) {
        (false, false, false) => single::<MAX, false, false, false>,
        (false, false, true) => single::<MAX, false, false, true>,
        (false, true, false) => single::<MAX, false, true, false>,
        (false, true, true) => single::<MAX, false, true, true>,
        (true, false, false) => single::<MAX, true, false, false>,
        (true, false, true) => single::<MAX, true, false, true>,
        (true, true, false) => single::<MAX, true, true, false>,
        (true, true, true) => single::<MAX, true, true, true>,
    }
}
