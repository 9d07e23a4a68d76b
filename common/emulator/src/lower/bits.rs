//! Rarer integer instructions, one thread at a time: `fns`, `szext`, `bmsk`, `dp2a`.
use super::scalar::{Scalar, ones, saturated, sx, zx};
use crate::ptx::Instr;

/// The byte permutation in its default mode: four selectors of four bits, whose top bit replicates the sign.
pub(super) fn prmt(v: [u64; 3]) -> u64 {
    let bytes = (v[1] << 32 | v[0]).to_le_bytes();
    (0..4).fold(0, |result, i| {
        let selector = v[2] >> (4 * i);
        let byte = bytes[(selector & 7) as usize];
        let byte = match selector & 8 {
            0 => byte,
            _ => (byte as i8 >> 7) as u8,
        };
        result | u64::from(byte) << (8 * i)
    })
}

/// The modes of `prmt` (PTX ISA, "prmt"): the two low bits of the third operand choose all four bytes.
pub(super) fn prmt_mode(mode: &str) -> Option<Scalar> {
    /// The bytes of the result for each value of the two low bits, the lowest byte first.
    fn chosen(v: [u64; 3], bytes: [[u8; 4]; 4]) -> u64 {
        let all = (v[1] << 32 | v[0]).to_le_bytes();
        let bytes = bytes[(v[2] & 3) as usize].map(|i| all[usize::from(i)]);
        u32::from_le_bytes(bytes).into()
    }
    Some(match mode {
        "f4e" => |v| chosen(v, [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6]]),
        "b4e" => |v| chosen(v, [[0, 7, 6, 5], [1, 0, 7, 6], [2, 1, 0, 7], [3, 2, 1, 0]]),
        "rc8" => |v| chosen(v, [[0; 4], [1; 4], [2; 4], [3; 4]]),
        "ecl" => |v| chosen(v, [[0, 1, 2, 3], [1, 1, 2, 3], [2, 2, 2, 3], [3, 3, 3, 3]]),
        "ecr" => |v| chosen(v, [[0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]]),
        "rc16" => |v| chosen(v, [[0, 1, 0, 1], [2, 3, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3]]),
        _ => return None,
    })
}

/// Two integers of 16 bits in a register: `add`, `min`, `max` (PTX ISA, "add", "min", "max").
pub(super) fn of_pair(name: &str, instr: &Instr, signed: bool) -> Option<Scalar> {
    fn both(v: [u64; 3], op: fn(i64, i64) -> i64) -> u64 {
        let half =
            |shift: u32| op(sx::<16>(v[0] >> shift), sx::<16>(v[1] >> shift)) as u64 & 0xffff;
        half(16) << 16 | half(0)
    }
    /// Reinterprets a two's complement number as unsigned.
    fn unsigned(x: i64) -> u16 {
        x as u16
    }
    if instr.has_any(&["sat", "xorsign", "NaN", "ftz"]) || instr.has("relu") && !signed {
        return None;
    }
    Some(match (name, signed, instr.has("relu")) {
        ("add", _, false) => |v| both(v, |a, b| a.wrapping_add(b)),
        ("min", true, false) => |v| both(v, i64::min),
        ("max", true, false) => |v| both(v, i64::max),
        ("min", true, true) => |v| both(v, |a, b| a.min(b).max(0)),
        ("max", true, true) => |v| both(v, |a, b| a.max(b).max(0)),
        ("min", false, _) => |v| both(v, |a, b| unsigned(a).min(unsigned(b)).into()),
        ("max", false, _) => |v| both(v, |a, b| unsigned(a).max(unsigned(b)).into()),
        _ => return None,
    })
}

/// `mul24.hi` and `mad24.hi`: the upper 32 of 48 bits (PTX ISA, "mul24", "mad24").
pub(super) fn high_of_24(instr: &Instr, signed: bool) -> Option<Scalar> {
    fn high_s(v: [u64; 3]) -> i64 {
        (sx::<24>(v[0]) * sx::<24>(v[1])) >> 16
    }
    Some(match (signed, instr.has("sat")) {
        (true, false) => |v| (high_s(v) as u64).wrapping_add(v[2]),
        (true, true) => |v| saturated(sx::<32>(high_s(v) as u64) + sx::<32>(v[2])),
        (false, false) => |v| ((zx::<24>(v[0]) * zx::<24>(v[1])) >> 16).wrapping_add(v[2]),
        (false, true) => return None,
    })
}

/// The function of `fns`, `szext` or `bmsk`.
pub(super) fn find(name: &str, instr: &Instr, signed: bool) -> Option<Scalar> {
    let clamp = match (instr.has("clamp"), instr.has("wrap")) {
        (true, false) => Some(true),
        (false, true) => Some(false),
        _ => None,
    };
    Some(match (name, clamp, signed) {
        ("fns", None, _) => fns,
        ("szext", Some(true), true) => szext::<true, true>,
        ("szext", Some(true), false) => szext::<true, false>,
        ("szext", Some(false), true) => szext::<false, true>,
        ("szext", Some(false), false) => szext::<false, false>,
        ("bmsk", Some(true), _) => |v| match (v[0] as u32, v[1] as u32) {
            (32.., _) => 0,
            (at, width) => u64::from(u32::MAX << at) & !beyond(at, width.min(32)),
        },
        ("bmsk", Some(false), _) => |v| {
            let [at, width, _] = v.map(|x| x as u32 & 31);
            u64::from(u32::MAX << at) & !beyond(at, width)
        },
        _ => return None,
    })
}

/// The mask of all bits from `at + width` on.
fn beyond(at: u32, width: u32) -> u64 {
    u64::MAX.unbounded_shl(at + width)
}
/// The low N bits, extended (PTX ISA, "szext").
fn szext<const CLAMP: bool, const SIGNED: bool>(v: [u64; 3]) -> u64 {
    let n = match CLAMP {
        true => (v[1] as u32).min(32),
        false => v[1] as u32 & 31,
    };
    match (n, SIGNED) {
        (0, _) => 0,
        (n, true) => u64::from((((v[0] as u32) << (32 - n)) as i32 >> (32 - n)) as u32),
        (n, false) => v[0] & ones(n),
    }
}
/// The n-th set bit upwards or downwards from a base (PTX ISA, "fns"); all ones if there is none.
fn fns(v: [u64; 3]) -> u64 {
    let [mask, base, offset] = v.map(|x| x as u32);
    let is_set = |at: &u32| mask >> at & 1 == 1;
    let found = match offset as i32 {
        _ if base > 31 => None,
        0 => Some(base).filter(is_set),
        n @ 1.. => (base..32).filter(is_set).nth(n as usize - 1),
        n => (0..=base)
            .rev()
            .filter(is_set)
            .nth(n.unsigned_abs() as usize - 1),
    };
    found.map_or(0xffff_ffff, u64::from)
}
/// Two products of 16 by 8 bits, added to the third operand: the low or the high two bytes of b.
pub(super) fn dp2a(instr: &Instr) -> Option<Scalar> {
    fn dot<const A: bool, const B: bool, const HIGH: bool>(v: [u64; 3]) -> u64 {
        let bytes = if HIGH { v[1] >> 16 } else { v[1] };
        (0..2).fold(v[2], |sum, i| {
            let (a, b) = (v[0] >> (16 * i), bytes >> (8 * i));
            let a = if A { sx::<16>(a) } else { zx::<16>(a) as i64 };
            let b = if B { sx::<8>(b) } else { zx::<8>(b) as i64 };
            sum.wrapping_add((a * b) as u64)
        })
    }
    let &[a, b] = &instr.types()[..] else {
        return None;
    };
    Some(
        match (
            a.is_signed(),
            b.is_signed(),
            instr.has("lo"),
            instr.has("hi"),
        ) {
            (false, false, true, false) => dot::<false, false, false>,
            (false, true, true, false) => dot::<false, true, false>,
            (true, false, true, false) => dot::<true, false, false>,
            (true, true, true, false) => dot::<true, true, false>,
            (false, false, false, true) => dot::<false, false, true>,
            (false, true, false, true) => dot::<false, true, true>,
            (true, false, false, true) => dot::<true, false, true>,
            (true, true, false, true) => dot::<true, true, true>,
            _ => return None,
        },
    )
}
