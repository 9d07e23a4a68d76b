//! `MUFU.EX2.F16`, `.BF16`, `MUFU.TANH.F16` and `.BF16`: the f32 function of the number, truncated to the format. This
//! matches an H200 for all 65,536 inputs of each.
use super::exponential::mufu_ex2;
use super::hyperbolic_tangent::mufu_tanh;
use super::trace::{Format, Observer, Value};

pub(super) fn ex2_f16<O: Observer>(x: u64, observer: &mut O) -> u64 {
    let result = f32_to_f16(mufu_ex2(f16_to_f32(x), observer));
    report_mufu(observer, "MUFU.EX2.F16", Format::F16, x, result)
}

pub(super) fn tanh_f16<O: Observer>(x: u64, observer: &mut O) -> u64 {
    let result = f32_to_f16(mufu_tanh(f16_to_f32(x), observer));
    report_mufu(observer, "MUFU.TANH.F16", Format::F16, x, result)
}

pub(super) fn ex2_bf16<O: Observer>(x: u64, observer: &mut O) -> u64 {
    let result = u64::from(mufu_ex2((x as u32) << 16, observer) >> 16);
    report_mufu(observer, "MUFU.EX2.BF16", Format::Bf16, x, result)
}

pub(super) fn tanh_bf16<O: Observer>(x: u64, observer: &mut O) -> u64 {
    let result = u64::from(mufu_tanh((x as u32) << 16, observer) >> 16);
    report_mufu(observer, "MUFU.TANH.BF16", Format::Bf16, x, result)
}

/// Reports one MUFU to the observer, and returns its result.
#[inline(always)]
fn report_mufu(
    observer: &mut impl Observer,
    instruction: &'static str,
    format: Format,
    x: u64,
    result: u64,
) -> u64 {
    let [operand, value] = [x & 0xffff, result].map(|bits| Value { bits, format });
    observer.mufu(instruction, operand, value);
    result
}

/// Applies the function to each half of a pair, with one MUFU for each.
pub(super) fn both<O>(x: u64, observer: &mut O, f: fn(u64, &mut O) -> u64) -> u64 {
    let low = f(x & 0xffff, observer);
    low | f(x >> 16 & 0xffff, observer) << 16
}

fn f16_to_f32(x: u64) -> u32 {
    half::f16::from_bits(x as u16).to_f32_const().to_bits()
}

/// Rounds toward zero, but to infinity above the largest f16.
fn f32_to_f16(x: u32) -> u64 {
    let (sign, exponent, mantissa) = (x >> 16 & 0x8000, x >> 23 & 0xff, x & 0x7f_ffff);
    let magnitude = match exponent as i32 - 127 + 15 {
        _ if exponent == 255 && mantissa != 0 => return 0x7fff,
        31.. => 0x7c00,
        normal @ 1..31 => (normal as u32) << 10 | mantissa >> 13,
        subnormal @ -10..1 => (mantissa | 1 << 23) >> (14 - subnormal),
        _ => 0,
    };
    u64::from(sign | magnitude)
}
