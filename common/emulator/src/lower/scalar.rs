//! The meaning of each arithmetic instruction, one thread at a time: the reference for everything faster.
//!
//! Operands arrive as the zero-extended bits of their registers; of the result, the low bits count.
//! Rules: PTX ISA, chapter "Instruction Set", under the instruction's name.
use super::float::{
    BF16, F16, F32, Rounding, bf16_to_f64, canonical, f16_to_f64, fma_to_odd, narrow,
};
use crate::ptx::{Instr, Kind, Type};

/// One thread's result from up to three operands.
pub(crate) type Scalar = fn([u64; 3]) -> u64;

fn sx<const BITS: u32>(x: u64) -> i64 {
    ((x << (64 - BITS)) as i64) >> (64 - BITS)
}
fn zx<const BITS: u32>(x: u64) -> u64 {
    x << (64 - BITS) >> (64 - BITS)
}
fn f(x: u64) -> f32 {
    f32::from_bits(x as u32)
}
fn d(x: u64) -> f64 {
    f64::from_bits(x)
}
fn put(x: f32) -> u64 {
    u64::from(canonical(x).to_bits())
}
fn put64(x: f64) -> u64 {
    x.to_bits()
}
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

/// Picks a const-generic function by width.
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
}

/// The function of an arithmetic instruction, or `None` if it has none here. `cvt`, `setp` and moves
/// have places of their own.
pub(crate) fn find(instr: &Instr) -> Option<Scalar> {
    let name = instr.opcode[0].as_str();
    let ty = *instr.types().last()?;
    match (ty.kind, ty.bits, ty.pair) {
        (Kind::Float, 32, false) => float32(name, instr),
        (Kind::Float, 64, _) => float64(name, instr),
        (Kind::Float | Kind::Brain, ..) => float16(name, ty, instr),
        _ => integer(name, ty, instr),
    }
}

fn integer(name: &str, ty: Type, instr: &Instr) -> Option<Scalar> {
    let bits = ty.bits;
    let signed = ty.is_signed();
    if instr.has("sat") && name != "add" && name != "sub" {
        return None;
    }
    Some(match name {
        "add" if instr.has("sat") => {
            |v| (sx::<32>(v[0]) + sx::<32>(v[1])).clamp(i32::MIN.into(), i32::MAX.into()) as u64
        }
        "sub" if instr.has("sat") => {
            |v| (sx::<32>(v[0]) - sx::<32>(v[1])).clamp(i32::MIN.into(), i32::MAX.into()) as u64
        }
        // Carries are not kept: `addc` and `.cc` are refused.
        "add" | "sub" | "mad" if instr.has("cc") => return None,
        "add" => |v| v[0].wrapping_add(v[1]),
        "sub" => |v| v[0].wrapping_sub(v[1]),
        "mul" | "mad" if instr.has("lo") => |v| v[0].wrapping_mul(v[1]).wrapping_add(v[2]),
        "mul" | "mad" if instr.has("wide") => return wide(bits, signed),
        "mul" | "mad" if instr.has("hi") => {
            return if signed {
                by_width!(bits, mad_hi_s)
            } else {
                by_width!(bits, mad_hi_u)
            };
        }
        "mul24" | "mad24" if instr.has("lo") && signed => {
            |v| (sx::<24>(v[0]).wrapping_mul(sx::<24>(v[1])) as u64).wrapping_add(v[2])
        }
        "mul24" | "mad24" if instr.has("lo") => |v| {
            zx::<24>(v[0])
                .wrapping_mul(zx::<24>(v[1]))
                .wrapping_add(v[2])
        },
        "sad" if signed => |v| v[2].wrapping_add((sx::<32>(v[0]) - sx::<32>(v[1])).unsigned_abs()),
        "sad" => |v| v[2].wrapping_add(v[0].abs_diff(v[1])),
        "div" => {
            return if signed {
                by_width!(bits, div_s)
            } else {
                by_width!(bits, div_u)
            };
        }
        "rem" => {
            return if signed {
                by_width!(bits, rem_s)
            } else {
                by_width!(bits, rem_u)
            };
        }
        "abs" => return by_width!(bits, abs_s),
        "neg" => |v| v[0].wrapping_neg(),
        "min" if instr.has("relu") => return None,
        "min" => {
            return if signed {
                by_width!(bits, min_s)
            } else {
                by_width!(bits, min_u)
            };
        }
        "max" => {
            return if signed {
                by_width!(bits, max_s)
            } else {
                by_width!(bits, max_u)
            };
        }
        "and" => |v| v[0] & v[1],
        "or" => |v| v[0] | v[1],
        "xor" => |v| v[0] ^ v[1],
        "not" => |v| !v[0],
        "cnot" => |v| u64::from(v[0] == 0),
        "shl" => return by_width!(bits, shl),
        "shr" => {
            return if signed {
                by_width!(bits, shr_s)
            } else {
                by_width!(bits, shr_u)
            };
        }
        "popc" => |v| u64::from(v[0].count_ones()),
        "clz" => return by_width!(bits, clz),
        "brev" => return by_width!(bits, brev),
        "bfind" => return bfind(instr, bits, signed),
        "bfe" => {
            return if signed {
                by_width!(bits, bfe_s)
            } else {
                by_width!(bits, bfe_u)
            };
        }
        // bfi's four operands are folded by the lowering.
        "shf" => return shf(instr),
        "lop3" | "prmt" | "bfi" | "dp4a" | "dp2a" | "addc" | "subc" | "madc" => return None,
        _ => return None,
    })
}

fn wide(bits: u32, signed: bool) -> Option<Scalar> {
    Some(match (bits, signed) {
        (16, true) => |v| (sx::<16>(v[0]) * sx::<16>(v[1])).wrapping_add(v[2] as i64) as u64,
        (16, false) => |v| (v[0] * v[1]).wrapping_add(v[2]),
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
    ((u128::from(v[0]) * u128::from(v[1]) >> BITS) as u64).wrapping_add(v[2])
}
/// Division by zero gives all ones: the PTX ISA leaves it open, and this is what hardware returns for u32.
fn div_s<const BITS: u32>(v: [u64; 3]) -> u64 {
    if v[1] == 0 {
        u64::MAX
    } else {
        sx::<BITS>(v[0]).wrapping_div(sx::<BITS>(v[1])) as u64
    }
}
fn div_u<const BITS: u32>(v: [u64; 3]) -> u64 {
    v[0].checked_div(v[1]).unwrap_or(u64::MAX)
}
fn rem_s<const BITS: u32>(v: [u64; 3]) -> u64 {
    if v[1] == 0 {
        v[0]
    } else {
        sx::<BITS>(v[0]).wrapping_rem(sx::<BITS>(v[1])) as u64
    }
}
fn rem_u<const BITS: u32>(v: [u64; 3]) -> u64 {
    v[0].checked_rem(v[1]).unwrap_or(v[0])
}
fn abs_s<const BITS: u32>(v: [u64; 3]) -> u64 {
    sx::<BITS>(v[0]).wrapping_abs() as u64
}
fn min_s<const BITS: u32>(v: [u64; 3]) -> u64 {
    sx::<BITS>(v[0]).min(sx::<BITS>(v[1])) as u64
}
fn min_u<const BITS: u32>(v: [u64; 3]) -> u64 {
    v[0].min(v[1])
}
fn max_s<const BITS: u32>(v: [u64; 3]) -> u64 {
    sx::<BITS>(v[0]).max(sx::<BITS>(v[1])) as u64
}
fn max_u<const BITS: u32>(v: [u64; 3]) -> u64 {
    v[0].max(v[1])
}
/// Shifts take an unsigned 32-bit amount and clamp it at the width.
fn shl<const BITS: u32>(v: [u64; 3]) -> u64 {
    let n = v[1] & 0xffff_ffff;
    if n >= u64::from(BITS) { 0 } else { v[0] << n }
}
fn shr_u<const BITS: u32>(v: [u64; 3]) -> u64 {
    let n = v[1] & 0xffff_ffff;
    if n >= u64::from(BITS) { 0 } else { v[0] >> n }
}
fn shr_s<const BITS: u32>(v: [u64; 3]) -> u64 {
    let n = (v[1] & 0xffff_ffff).min(u64::from(BITS) - 1);
    (sx::<BITS>(v[0]) >> n) as u64
}
fn clz<const BITS: u32>(v: [u64; 3]) -> u64 {
    u64::from(v[0].leading_zeros() - (64 - BITS))
}
fn brev<const BITS: u32>(v: [u64; 3]) -> u64 {
    v[0].reverse_bits() >> (64 - BITS)
}
fn bfind(instr: &Instr, bits: u32, signed: bool) -> Option<Scalar> {
    fn top(x: u64) -> u64 {
        if x == 0 {
            0xffff_ffff
        } else {
            63 - u64::from(x.leading_zeros())
        }
    }
    fn magnitude<const BITS: u32>(x: u64) -> u64 {
        let s = sx::<BITS>(x);
        zx::<BITS>(if s < 0 { !s } else { s } as u64)
    }
    fn amount<const BITS: u32>(x: u64) -> u64 {
        if x == 0xffff_ffff {
            x
        } else {
            u64::from(BITS) - 1 - x
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
/// Position and length are the low 8 bits of their operands.
fn bfe_u<const BITS: u32>(v: [u64; 3]) -> u64 {
    let (pos, len) = ((v[1] & 0xff) as u32, (v[2] & 0xff) as u32);
    if len == 0 || pos >= BITS {
        return 0;
    }
    let field = v[0] >> pos;
    if len >= 64 {
        field
    } else {
        field & ((1 << len) - 1)
    }
}
fn bfe_s<const BITS: u32>(v: [u64; 3]) -> u64 {
    let (pos, len) = ((v[1] & 0xff) as u32, (v[2] & 0xff) as u32);
    if len == 0 {
        return 0;
    }
    let x = sx::<BITS>(v[0]);
    let sign = (x >> (pos + len - 1).min(BITS - 1)) & 1;
    let mut field = if pos >= BITS {
        0
    } else {
        zx::<BITS>(v[0]) >> pos
    };
    let width = len.min(BITS.saturating_sub(pos));
    if width < 64 {
        field &= (1u64 << width) - 1;
        if sign == 1 {
            field |= u64::MAX << width;
        }
    }
    field
}
/// `bfi.b32 d, a, b, c, e`: bits of a put into b; the position and length come packed in `v[2]`.
pub(crate) fn bfi<const BITS: u32>(v: [u64; 3]) -> u64 {
    let (pos, len) = ((v[2] & 0xff) as u32, (v[2] >> 8 & 0xff) as u32);
    if len == 0 || pos >= BITS {
        return v[1];
    }
    let field = if len >= 64 {
        u64::MAX
    } else {
        (1u64 << len) - 1
    };
    let mask = zx::<BITS>(field << pos);
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
/// The byte permutation in its default mode: four selectors of four bits, the top one repeats the sign.
pub(crate) fn prmt(v: [u64; 3]) -> u64 {
    let bytes = (v[1] << 32 | v[0]).to_le_bytes();
    (0..4).fold(0, |result, i| {
        let selector = v[2] >> (4 * i);
        let byte = bytes[(selector & 7) as usize];
        let byte = if selector & 8 != 0 {
            (byte as i8 >> 7) as u8
        } else {
            byte
        };
        result | u64::from(byte) << (8 * i)
    })
}
/// `lop3.b32` by its truth table.
pub(crate) fn lop3(a: u64, b: u64, c: u64, table: u64) -> u64 {
    (0..8).filter(|i| table >> i & 1 == 1).fold(0, |result, i| {
        let pick = |x: u64, bit: u64| if i >> bit & 1 == 1 { x } else { !x };
        result | pick(a, 2) & pick(b, 1) & pick(c, 0)
    })
}

fn min32(a: f32, b: f32) -> f32 {
    match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        // -0 counts as less than +0.
        _ if a == b => {
            if a.is_sign_negative() {
                a
            } else {
                b
            }
        }
        _ => {
            if a < b {
                a
            } else {
                b
            }
        }
    }
}
fn max32(a: f32, b: f32) -> f32 {
    -min32(-a, -b)
}
fn flush(x: f32) -> f32 {
    if x.is_subnormal() {
        0.0f32.copysign(x)
    } else {
        x
    }
}

fn float32(name: &str, instr: &Instr) -> Option<Scalar> {
    let directed = ["rz", "rm", "rp"].iter().any(|r| instr.has(r));
    if directed
        || ["approx", "full", "xorsign", "abs", "relu"]
            .iter()
            .any(|s| instr.has(s))
    {
        return None;
    }
    Some(
        match (name, instr.has("ftz"), instr.has("sat"), instr.has("NaN")) {
            ("add", false, false, _) => |v| put(f(v[0]) + f(v[1])),
            ("sub", false, false, _) => |v| put(f(v[0]) - f(v[1])),
            ("mul", false, false, _) => |v| put(f(v[0]) * f(v[1])),
            ("fma" | "mad", false, false, _) => |v| put(f(v[0]).mul_add(f(v[1]), f(v[2]))),
            ("add", true, false, _) => |v| put(flush(flush(f(v[0])) + flush(f(v[1])))),
            ("sub", true, false, _) => |v| put(flush(flush(f(v[0])) - flush(f(v[1])))),
            ("mul", true, false, _) => |v| put(flush(flush(f(v[0])) * flush(f(v[1])))),
            ("fma" | "mad", true, false, _) => |v| {
                put(flush(
                    flush(f(v[0])).mul_add(flush(f(v[1])), flush(f(v[2]))),
                ))
            },
            ("add", false, true, _) => |v| put(saturate(f(v[0]) + f(v[1]))),
            ("mul", false, true, _) => |v| put(saturate(f(v[0]) * f(v[1]))),
            ("fma", false, true, _) => |v| put(saturate(f(v[0]).mul_add(f(v[1]), f(v[2])))),
            ("div", false, false, _) => |v| put(f(v[0]) / f(v[1])),
            ("rcp", false, false, _) => |v| put(1.0 / f(v[0])),
            ("sqrt", false, false, _) => |v| put(f(v[0]).sqrt()),
            ("min", false, false, false) => |v| put(min32(f(v[0]), f(v[1]))),
            ("max", false, false, false) => |v| put(max32(f(v[0]), f(v[1]))),
            ("min", false, false, true) => |v| {
                put(if f(v[0]).is_nan() || f(v[1]).is_nan() {
                    f32::NAN
                } else {
                    min32(f(v[0]), f(v[1]))
                })
            },
            ("max", false, false, true) => |v| {
                put(if f(v[0]).is_nan() || f(v[1]).is_nan() {
                    f32::NAN
                } else {
                    max32(f(v[0]), f(v[1]))
                })
            },
            ("abs", false, ..) => |v| v[0] & 0x7fff_ffff,
            ("neg", false, ..) => |v| v[0] ^ 0x8000_0000,
            ("copysign", ..) => |v| v[1] & 0x7fff_ffff | v[0] & 0x8000_0000,
            _ => return None,
        },
    )
}
fn saturate(x: f32) -> f32 {
    // NaN saturates to +0, and so does -0.
    if x > 0.0 { x.min(1.0) } else { 0.0 }
}

fn float64(name: &str, instr: &Instr) -> Option<Scalar> {
    if ["rz", "rm", "rp", "approx"].iter().any(|s| instr.has(s)) {
        return None;
    }
    Some(match name {
        "add" => |v| put64(d(v[0]) + d(v[1])),
        "sub" => |v| put64(d(v[0]) - d(v[1])),
        "mul" => |v| put64(d(v[0]) * d(v[1])),
        "fma" | "mad" => |v| put64(d(v[0]).mul_add(d(v[1]), d(v[2]))),
        "div" => |v| put64(d(v[0]) / d(v[1])),
        "rcp" => |v| put64(1.0 / d(v[0])),
        "sqrt" => |v| put64(d(v[0]).sqrt()),
        "min" => |v| put64(d(v[0]).min(d(v[1]))),
        "max" => |v| put64(d(v[0]).max(d(v[1]))),
        "abs" => |v| v[0] & !(1 << 63),
        "neg" => |v| v[0] ^ (1 << 63),
        "copysign" => |v| v[1] & !(1 << 63) | v[0] & (1 << 63),
        _ => return None,
    })
}

fn float16(name: &str, ty: Type, instr: &Instr) -> Option<Scalar> {
    if ["ftz", "sat", "approx", "relu", "NaN", "xorsign"]
        .iter()
        .any(|s| instr.has(s))
    {
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
                (Kind::Float, false) => half,
                (Kind::Float, true) => |v| both(v, half),
                (_, false) => brain,
                (_, true) => |v| both(v, brain),
            }
        }};
    }
    Some(match name {
        "add" => narrow!(|v| fma_to_odd(v[0], 1.0, v[1])),
        "sub" => narrow!(|v| fma_to_odd(v[0], 1.0, -v[1])),
        "mul" => narrow!(|v| v[0] * v[1]),
        "fma" => narrow!(|v| fma_to_odd(v[0], v[1], v[2])),
        "min" => narrow!(|v| f64::from(min32(v[0] as f32, v[1] as f32))),
        "max" => narrow!(|v| f64::from(max32(v[0] as f32, v[1] as f32))),
        "neg" if ty.pair => |v| v[0] ^ 0x8000_8000,
        "neg" => |v| v[0] ^ 0x8000,
        "abs" if ty.pair => |v| v[0] & 0x7fff_7fff,
        "abs" => |v| v[0] & 0x7fff,
        _ => return None,
    })
}

/// The comparison of `setp` and `set`: 1 or 0.
pub(crate) fn compare(instr: &Instr) -> Option<Scalar> {
    let ty = *instr.types().last()?;
    let op = instr.opcode.get(1)?.as_str();
    macro_rules! ordered {
        ($load:expr, $op:tt) => {{
            |v: [u64; 3]| u64::from($load(v[0]) $op $load(v[1]))
        }};
    }
    macro_rules! all {
        ($load:expr) => {
            match op {
                "eq" => ordered!($load, ==),
                "ne" => ordered!($load, !=),
                "lt" | "lo" => ordered!($load, <),
                "le" | "ls" => ordered!($load, <=),
                "gt" | "hi" => ordered!($load, >),
                "ge" | "hs" => ordered!($load, >=),
                _ => return None,
            }
        };
    }
    macro_rules! float {
        ($load:expr) => {{
            const LOAD: fn(u64) -> f64 = $load;
            fn nan(v: [u64; 3]) -> bool {
                LOAD(v[0]).is_nan() || LOAD(v[1]).is_nan()
            }
            match op {
                // Ordered `ne` is false on NaN, unlike Rust's.
                "ne" => |v: [u64; 3]| u64::from(!nan(v) && LOAD(v[0]) != LOAD(v[1])),
                "equ" => |v: [u64; 3]| u64::from(nan(v) || LOAD(v[0]) == LOAD(v[1])),
                "neu" => |v: [u64; 3]| u64::from(nan(v) || LOAD(v[0]) != LOAD(v[1])),
                "ltu" => |v: [u64; 3]| u64::from(nan(v) || LOAD(v[0]) < LOAD(v[1])),
                "leu" => |v: [u64; 3]| u64::from(nan(v) || LOAD(v[0]) <= LOAD(v[1])),
                "gtu" => |v: [u64; 3]| u64::from(nan(v) || LOAD(v[0]) > LOAD(v[1])),
                "geu" => |v: [u64; 3]| u64::from(nan(v) || LOAD(v[0]) >= LOAD(v[1])),
                "num" => |v: [u64; 3]| u64::from(!nan(v)),
                "nan" => |v: [u64; 3]| u64::from(nan(v)),
                _ => all!(LOAD),
            }
        }};
    }
    if instr.has("ftz") {
        return None;
    }
    Some(match (ty.kind, ty.bits) {
        (Kind::Signed, 16) => all!(sx::<16>),
        (Kind::Signed, 32) => all!(sx::<32>),
        (Kind::Signed, 64) => all!(sx::<64>),
        (Kind::Unsigned | Kind::Bits, 16) => all!(zx::<16>),
        (Kind::Unsigned | Kind::Bits, 32) => all!(zx::<32>),
        (Kind::Unsigned | Kind::Bits, 64) => all!(zx::<64>),
        (Kind::Float, 16) => float!(f16_to_f64),
        (Kind::Brain, 16) => float!(bf16_to_f64),
        (Kind::Float, 32) if !ty.pair => float!(|x| f64::from(f(x))),
        (Kind::Float, 64) => float!(d),
        _ => return None,
    })
}

/// `cvt`: destination type first. Packed conversions are folded by the lowering.
pub(crate) fn convert(instr: &Instr, to: Type, from: Type) -> Option<Scalar> {
    if ["sat", "ftz", "relu", "satfinite", "rna"]
        .iter()
        .any(|s| instr.has(s))
        || to.pair
        || from.pair
    {
        return None;
    }
    /// Reads the source as f64: exact for everything but 64-bit integers.
    macro_rules! from_float {
        ($then:expr) => {{
            const THEN: fn(f64) -> u64 = $then;
            match (from.kind, from.bits) {
                (Kind::Float, 16) => |v| THEN(f16_to_f64(v[0])),
                (Kind::Brain, 16) => |v| THEN(bf16_to_f64(v[0])),
                (Kind::Float, 32) => |v| THEN(f64::from(f(v[0]))),
                (Kind::Float, 64) => |v| THEN(d(v[0])),
                _ => return None,
            }
        }};
    }
    macro_rules! to_integer {
        ($round:expr) => {{
            match (to.kind, to.bits) {
                (Kind::Signed, 8) => {
                    from_float!(|x| ($round)(x).clamp(-128.0, 127.0) as i64 as u64)
                }
                (Kind::Signed, 16) => {
                    from_float!(|x| ($round)(x).clamp(-32768.0, 32767.0) as i64 as u64)
                }
                (Kind::Signed, 32) => from_float!(|x| ($round)(x) as i32 as i64 as u64),
                (Kind::Signed, 64) => from_float!(|x| ($round)(x) as i64 as u64),
                (Kind::Unsigned, 8) => from_float!(|x| u64::from(($round)(x) as u8)),
                (Kind::Unsigned, 16) => from_float!(|x| u64::from(($round)(x) as u16)),
                (Kind::Unsigned, 32) => from_float!(|x| u64::from(($round)(x) as u32)),
                (Kind::Unsigned, 64) => from_float!(|x| ($round)(x) as u64),
                _ => return None,
            }
        }};
    }
    macro_rules! to_narrow {
        ($format:expr) => {
            match rounding(instr) {
                Rounding::Rn => from_float!(|x| u64::from(narrow(x, $format, Rounding::Rn))),
                Rounding::Rz => from_float!(|x| u64::from(narrow(x, $format, Rounding::Rz))),
                Rounding::Rm => from_float!(|x| u64::from(narrow(x, $format, Rounding::Rm))),
                Rounding::Rp => from_float!(|x| u64::from(narrow(x, $format, Rounding::Rp))),
            }
        };
    }
    Some(match (from.is_float(), to.is_float()) {
        (false, false) => match (from.is_signed(), from.bits) {
            (true, 8) => |v| sx::<8>(v[0]) as u64,
            (true, 16) => |v| sx::<16>(v[0]) as u64,
            (true, 32) => |v| sx::<32>(v[0]) as u64,
            (false, 8) => |v| zx::<8>(v[0]),
            (false, 16) => |v| zx::<16>(v[0]),
            (false, 32) => |v| zx::<32>(v[0]),
            (_, 64) => |v| v[0],
            _ => return None,
        },
        (true, false) if instr.has("rni") => to_integer!(f64::round_ties_even),
        (true, false) if instr.has("rzi") => to_integer!(f64::trunc),
        (true, false) if instr.has("rmi") => to_integer!(f64::floor),
        (true, false) if instr.has("rpi") => to_integer!(f64::ceil),
        (true, false) => return None,
        (false, true) => {
            if rounding(instr) != Rounding::Rn {
                return None;
            }
            match (from.is_signed(), from.bits, to.kind, to.bits) {
                (true, 32, Kind::Float, 32) => |v| put(sx::<32>(v[0]) as f32),
                (true, 64, Kind::Float, 32) => |v| put(v[0] as i64 as f32),
                (true, 16, Kind::Float, 32) => |v| put(sx::<16>(v[0]) as f32),
                (true, 8, Kind::Float, 32) => |v| put(sx::<8>(v[0]) as f32),
                (false, 8, Kind::Float, 32) => |v| put(zx::<8>(v[0]) as f32),
                (false, 16, Kind::Float, 32) => |v| put(zx::<16>(v[0]) as f32),
                (false, 32 | 64, Kind::Float, 32) => |v| put(v[0] as f32),
                (true, 32, Kind::Float, 64) => |v| put64(sx::<32>(v[0]) as f64),
                (true, 64, Kind::Float, 64) => |v| put64(v[0] as i64 as f64),
                (false, 16, Kind::Float, 64) => |v| put64(zx::<16>(v[0]) as f64),
                (false, 32 | 64, Kind::Float, 64) => |v| put64(v[0] as f64),
                // 32-bit integers and shorter are exact in f64, so this rounds once.
                (true, 16, Kind::Float, 16) => |v| h(sx::<16>(v[0]) as f64),
                (true, 32, Kind::Float, 16) => |v| h(sx::<32>(v[0]) as f64),
                (false, 16, Kind::Float, 16) => |v| h(zx::<16>(v[0]) as f64),
                (false, 32, Kind::Float, 16) => |v| h(v[0] as f64),
                _ => return None,
            }
        }
        (true, true) => {
            let integral = ["rni", "rzi", "rmi", "rpi"]
                .into_iter()
                .find(|r| instr.has(r));
            match (integral, to.kind, to.bits) {
                (None, Kind::Float, 16) => to_narrow!(F16),
                (None, Kind::Brain, 16) => to_narrow!(BF16),
                (None, Kind::Float, 32) => to_narrow!(F32),
                (None, Kind::Float, 64) => from_float!(put64),
                (Some("rni"), Kind::Float, 32) => from_float!(|x| put(x.round_ties_even() as f32)),
                (Some("rzi"), Kind::Float, 32) => from_float!(|x| put(x.trunc() as f32)),
                (Some("rmi"), Kind::Float, 32) => from_float!(|x| put(x.floor() as f32)),
                (Some("rpi"), Kind::Float, 32) => from_float!(|x| put(x.ceil() as f32)),
                _ => return None,
            }
        }
    })
}

fn rounding(instr: &Instr) -> Rounding {
    match () {
        () if instr.has("rz") => Rounding::Rz,
        () if instr.has("rm") => Rounding::Rm,
        () if instr.has("rp") => Rounding::Rp,
        () => Rounding::Rn,
    }
}

/// What an atomic operation leaves in memory, from (old value, operand, second operand).
pub(crate) fn atomic(instr: &Instr, ty: Type) -> Option<Scalar> {
    let op = [
        "add", "exch", "cas", "min", "max", "and", "or", "xor", "inc", "dec",
    ]
    .into_iter()
    .find(|op| instr.has(op))?;
    let name = op;
    Some(match (op, ty.kind, ty.bits) {
        ("exch", ..) => |v| v[1],
        ("cas", ..) => |v| if v[0] == v[1] { v[2] } else { v[0] },
        ("inc", _, 32) => |v| if v[0] >= v[1] { 0 } else { v[0] + 1 },
        ("dec", _, 32) => |v| {
            if v[0] == 0 || v[0] > v[1] {
                v[1]
            } else {
                v[0] - 1
            }
        },
        (_, Kind::Float, 32) if !ty.pair => return float32(name, instr),
        (_, Kind::Float, 64) => return float64(name, instr),
        (_, Kind::Float | Kind::Brain, _) => return float16(name, ty, instr),
        _ => return integer(name, ty, instr),
    })
}
