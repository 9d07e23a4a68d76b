//! Rarer integer instructions, one thread at a time: `fns`, `szext`, `bmsk`, `dp2a`.
use super::scalar::{Scalar, ones, sx, zx};
use crate::ptx::Instr;

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

/// All bits from `at + width` on.
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
/// The n-th set bit from a base on, up or down (PTX ISA, "fns"); all ones if there is none.
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
