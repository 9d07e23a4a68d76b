//! Conversions: `cvt` as a few steps through f64, which represents every narrower number exactly.
use super::float_format::{BF16, F16, F32, Format, Rounding, bf16_to_f64, f16_to_f64, narrow};
use super::float_ops::{flush, nan64, unit};
use super::operand::wrong_width;
use super::scalar::{Scalar, d, f, put, put64, sx, zx};
use super::{Lowering, Result, class_of};
use crate::op::{Class, ColdOp, LaneOp, Reg};
use crate::ptx::{Instr, Type, TypeKind};

/// Selects the rounding to a format.
macro_rules! narrowing {
    ($format:expr, $instr:expr) => {
        match rounding($instr) {
            Rounding::Rn => |v| u64::from(narrow(d(v[0]), $format, Rounding::Rn)),
            Rounding::Rz => |v| u64::from(narrow(d(v[0]), $format, Rounding::Rz)),
            Rounding::Rm => |v| u64::from(narrow(d(v[0]), $format, Rounding::Rm)),
            Rounding::Rp => |v| u64::from(narrow(d(v[0]), $format, Rounding::Rp)),
        }
    };
    ($format:expr, $instr:expr, keep) => {
        match rounding($instr) {
            Rounding::Rn => |v| keep_nan(v[0], $format, Rounding::Rn),
            Rounding::Rz => |v| keep_nan(v[0], $format, Rounding::Rz),
            Rounding::Rm => |v| keep_nan(v[0], $format, Rounding::Rm),
            Rounding::Rp => |v| keep_nan(v[0], $format, Rounding::Rp),
        }
    };
}
/// Selects the conversion to an integer.
macro_rules! to_integer {
    ($from:expr, $signed:literal, $bits:literal) => {
        match $from.bits {
            64 => to_integer::<true, $signed, $bits>,
            _ => to_integer::<false, $signed, $bits>,
        }
    };
}

impl Lowering<'_> {
    pub(super) fn cvt(&mut self, instr: &Instr, types: &[Type]) -> Result<()> {
        if instr.has("pack") {
            return self.cvt_pack(instr);
        }
        if self.cvt_packed(instr)? {
            return Ok(());
        }
        let &[to, from] = types else {
            return Err(instr.unsupported());
        };
        if is_rounding_missing(instr, to, from) {
            let what = "needs a rounding modifier, such as `cvt.rn` (PTX ISA, \"cvt\")";
            return Err(instr.wrong(what));
        }
        let [d, a] = self.operands::<2>(instr)?;
        let Some(steps) = steps(instr, to, from) else {
            return Err(instr.unsupported());
        };
        let is_16 = self.is_16(d);
        let d = self.dest(instr, d)?;
        // The register may be wider than the result, which is then extended according to its type.
        if d.class == Class::Predicate || (d.class == Class::B32 && to.bits > 32) {
            return Err(wrong_width(instr));
        }
        let a = self.source(instr, a, class_of(from))?;
        if let Some(code) = fast(instr, to, from, d, a) {
            self.push(code);
            return Ok(());
        }
        let Some((last, before)) = steps.split_last() else {
            return Ok(());
        };
        let mut a = a;
        for &f in before {
            let t = self.temp(Class::B64);
            self.push_always(ColdOp::Scalar(f, t, [a; 3]));
            a = t;
        }
        self.push(ColdOp::Scalar(*last, d, [a; 3]));
        if is_16 {
            self.push_16(d.index);
        }
        Ok(())
    }
}

/// Conversions with a vector path of their own.
fn fast(instr: &Instr, to: Type, from: Type, d: Reg, a: Reg) -> Option<LaneOp> {
    let integer = !to.is_float() && !from.is_float() && !instr.has("sat");
    let widens = from.kind == TypeKind::Float && to.is_float();
    let narrows = to.kind == TypeKind::Float && from.is_float() && instr.opcode.len() == 4;
    let regs = [d.index, a.index];
    Some(match (from.bits, to.bits, d.class) {
        (32, 64, Class::B64) if integer => LaneOp::Extend(from.is_signed(), regs),
        (64, 32, Class::B32) if integer => LaneOp::Truncate(regs),
        (32, 32, Class::B32) if integer => LaneOp::MoveB32(regs),
        (16, 32, Class::B32) if widens && !instr.has("sat") => LaneOp::F16ToF32(regs),
        (32, 16, Class::B32) if narrows && instr.has("rn") => LaneOp::F32ToF16(regs),
        _ => return None,
    })
}

/// Conversions of floating-point numbers to narrower ones or to integers, and of integers to floating point, state how they round.
fn is_rounding_missing(instr: &Instr, to: Type, from: Type) -> bool {
    let rounds = [
        "rn", "rz", "rm", "rp", "rna", "rs", "rni", "rzi", "rmi", "rpi",
    ];
    let rounds = rounds.iter().any(|rounding| instr.has(rounding));
    let narrows = match (from.is_float(), to.is_float()) {
        (true, true) => to.bits < from.bits,
        (false, false) => false,
        _ => true,
    };
    narrows && !rounds
}

/// The functions of a conversion, applied one after the other.
fn steps(instr: &Instr, to: Type, from: Type) -> Option<Vec<Scalar>> {
    let known = [
        "rn", "rz", "rm", "rp", "rni", "rzi", "rmi", "rpi", "sat", "ftz",
    ];
    let mut suffixes = instr.opcode.iter().skip(1);
    if !suffixes.all(|s| known.contains(&s.as_str()) || Type::parse(s).is_some()) {
        return None;
    }
    let is_rounding = |s: &&String| matches!(s.as_str(), "rn" | "rz" | "rm" | "rp");
    let is_integer_rounding = |s: &&String| matches!(s.as_str(), "rni" | "rzi" | "rmi" | "rpi");
    let rounds = instr.opcode.iter().filter(is_rounding).count();
    let rounds_to_integer = instr.opcode.iter().filter(is_integer_rounding).count();
    // PTX ISA, "cvt", "Rounding modifier notes": an exact conversion takes none. ptxas takes one from bf16.
    let narrows = to.is_float() && (!from.is_float() || to.bits < from.bits);
    let of_brain = from.kind == TypeKind::Brain || to.kind == TypeKind::Brain;
    if rounds + rounds_to_integer > 1
        || rounds > 0 && !narrows && !of_brain
        || rounds_to_integer > 0 && !from.is_float()
    {
        return None;
    }
    let simple = |ty: Type| !ty.pair && ty.kind != TypeKind::Predicate && ty.bits <= 64;
    if !simple(to) || !simple(from) {
        return None;
    }
    let (sat, ftz) = (instr.has("sat"), instr.has("ftz"));
    let single = |ty: Type| ty.kind == TypeKind::Float && ty.bits == 32;
    if ftz && !single(to) && !single(from) {
        return None;
    }
    let mut steps: Vec<Scalar> = Vec::new();
    if from.kind == TypeKind::Brain && to.kind == TypeKind::Float && to.bits == 32 && !sat {
        // bf16 is the upper half of an f32, including NaN.
        return Some(vec![|v| v[0] << 16]);
    }
    if !from.is_float() && !to.is_float() {
        // Extended according to the source type, then according to the result type if that is narrower.
        steps.push(integer(from)?);
        if sat {
            steps.push(saturated(to, from.is_signed())?);
        } else if to.bits <= from.bits {
            steps.push(integer(to)?);
        }
        return Some(steps);
    }
    match (from.kind, from.bits) {
        (TypeKind::Float, 16) => steps.push(|v| put64(f16_to_f64(v[0]))),
        (TypeKind::Brain, 16) => steps.push(|v| put64(bf16_to_f64(v[0]))),
        // In machine code this is a multiplication by 1, which flushes subnormal numbers and canonicalizes NaN.
        (TypeKind::Float, 32) if ftz => {
            steps.push(|v| put64(f(put(flush(f(v[0])))).into()));
        }
        (TypeKind::Float, 32) => steps.push(|v| put64(f(v[0]).into())),
        (TypeKind::Float, 64) => {}
        _ if to.bits == 64 => {
            // An f64 result leaves no spare bits for rounding in two steps, so it is converted directly.
            steps.push(integer(from)?);
            steps.push(match from.is_signed() {
                true => |v| put64(v[0] as i64 as f64),
                false => |v| put64(v[0] as f64),
            });
            return Some(steps).filter(|_| rounding(instr) == Rounding::Rn && !sat);
        }
        _ => {
            steps.push(integer(from)?);
            steps.push(match from.is_signed() {
                true => |v| match v[0] as i64 {
                    x if x < 0 => put64(-to_odd(x.unsigned_abs())),
                    x => put64(to_odd(x.unsigned_abs())),
                },
                false => |v| put64(to_odd(v[0])),
            });
        }
    }
    match ["rni", "rzi", "rmi", "rpi"].map(|r| instr.has(r)) {
        [true, ..] => steps.push(|v| nan64([v[0]], d(v[0]).round_ties_even())),
        [_, true, ..] => steps.push(|v| nan64([v[0]], d(v[0]).trunc())),
        [_, _, true, _] => steps.push(|v| nan64([v[0]], d(v[0]).floor())),
        [_, _, _, true] => steps.push(|v| nan64([v[0]], d(v[0]).ceil())),
        _ if !to.is_float() => return None,
        _ => {}
    }
    if to.is_float() && sat {
        steps.push(|v| put64(unit(d(v[0]))));
    }
    match (to.kind, to.bits) {
        (TypeKind::Float, 16) if from.bits == 64 => steps.push(narrowing!(F16, instr, keep)),
        (TypeKind::Float, 32) if from.bits == 64 => steps.push(narrowing!(F32, instr, keep)),
        (TypeKind::Float, 16) => steps.push(narrowing!(F16, instr)),
        (TypeKind::Brain, 16) => steps.push(narrowing!(BF16, instr)),
        (TypeKind::Float, 32) => steps.push(narrowing!(F32, instr)),
        (TypeKind::Float, 64) => {}
        (TypeKind::Signed, 8) => steps.push(to_integer!(from, true, 8)),
        (TypeKind::Signed, 16) => steps.push(to_integer!(from, true, 16)),
        (TypeKind::Signed, 32) => steps.push(to_integer!(from, true, 32)),
        (TypeKind::Signed, 64) => steps.push(to_integer!(from, true, 64)),
        (TypeKind::Unsigned, 8) => steps.push(to_integer!(from, false, 8)),
        (TypeKind::Unsigned, 16) => steps.push(to_integer!(from, false, 16)),
        (TypeKind::Unsigned, 32) => steps.push(to_integer!(from, false, 32)),
        (TypeKind::Unsigned, 64) => steps.push(to_integer!(from, false, 64)),
        _ => return None,
    }
    if ftz && single(to) && from.bits == 64 {
        // Does not canonicalize NaN, which keeps its bits.
        steps.push(|v| u64::from(flush(f(v[0])).to_bits()));
    }
    if steps.is_empty() {
        steps.push(|v| v[0]);
    }
    Some(steps)
}

/// Rounds an f64; a NaN keeps its sign and upper bits.
fn keep_nan(x: u64, format: Format, rounding: Rounding) -> u64 {
    if !d(x).is_nan() {
        return u64::from(narrow(d(x), format, rounding));
    }
    let nan = narrow(f64::NAN, format, rounding);
    let (sign, fraction) = (x >> 63, x << 12 | 1 << 63);
    let top = u64::from(nan).count_ones();
    let quiet = u64::from(nan & !narrow(f64::INFINITY, format, rounding)).count_ones();
    let infinity = u64::from(narrow(f64::INFINITY, format, rounding));
    sign << top | infinity | fraction >> (64 - quiet)
}

/// An integer's value in 64 bits, from the low bits of its register.
fn integer(ty: Type) -> Option<Scalar> {
    Some(match (ty.is_signed(), ty.bits) {
        (true, 8) => |v| sx::<8>(v[0]) as u64,
        (true, 16) => |v| sx::<16>(v[0]) as u64,
        (true, 32) => |v| sx::<32>(v[0]) as u64,
        (false, 8) => |v| zx::<8>(v[0]),
        (false, 16) => |v| zx::<16>(v[0]),
        (false, 32) => |v| zx::<32>(v[0]),
        (_, 64) => |v| v[0],
        _ => return None,
    })
}

/// `.sat` of an integer: the nearest value of the type. `from_signed`: whether the operand's 64 bits are signed.
fn saturated(to: Type, from_signed: bool) -> Option<Scalar> {
    fn hold<const FROM_SIGNED: bool, const SIGNED: bool, const BITS: u32>(v: [u64; 3]) -> u64 {
        let x = match FROM_SIGNED {
            true => i128::from(v[0] as i64),
            false => i128::from(v[0]),
        };
        let (low, high) = match SIGNED {
            true => (-(1i128 << (BITS - 1)), (1i128 << (BITS - 1)) - 1),
            false => (0, (1i128 << BITS) - 1),
        };
        x.clamp(low, high) as u64
    }
    macro_rules! by_bits {
        ($from:literal, $to:literal) => {
            match to.bits {
                8 => hold::<$from, $to, 8>,
                16 => hold::<$from, $to, 16>,
                32 => hold::<$from, $to, 32>,
                64 => hold::<$from, $to, 64>,
                _ => return None,
            }
        };
    }
    Some(match (from_signed, to.is_signed()) {
        (true, true) => by_bits!(true, true),
        (true, false) => by_bits!(true, false),
        (false, true) => by_bits!(false, true),
        (false, false) => by_bits!(false, false),
    })
}

/// Converts an integer to f64, setting the last bit if the result is inexact ("round to odd"): a
/// second rounding then gives the same result as a single one.
fn to_odd(x: u64) -> f64 {
    let lost = x.leading_zeros().min(11);
    let (kept, rest) = (x >> (11 - lost), x & ((1 << (11 - lost)) - 1));
    (kept | u64::from(rest != 0)) as f64 * f64::from(1u32 << (11 - lost))
}

/// Values out of range become the nearest bound. NaN becomes 0, or only the top bit if the source
/// or the result has 64 bits (PTX ISA, "cvt").
fn to_integer<const WIDE: bool, const SIGNED: bool, const BITS: u32>(v: [u64; 3]) -> u64 {
    let x = d(v[0]);
    if x.is_nan() {
        let top = 1u64 << (BITS - 1);
        return match WIDE || BITS == 64 {
            true if SIGNED => sx::<BITS>(top) as u64,
            true => top,
            false => 0,
        };
    }
    let (low, high) = match SIGNED {
        true => (-(1i128 << (BITS - 1)), (1i128 << (BITS - 1)) - 1),
        false => (0, (1i128 << BITS) - 1),
    };
    (x as i128).clamp(low, high) as u64
}

pub(super) fn rounding(instr: &Instr) -> Rounding {
    match () {
        () if instr.has("rz") => Rounding::Rz,
        () if instr.has("rm") => Rounding::Rm,
        () if instr.has("rp") => Rounding::Rp,
        () => Rounding::Rn,
    }
}
