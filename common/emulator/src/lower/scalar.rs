//! The reference implementation of each arithmetic instruction, one thread at a time; tests compare all faster paths
//! with it.
//!
//! Operands are the zero-extended bits of their registers; only the low bits of the result are
//! used. Rules: PTX ISA, chapter "Instruction Set", under the instruction's name.
use super::bits;
use super::float_format::canonical;
use super::float_ops::{float16, float32, float64, flush};
use crate::approximate;
use crate::ptx::{Instr, Type, TypeKind};

/// One thread's result from up to three operands.
pub(crate) type Scalar = fn([u64; 3]) -> u64;

pub(super) fn sx<const BITS: u32>(x: u64) -> i64 {
    ((x << (64 - BITS)) as i64) >> (64 - BITS)
}
pub(super) fn zx<const BITS: u32>(x: u64) -> u64 {
    x << (64 - BITS) >> (64 - BITS)
}
pub(super) fn f(x: u64) -> f32 {
    f32::from_bits(x as u32)
}
pub(super) fn d(x: u64) -> f64 {
    f64::from_bits(x)
}
pub(super) fn put(x: f32) -> u64 {
    u64::from(canonical(x))
}
pub(super) fn put64(x: f64) -> u64 {
    x.to_bits()
}
/// Selects a const-generic function by width.
macro_rules! by_width {
    ($bits:expr, $name:ident) => {
        match $bits {
            8 => Some($name::<8> as Scalar),
            16 => Some($name::<16> as Scalar),
            32 => Some($name::<32> as Scalar),
            64 => Some($name::<64> as Scalar),
            _ => None,
        }
    };
    ($bits:expr, $is_signed:expr, $signed:ident, $unsigned:ident) => {
        if $is_signed {
            by_width!($bits, $signed)
        } else {
            by_width!($bits, $unsigned)
        }
    };
}

/// The function of an arithmetic instruction, or `None` if it is not in this file. `cvt`, `setp` and
/// moves have files of their own.
pub(crate) fn find(instr: &Instr) -> Option<Scalar> {
    let name = instr.opcode[0].as_str();
    let ty = *instr.types().last()?;
    if instr.has_any(&["approx", "full"]) {
        return approximate::function(&instr.opcode.join("."));
    }
    if let "vabsdiff2" | "vabsdiff4" = name {
        return absolute_differences(instr);
    }
    let known = [
        "lo", "hi", "wide", "sat", "rn", "rz", "rm", "rp", "ftz", "NaN", "l", "r", "wrap", "clamp",
        "shiftamt", "noftz", "relu", "xorsign", "abs",
    ];
    let mut suffixes = instr.opcode.iter().skip(1);
    if !suffixes.all(|s| known.contains(&s.as_str()) || Type::parse(s).is_some()) {
        return None;
    }
    match (ty.kind, ty.bits, ty.pair) {
        (TypeKind::Float, 32, false) => float32(name, instr),
        (TypeKind::Float, 64, _) => float64(name, instr),
        (TypeKind::Float | TypeKind::Brain, ..) => float16(name, ty, instr),
        _ => integer(name, ty, instr),
    }
}

fn integer(name: &str, ty: Type, instr: &Instr) -> Option<Scalar> {
    let bits = ty.bits;
    let signed = ty.is_signed();
    if ty.pair {
        return bits::of_pair(name, instr, signed);
    }
    let saturates = matches!(name, "add" | "sub")
        || matches!(name, "mad" | "mad24") && instr.has("hi") && signed;
    if !matches!(bits, 16 | 32 | 64)
        || instr.has("sat") && !(bits == 32 && saturates)
        || instr.has("relu") && !(bits == 32 && signed && matches!(name, "min" | "max"))
        || instr.has("xorsign")
    {
        return None;
    }
    Some(match name {
        "add" if instr.has("sat") => |v| saturated(sx::<32>(v[0]) + sx::<32>(v[1])),
        "sub" if instr.has("sat") => |v| saturated(sx::<32>(v[0]) - sx::<32>(v[1])),
        "min" if instr.has("relu") => |v| sx::<32>(v[0]).min(sx::<32>(v[1])).max(0) as u64,
        "max" if instr.has("relu") => |v| sx::<32>(v[0]).max(sx::<32>(v[1])).max(0) as u64,
        "add" => |v| v[0].wrapping_add(v[1]),
        "sub" => |v| v[0].wrapping_sub(v[1]),
        "mul" | "mad" if instr.has("lo") => |v| v[0].wrapping_mul(v[1]).wrapping_add(v[2]),
        "mul" | "mad" if instr.has("wide") => return wide(bits, signed),
        "mad" if instr.has("hi") && instr.has("sat") => {
            |v| saturated(((sx::<32>(v[0]) * sx::<32>(v[1])) >> 32) + sx::<32>(v[2]))
        }
        "mul24" | "mad24" if instr.has("hi") => return bits::high_of_24(instr, signed),
        "mul" | "mad" if instr.has("hi") => return by_width!(bits, signed, mad_hi_s, mad_hi_u),
        "mul24" | "mad24" if instr.has("lo") && signed => {
            |v| (sx::<24>(v[0]).wrapping_mul(sx::<24>(v[1])) as u64).wrapping_add(v[2])
        }
        "mul24" | "mad24" if instr.has("lo") => {
            |v| (zx::<24>(v[0]) * zx::<24>(v[1])).wrapping_add(v[2])
        }
        "sad" if signed => return by_width!(bits, sad_s),
        "sad" => |v| v[2].wrapping_add(v[0].abs_diff(v[1])),
        "dp4a" => return dp4a(instr),
        "dp2a" => return bits::dp2a(instr),
        "fns" | "szext" | "bmsk" => return bits::find(name, instr, signed),
        "div" => return by_width!(bits, signed, div_s, div_u),
        "rem" => return by_width!(bits, signed, rem_s, rem_u),
        "abs" => return by_width!(bits, abs_s),
        "neg" => |v| v[0].wrapping_neg(),
        "min" => return by_width!(bits, signed, min_s, min_u),
        "max" => return by_width!(bits, signed, max_s, max_u),
        "and" => |v| v[0] & v[1],
        "or" => |v| v[0] | v[1],
        "xor" => |v| v[0] ^ v[1],
        "not" => |v| !v[0],
        "cnot" => |v| u64::from(v[0] == 0),
        "shl" => return by_width!(bits, shl),
        "shr" => return by_width!(bits, signed, shr_s, shr_u),
        "popc" => |v| u64::from(v[0].count_ones()),
        "clz" => return by_width!(bits, clz),
        "brev" => return by_width!(bits, brev),
        "bfind" => return bfind(instr, bits, signed),
        "bfe" => return by_width!(bits, signed, bfe_s, bfe_u),
        "shf" => return shf(instr),
        _ => return None,
    })
}

/// Clamps to the range of an s32.
pub(super) fn saturated(x: i64) -> u64 {
    x.clamp(i32::MIN.into(), i32::MAX.into()) as u64
}

fn wide(bits: u32, signed: bool) -> Option<Scalar> {
    Some(match (bits, signed) {
        (16, true) => |v| (sx::<16>(v[0]) * sx::<16>(v[1])).wrapping_add(v[2] as i64) as u64,
        (16, false) => |v| (zx::<16>(v[0]) * zx::<16>(v[1])).wrapping_add(v[2]),
        (32, true) => |v| (sx::<32>(v[0]) * sx::<32>(v[1])).wrapping_add(v[2] as i64) as u64,
        (32, false) => |v| (v[0] * v[1]).wrapping_add(v[2]),
        _ => return None,
    })
}
fn mad_hi_s<const BITS: u32>(v: [u64; 3]) -> u64 {
    (((i128::from(sx::<BITS>(v[0])) * i128::from(sx::<BITS>(v[1]))) >> BITS) as u64)
        .wrapping_add(v[2])
}
fn mad_hi_u<const BITS: u32>(v: [u64; 3]) -> u64 {
    (((u128::from(zx::<BITS>(v[0])) * u128::from(zx::<BITS>(v[1]))) >> BITS) as u64)
        .wrapping_add(v[2])
}
/// Division by zero is unspecified (PTX ISA, "div"); quotient and remainder are all ones on an H100.
fn div_s<const BITS: u32>(v: [u64; 3]) -> u64 {
    match sx::<BITS>(v[1]) {
        0 => u64::MAX,
        b => sx::<BITS>(v[0]).wrapping_div(b) as u64,
    }
}
fn div_u<const BITS: u32>(v: [u64; 3]) -> u64 {
    let quotient = zx::<BITS>(v[0]).checked_div(zx::<BITS>(v[1]));
    quotient.unwrap_or(u64::MAX)
}
fn rem_s<const BITS: u32>(v: [u64; 3]) -> u64 {
    match sx::<BITS>(v[1]) {
        0 => u64::MAX,
        b => sx::<BITS>(v[0]).wrapping_rem(b) as u64,
    }
}
fn rem_u<const BITS: u32>(v: [u64; 3]) -> u64 {
    let rest = zx::<BITS>(v[0]).checked_rem(zx::<BITS>(v[1]));
    rest.unwrap_or(u64::MAX)
}
fn sad_s<const BITS: u32>(v: [u64; 3]) -> u64 {
    v[2].wrapping_add(sx::<BITS>(v[0]).abs_diff(sx::<BITS>(v[1])))
}
/// One half of a product; the third operand is added, and is zero.
pub(super) fn product(ty: Type, high: bool) -> Option<Scalar> {
    match high {
        false => Some(|v| v[0].wrapping_mul(v[1]).wrapping_add(v[2])),
        true => by_width!(ty.bits, ty.is_signed(), mad_hi_s, mad_hi_u),
    }
}
/// `vabsdiff4.u32.u32.u32` and `vabsdiff2`: the absolute differences of the parts, or their sum added to the third
/// operand (PTX ISA, "SIMD Video Instructions"), as CUDA's intrinsics use them.
fn absolute_differences(instr: &Instr) -> Option<Scalar> {
    fn parts<const BITS: u32>(v: [u64; 3]) -> impl Iterator<Item = u64> {
        let part = move |i, value: u64| zx::<BITS>(value >> (BITS * i));
        (0..32 / BITS).map(move |i| part(i, v[0]).abs_diff(part(i, v[1])))
    }
    fn sum<const BITS: u32>(v: [u64; 3]) -> u64 {
        parts::<BITS>(v).fold(v[2], u64::wrapping_add)
    }
    fn each<const BITS: u32>(v: [u64; 3]) -> u64 {
        (0..)
            .zip(parts::<BITS>(v))
            .fold(0, |all, (i, part)| all | part << (BITS * i))
    }
    let opcode: Vec<&str> = instr.opcode.iter().map(String::as_str).collect();
    Some(match opcode[..] {
        ["vabsdiff2", "u32", "u32", "u32"] => each::<16>,
        ["vabsdiff2", "u32", "u32", "u32", "add"] => sum::<16>,
        ["vabsdiff4", "u32", "u32", "u32"] => each::<8>,
        ["vabsdiff4", "u32", "u32", "u32", "add"] => sum::<8>,
        _ => return None,
    })
}
/// Four products of bytes, added to the third operand; each factor is signed or not.
fn dp4a(instr: &Instr) -> Option<Scalar> {
    fn dot<const A: bool, const B: bool>(v: [u64; 3]) -> u64 {
        let byte = |x: u64, i: u32, signed: bool| match (x >> (8 * i)) as u8 {
            byte if signed => i64::from(byte as i8),
            byte => i64::from(byte),
        };
        (0..4).fold(v[2], |sum, i| {
            sum.wrapping_add((byte(v[0], i, A) * byte(v[1], i, B)) as u64)
        })
    }
    Some(match instr.types()[..] {
        [a, b] => match (a.is_signed(), b.is_signed()) {
            (false, false) => dot::<false, false>,
            (false, true) => dot::<false, true>,
            (true, false) => dot::<true, false>,
            (true, true) => dot::<true, true>,
        },
        _ => return None,
    })
}
fn abs_s<const BITS: u32>(v: [u64; 3]) -> u64 {
    sx::<BITS>(v[0]).wrapping_abs() as u64
}
fn min_s<const BITS: u32>(v: [u64; 3]) -> u64 {
    sx::<BITS>(v[0]).min(sx::<BITS>(v[1])) as u64
}
fn min_u<const BITS: u32>(v: [u64; 3]) -> u64 {
    zx::<BITS>(v[0]).min(zx::<BITS>(v[1]))
}
fn max_s<const BITS: u32>(v: [u64; 3]) -> u64 {
    sx::<BITS>(v[0]).max(sx::<BITS>(v[1])) as u64
}
fn max_u<const BITS: u32>(v: [u64; 3]) -> u64 {
    zx::<BITS>(v[0]).max(zx::<BITS>(v[1]))
}
/// Shifts take an unsigned 32-bit amount and clamp it at the width.
fn shl<const BITS: u32>(v: [u64; 3]) -> u64 {
    let n = v[1] & 0xffff_ffff;
    if n >= u64::from(BITS) { 0 } else { v[0] << n }
}
fn shr_u<const BITS: u32>(v: [u64; 3]) -> u64 {
    let n = v[1] & 0xffff_ffff;
    let x = zx::<BITS>(v[0]);
    if n >= u64::from(BITS) { 0 } else { x >> n }
}
fn shr_s<const BITS: u32>(v: [u64; 3]) -> u64 {
    let n = (v[1] & 0xffff_ffff).min(u64::from(BITS) - 1);
    (sx::<BITS>(v[0]) >> n) as u64
}
fn clz<const BITS: u32>(v: [u64; 3]) -> u64 {
    u64::from(zx::<BITS>(v[0]).leading_zeros() - (64 - BITS))
}
fn brev<const BITS: u32>(v: [u64; 3]) -> u64 {
    v[0].reverse_bits() >> (64 - BITS)
}
fn bfind(instr: &Instr, bits: u32, signed: bool) -> Option<Scalar> {
    fn top(x: u64) -> u64 {
        x.checked_ilog2().map_or(0xffff_ffff, u64::from)
    }
    fn magnitude<const BITS: u32>(x: u64) -> u64 {
        let s = sx::<BITS>(x);
        zx::<BITS>(if s < 0 { !s } else { s } as u64)
    }
    fn amount<const BITS: u32>(x: u64) -> u64 {
        match x {
            0xffff_ffff => x,
            _ => u64::from(BITS) - 1 - x,
        }
    }
    Some(match (bits, signed, instr.has("shiftamt")) {
        (_, false, false) => |v| top(v[0]),
        (32, true, false) => |v| top(magnitude::<32>(v[0])),
        (64, true, false) => |v| top(magnitude::<64>(v[0])),
        (32, false, true) => |v| amount::<32>(top(v[0])),
        (64, false, true) => |v| amount::<64>(top(v[0])),
        (32, true, true) => |v| amount::<32>(top(magnitude::<32>(v[0]))),
        (64, true, true) => |v| amount::<64>(top(magnitude::<64>(v[0]))),
        _ => return None,
    })
}
/// Position and length of a bit field: the low 8 bits of their operands, or all bits for 64-bit
/// fields, as on an H100 (the PTX ISA does not specify numbers above 255).
fn field<const BITS: u32>(pos: u64, len: u64) -> (u32, u32) {
    let cut = |x: u64| match BITS {
        64 => (x as u32).min(255),
        _ => x as u32 & 0xff,
    };
    (cut(pos), cut(len))
}
/// The mask of the lowest `len` bits.
pub(super) fn ones(len: u32) -> u64 {
    1u64.unbounded_shl(len).wrapping_sub(1)
}
fn bfe_u<const BITS: u32>(v: [u64; 3]) -> u64 {
    let (pos, len) = field::<BITS>(v[1], v[2]);
    if len == 0 || pos >= BITS {
        return 0;
    }
    v[0] >> pos & ones(len)
}
fn bfe_s<const BITS: u32>(v: [u64; 3]) -> u64 {
    let (pos, len) = field::<BITS>(v[1], v[2]);
    if len == 0 {
        return 0;
    }
    let x = sx::<BITS>(v[0]);
    let sign = (x >> (pos + len - 1).min(BITS - 1)) & 1;
    let field = zx::<BITS>(v[0]).unbounded_shr(pos);
    let width = ones(len.min(BITS.saturating_sub(pos)));
    match sign {
        0 => field & width,
        _ => field | !width,
    }
}
/// `bfi.b32 d, a, b, c, e`: bits of a put into b; the halves of `v[2]` are position and length.
pub(crate) fn bfi<const BITS: u32>(v: [u64; 3]) -> u64 {
    let (pos, len) = field::<BITS>(v[2] & 0xffff_ffff, v[2] >> 32);
    if len == 0 || pos >= BITS {
        return v[1];
    }
    let mask = zx::<BITS>(ones(len) << pos);
    (v[1] & !mask) | (v[0] << pos & mask)
}
fn shf(instr: &Instr) -> Option<Scalar> {
    Some(match (instr.has("l"), instr.has("wrap")) {
        (true, true) => |v| ((v[1] << 32 | v[0]) << (v[2] & 31)) >> 32,
        (true, false) => {
            |v| (u128::from(v[1] << 32 | v[0]) << (v[2] & 0xffff_ffff).min(32) >> 32) as u64
        }
        (false, true) => |v| (v[1] << 32 | v[0]) >> (v[2] & 31),
        (false, false) => |v| (v[1] << 32 | v[0]) >> (v[2] & 0xffff_ffff).min(32),
    })
}
/// The new value of an atomic operation, from (old value, operand, second operand).
pub(crate) fn atomic(instr: &Instr, ty: Type) -> Option<Scalar> {
    let known = [
        "add", "exch", "cas", "min", "max", "and", "or", "xor", "inc", "dec",
    ];
    let name = known.into_iter().find(|op| instr.has(op))?;
    Some(match (name, ty.kind, ty.bits) {
        ("exch", ..) => |v| v[1],
        ("cas", ..) => |v| if v[0] == v[1] { v[2] } else { v[0] },
        ("inc", _, 32) => |v| if v[0] >= v[1] { 0 } else { v[0] + 1 },
        ("dec", _, 32) => |v| match v[0] {
            old if old == 0 || old > v[1] => v[1],
            old => old - 1,
        },
        (_, TypeKind::Float, 32) if !ty.pair => return float32(name, instr),
        (_, TypeKind::Float, 64) => return float64(name, instr),
        (_, TypeKind::Float | TypeKind::Brain, _) => return float16(name, ty, instr),
        _ => return integer(name, ty, instr),
    })
}

/// The addition of f32 to global memory flushes subnormal numbers (PTX ISA, "atom").
pub(crate) fn atomic_on_global(ty: Type) -> Option<Scalar> {
    let f32 = (ty.kind, ty.bits, ty.pair) == (TypeKind::Float, 32, false);
    f32.then_some(|v| put(flush(flush(f(v[0])) + flush(f(v[1])))))
}
