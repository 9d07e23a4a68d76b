//! `cvt` to and from fp8, to tf32, and to f16 and bf16 in pairs, with `.relu` and `.satfinite` (PTX ISA, "cvt").
//!
//! A NaN becomes the positive NaN, as in NVIDIA's `cuda_fp8.hpp` and in all other f16 and bf16 results (recorded).
use super::float_format::{BF16, F16, Format, Rounding, f16_to_f64, narrow};
use super::scalar::f;
use super::{Lowering, Result, Scalar};
use crate::op::{Class, ColdOp, LaneOp};
use crate::ptx::Instr;
use crate::tensor::{Factor, Fp8};

/// Modifiers of a conversion.
#[derive(Clone, Copy)]
struct Narrowing {
    format: Format,
    toward_zero: bool,
    /// `.relu`: negative numbers become zero.
    relu: bool,
    /// `.satfinite`: numbers beyond the largest finite one become that.
    finite: bool,
}

impl Narrowing {
    fn of(self, value: f64) -> u32 {
        let rounding = match self.toward_zero {
            true => Rounding::Rz,
            false => Rounding::Rn,
        };
        let value = match value {
            _ if self.relu && value <= 0.0 => 0.0,
            _ if self.finite && value.is_infinite() => f64::MAX.copysign(value),
            _ => value,
        };
        let bits = narrow(value, self.format, rounding);
        if !self.finite {
            return bits;
        }
        let infinity = narrow(f64::INFINITY, self.format, Rounding::Rn);
        let sign = narrow(-0.0, self.format, Rounding::Rn);
        match bits & !sign == infinity {
            true => bits - 1,
            false => bits,
        }
    }
}

/// The nearest number of a format, or the largest one for values beyond it.
fn to_fp8(format: Fp8, value: f64, relu: bool) -> u64 {
    if value.is_nan() {
        return 0x7f;
    }
    if relu && value <= 0.0 {
        return 0;
    }
    let (most, nearest) = match format {
        Fp8::E5m2 => {
            let format = Format::new(2, 5);
            (0x7b, narrow(value, format, Rounding::Rn))
        }
        // In e4m3 the largest exponent is used for numbers: one more exponent bit leaves room for rounding up.
        Fp8::E4m3 => {
            let scaled = value * 2f64.powi(-8);
            let bits = narrow(scaled, Format::new(3, 5), Rounding::Rn);
            (0x7e, bits >> 8 << 7 | (bits & 0xff).min(0x7f))
        }
    };
    u64::from(nearest & 0x80 | (nearest & 0x7f).min(most))
}

fn pair_to_fp8<const E4M3: bool, const RELU: bool>(high: f64, low: f64) -> u64 {
    let format = if E4M3 { Fp8::E4m3 } else { Fp8::E5m2 };
    to_fp8(format, high, RELU) << 8 | to_fp8(format, low, RELU)
}

fn floats_to_fp8<const E4M3: bool, const RELU: bool>(v: [u64; 3]) -> u64 {
    pair_to_fp8::<E4M3, RELU>(f(v[0]).into(), f(v[1]).into())
}

fn halves_to_fp8<const E4M3: bool, const RELU: bool>(v: [u64; 3]) -> u64 {
    pair_to_fp8::<E4M3, RELU>(f16_to_f64(v[0] >> 16), f16_to_f64(v[0]))
}

fn fp8_to_halves<const E4M3: bool, const RELU: bool>(v: [u64; 3]) -> u64 {
    let format = if E4M3 { Fp8::E4m3 } else { Fp8::E5m2 };
    let half = |bits: u64| match format.to_f16(bits as u8) {
        0x8000.. if RELU => 0,
        half => u64::from(half),
    };
    half(v[0] >> 8) << 16 | half(v[0])
}

/// Selects the function of a format, with or without `.relu`.
macro_rules! by_format {
    ($name:ident, $e4m3:expr, $relu:expr) => {
        match ($e4m3, $relu) {
            (true, true) => $name::<true, true>,
            (true, false) => $name::<true, false>,
            (false, true) => $name::<false, true>,
            (false, false) => $name::<false, false>,
        }
    };
}

/// `.rna`: rounds to nearest, ties away from zero, by adding half a unit to the bits, as machine code does. An infinity
/// or a NaN loses its low bits like any number.
fn tf32<const FINITE: bool>(v: [u64; 3]) -> u64 {
    let bits = v[0] as u32;
    let special = |bits: u32| bits & 0x7f80_0000 == 0x7f80_0000;
    let rounded = match special(bits) {
        true => bits,
        false => bits.wrapping_add(0x1000),
    } & !0x1fff;
    match FINITE && special(rounded) {
        true => u64::from(rounded.wrapping_sub(0x2000)),
        false => u64::from(rounded),
    }
}

/// `.rn` and `.rz`.
fn rounded_tf32<const TOWARD_ZERO: bool, const RELU: bool>(v: [u64; 3]) -> u64 {
    let narrowing = Narrowing {
        format: Format::new(10, 8),
        toward_zero: TOWARD_ZERO,
        relu: RELU,
        finite: false,
    };
    u64::from(narrowing.of(f(v[0]).into())) << 13
}

/// `cvt.pack` into two numbers of `BITS` bits: the lower one is from b, and any bits above both are the low bits of c
/// (PTX ISA, "cvt.pack").
fn pack<const BITS: u32, const SIGNED: bool>(v: [u64; 3]) -> u64 {
    let (low, high) = match SIGNED {
        true => (-(1i64 << (BITS - 1)), (1i64 << (BITS - 1)) - 1),
        false => (0, (1i64 << BITS) - 1),
    };
    let held = |x: u64| i64::from(x as i32).clamp(low, high) as u64 & ((1 << BITS) - 1);
    held(v[1]) | held(v[0]) << BITS | v[2] << (2 * BITS) & 0xffff_ffff
}

/// One or two f16 or bf16; the flags are those of [`Narrowing`].
fn halves<const BRAIN: bool, const PAIR: bool, const FLAGS: u8>(v: [u64; 3]) -> u64 {
    let narrowing = Narrowing {
        format: if BRAIN { BF16 } else { F16 },
        toward_zero: FLAGS & 1 != 0,
        relu: FLAGS & 2 != 0,
        finite: FLAGS & 4 != 0,
    };
    let half = |x: u64| u64::from(narrowing.of(f(x).into()));
    match PAIR {
        true => half(v[0]) << 16 | half(v[1]),
        false => half(v[0]),
    }
}

fn halves_of<const BRAIN: bool, const PAIR: bool>(flags: u8) -> Scalar {
    match flags {
        0 => halves::<BRAIN, PAIR, 0>,
        1 => halves::<BRAIN, PAIR, 1>,
        2 => halves::<BRAIN, PAIR, 2>,
        3 => halves::<BRAIN, PAIR, 3>,
        4 => halves::<BRAIN, PAIR, 4>,
        5 => halves::<BRAIN, PAIR, 5>,
        6 => halves::<BRAIN, PAIR, 6>,
        _ => halves::<BRAIN, PAIR, 7>,
    }
}

impl Lowering<'_> {
    /// `cvt.pack.sat.s8.s32.b32 d, a, b, c`; for 16 bits there is no c.
    pub(super) fn cvt_pack(&mut self, instr: &Instr) -> Result<()> {
        let parts: Vec<&str> = instr.opcode[1..].iter().map(String::as_str).collect();
        let (scalar, operands): (Scalar, usize) = match parts[..] {
            ["pack", "sat", "s16", "s32"] => (pack::<16, true>, 2),
            ["pack", "sat", "u16", "s32"] => (pack::<16, false>, 2),
            ["pack", "sat", "s8", "s32", "b32"] => (pack::<8, true>, 3),
            ["pack", "sat", "u8", "s32", "b32"] => (pack::<8, false>, 3),
            ["pack", "sat", "s4", "s32", "b32"] => (pack::<4, true>, 3),
            ["pack", "sat", "u4", "s32", "b32"] => (pack::<4, false>, 3),
            ["pack", "sat", "s2", "s32", "b32"] => (pack::<2, true>, 3),
            ["pack", "sat", "u2", "s32", "b32"] => (pack::<2, false>, 3),
            _ => return Err(instr.unsupported()),
        };
        let (d, rest) = instr.result()?;
        if rest.len() != operands {
            return Err(instr.wrong_count());
        }
        let d = self.dest_of(instr, d, Class::B32)?;
        let mut sources = [self.constant(Class::B32, 0); 3];
        for (source, operand) in sources.iter_mut().zip(rest) {
            *source = self.source(instr, operand, Class::B32)?;
        }
        self.push(ColdOp::Scalar(scalar, d, sources));
        Ok(())
    }

    /// Lowers a conversion of this file; false if it is another one.
    pub(super) fn cvt_packed(&mut self, instr: &Instr) -> Result<bool> {
        let parts: Vec<&str> = instr.opcode[1..].iter().map(String::as_str).collect();
        let Some((modifiers, [to, from])) = parts.split_last_chunk() else {
            return Ok(false);
        };
        let fp8 = |name: &str| match name {
            "e4m3x2" => Some(true),
            "e5m2x2" => Some(false),
            _ => None,
        };
        let relu = modifiers.contains(&"relu");
        let (scalar, sources): (Scalar, usize) = match (fp8(to), *to, fp8(from), *from) {
            (Some(e4m3), _, _, "f32") => (by_format!(floats_to_fp8, e4m3, relu), 2),
            (Some(e4m3), _, _, "f16x2") => (by_format!(halves_to_fp8, e4m3, relu), 1),
            (_, "f16x2", Some(e4m3), _) => (by_format!(fp8_to_halves, e4m3, relu), 1),
            (_, "tf32", _, "f32") => match modifiers {
                ["rna"] => (tf32::<false>, 1),
                ["rna", "satfinite"] => (tf32::<true>, 1),
                ["rn"] => (rounded_tf32::<false, false>, 1),
                ["rn", "relu"] => (rounded_tf32::<false, true>, 1),
                ["rz"] => (rounded_tf32::<true, false>, 1),
                ["rz", "relu"] => (rounded_tf32::<true, true>, 1),
                _ => return Err(instr.unsupported()),
            },
            (_, to @ ("f16x2" | "bf16x2" | "f16" | "bf16"), _, "f32") => {
                let is_pair = to.ends_with("x2");
                let flags = ["rz", "relu", "satfinite"].map(|name| modifiers.contains(&name));
                // A single number without these modifiers is one of the other conversions.
                if !is_pair && flags[1..] == [false; 2] {
                    return Ok(false);
                }
                let flags = (0..3).map(|i| u8::from(flags[i]) << i).sum();
                let scalar = match (to.starts_with('b'), is_pair) {
                    (false, false) => halves_of::<false, false>(flags),
                    (false, true) => halves_of::<false, true>(flags),
                    (true, false) => halves_of::<true, false>(flags),
                    (true, true) => halves_of::<true, true>(flags),
                };
                (scalar, if is_pair { 2 } else { 1 })
            }
            _ => return Ok(false),
        };
        let is_allowed = match (fp8(to), fp8(from)) {
            (Some(_), _) => matches!(
                modifiers,
                ["rn", "satfinite"] | ["rn", "satfinite", "relu"] | ["rn", "relu", "satfinite"]
            ),
            (_, Some(_)) => matches!(modifiers, ["rn"] | ["rn", "relu"]),
            _ => {
                let [rounding, rest @ ..] = modifiers else {
                    return Err(instr.unsupported());
                };
                let known = rest.iter().all(|part| ["relu", "satfinite"].contains(part));
                matches!(*rounding, "rn" | "rz" | "rna") && known
            }
        };
        instr.require(is_allowed)?;
        let (d, rest) = instr.result()?;
        if rest.len() != sources {
            return Err(instr.wrong_count());
        }
        let is_16 = self.is_16(d);
        let d = self.dest_of(instr, d, Class::B32)?;
        let a = self.source(instr, &rest[0], Class::B32)?;
        let b = self.source(instr, &rest[sources - 1], Class::B32)?;
        // What kernels store C with.
        let vector = match (*to, *from, modifiers) {
            ("f16x2", "f32", ["rn"]) => Some(Factor::F16),
            ("bf16x2", "f32", ["rn"]) => Some(Factor::Bf16),
            _ => None,
        };
        match vector {
            Some(format) => self.push(LaneOp::F32sToHalves(format, [d, a, b].map(|reg| reg.index))),
            None => self.push(ColdOp::Scalar(scalar, d, [a, b, a])),
        }
        if is_16 {
            self.push_16(d.index);
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every number of a format survives a round trip, and values between two go to the nearer one.
    #[test]
    fn fp8_and_back() {
        for format in [Fp8::E4m3, Fp8::E5m2] {
            let value = |bits: u8| f16_to_f64(format.to_f16(bits).into());
            let finite = |bits: &u8| value(*bits).is_finite();
            let mut numbers: Vec<u8> = (0..0x80).filter(finite).collect();
            for &bits in &numbers {
                assert_eq!(to_fp8(format, value(bits), false), u64::from(bits));
                assert_eq!(to_fp8(format, -value(bits), false), u64::from(bits | 0x80));
                assert_eq!(to_fp8(format, -value(bits), true), 0);
            }
            let last = numbers.pop().expect("numbers");
            for bits in numbers {
                let (low, high) = (value(bits), value(bits + 1));
                let middle = (low + high) / 2.0;
                let even = bits + (bits & 1);
                assert_eq!(to_fp8(format, middle, false), u64::from(even), "{middle}");
                assert_eq!(to_fp8(format, middle.next_up(), false), u64::from(bits + 1));
                assert_eq!(to_fp8(format, middle.next_down(), false), u64::from(bits));
            }
            for beyond in [value(last) * 1.01, value(last) * 1.2, 1e30, f64::INFINITY] {
                assert_eq!(to_fp8(format, beyond, false), u64::from(last), "{beyond}");
            }
            assert_eq!(to_fp8(format, f64::NAN, false), 0x7f);
        }
        assert_eq!(
            [Fp8::E4m3, Fp8::E5m2].map(|format| to_fp8(format, 1e9, false)),
            [0x7e, 0x7b]
        );
    }

    #[test]
    fn tf32_is_rounded_away_from_zero() {
        for (from, to) in [
            (0x3f80_0fff, 0x3f80_0000),
            (0x3f80_1000, 0x3f80_2000),
            (0xbf80_1000, 0xbf80_2000),
            (0x7f7f_ffff, 0x7f80_0000),
            (0x7f80_0000, 0x7f80_0000),
            (0xffff_ffff, 0xffff_e000),
        ] {
            assert_eq!(tf32::<false>([from, 0, 0]), to, "{from:#x}");
        }
        assert_eq!(tf32::<true>([0x7f7f_ffff, 0, 0]), 0x7f7f_e000);
    }

    #[test]
    fn halves_are_held_within_their_range() {
        let bits = |x: f32| u64::from(x.to_bits());
        let both = [bits(1e9), bits(-1.0), 0];
        assert_eq!(halves::<false, true, 0>(both), 0x7c00_bc00);
        assert_eq!(halves::<false, true, 2>(both), 0x7c00_0000);
        assert_eq!(halves::<false, true, 6>(both), 0x7bff_0000);
        assert_eq!(
            halves::<false, true, 4>([bits(-1e9), bits(f32::NAN), 0]),
            0xfbff_7fff
        );
        assert_eq!(
            halves::<true, false, 4>([bits(f32::INFINITY), 0, 0]),
            0x7f7f
        );
        assert_eq!(halves::<true, false, 1>([0x3fff_ffff, 0, 0]), 0x3fff);
    }
}
