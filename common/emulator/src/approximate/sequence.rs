//! The machine instructions that ptxas 13.0 generates for a PTX instruction on sm_90a, in order: one MUFU and a few
//! instructions around it.
//!
//! `MUFU` treats subnormal numbers as zeros, as `.ftz` requires. Without `.ftz` they are scaled first and the result is
//! scaled back.
use super::exponential::mufu_ex2;
use super::logarithm::mufu_lg2;
use super::reciprocal::mufu_rcp;
use super::sine::{mufu_cos, mufu_sin};
use super::square_root::{mufu_rsq, mufu_rsq64h, mufu_sqrt};
use super::trace::{Format, Observer, Value, f32_value};
use crate::lower::{canonical, mul_ftz, nan64};

const TWO_TO_24: f32 = 16_777_216.0;
/// 2^126: the reciprocal of a larger number is subnormal.
const LARGE: f32 = 8.507_059e37;

fn f(x: u64) -> f32 {
    f32::from_bits(x as u32)
}

fn put(x: f32) -> u64 {
    u64::from(canonical(x))
}

/// Applies a MUFU to an f32's bits, and reports it to the observer.
#[inline(always)]
pub(super) fn unit<O: Observer>(
    name: &'static str,
    function: impl Fn(u32, &mut O) -> u32,
    x: u32,
    observer: &mut O,
) -> u32 {
    let result = function(x, observer);
    observer.mufu(name, f32_value(x), f32_value(result));
    result
}

/// The same for an f32.
#[inline(always)]
fn mufu<O: Observer>(
    name: &'static str,
    function: impl Fn(u32, &mut O) -> u32,
    x: f32,
    observer: &mut O,
) -> f32 {
    f32::from_bits(unit(name, function, x.to_bits(), observer))
}

/// Reports an instruction around a MUFU to the observer, and returns its result.
#[inline(always)]
fn around(name: &'static str, result: f32, observer: &mut impl Observer) -> f32 {
    observer.around(name, f32_value(canonical(result)));
    result
}

/// `FSETP.GEU |x|, 1.17549435e-38`, negated: whether x is subnormal or zero.
fn is_tiny(x: f32) -> bool {
    x.abs() < f32::MIN_POSITIVE
}

// ANCHOR: ex2
pub(super) fn ex2<O: Observer>(x: u64, observer: &mut O) -> u64 {
    let x = f(x);
    // FSETP.GEU.AND P0, PT, x, -126
    if x < -126.0 {
        let x = around("FMUL x, x, 0.5", x * 0.5, observer);
        let y = mufu("MUFU.EX2", mufu_ex2, x, observer);
        return put(around("FMUL y, y, y", y * y, observer));
    }
    put(mufu("MUFU.EX2", mufu_ex2, x, observer))
}
// ANCHOR_END: ex2

pub(super) fn rcp<O: Observer>(x: u64, observer: &mut O) -> u64 {
    let x = f(x);
    // FSETP.GEU P1, |x|, 2^-126; FSETP.GT P0, |x|, 2^126; FSEL scale, 2^24, 1, !P1; FSEL scale, scale, 0.25, !P0
    let scale = match x.abs() {
        magnitude if magnitude > LARGE => 0.25,
        _ if is_tiny(x) => TWO_TO_24,
        _ => 1.0,
    };
    let x = around("FMUL x, x, scale", x * scale, observer);
    let y = mufu("MUFU.RCP", mufu_rcp, x, observer);
    put(around("FMUL y, scale, y", scale * y, observer))
}

/// `MUFU.RSQ` or `MUFU.SQRT`, with subnormal operands scaled before and their results scaled back by `back`.
fn scaled<O: Observer>(
    name: &'static str,
    function: impl Fn(u32, &mut O) -> u32,
    x: u64,
    (after, back): (&'static str, f32),
    observer: &mut O,
) -> u64 {
    let x = f(x);
    // FSETP.GEU.AND P0, PT, |x|, 2^-126
    put(match is_tiny(x) {
        true => {
            let x = around("@!P0 FMUL x, x, 2^24", x * TWO_TO_24, observer);
            let y = mufu(name, function, x, observer);
            around(after, y * back, observer)
        }
        false => mufu(name, function, x, observer),
    })
}

pub(super) fn rsqrt<O: Observer>(x: u64, observer: &mut O) -> u64 {
    let back = ("@!P0 FMUL y, y, 2^12", 4096.0);
    scaled("MUFU.RSQ", mufu_rsq, x, back, observer)
}

pub(super) fn sqrt<O: Observer>(x: u64, observer: &mut O) -> u64 {
    let back = ("@!P0 FMUL y, y, 2^-12", 1.0 / 4096.0);
    scaled("MUFU.SQRT", mufu_sqrt, x, back, observer)
}

pub(super) fn lg2<O: Observer>(x: u64, observer: &mut O) -> u64 {
    let x = f(x);
    // FSETP.GEU.AND P0, PT, |x|, 2^-126
    put(match is_tiny(x) {
        true => {
            let x = around("@!P0 FMUL x, x, 2^24", x * TWO_TO_24, observer);
            let y = mufu("MUFU.LG2", mufu_lg2, x, observer);
            around("@!P0 FADD y, y, -24", y + -24.0, observer)
        }
        false => mufu("MUFU.LG2", mufu_lg2, x, observer),
    })
}

/// `FMUL.RZ r, x, 0.15915494`: radians to revolutions, truncated.
// ANCHOR: revolutions
fn revolutions(x: u64, observer: &mut impl Observer) -> u32 {
    // Exact: both factors have 24 bits.
    let exact = f64::from(f(x)) * f64::from(f32::from_bits(0x3e22_f983));
    let nearest = exact as f32;
    let bits = match f64::from(nearest).abs() > exact.abs() {
        true => nearest.to_bits() - 1,
        false => nearest.to_bits(),
    };
    observer.around("FMUL.RZ x, x, 0.15915494", f32_value(bits));
    bits
}

pub(super) fn sin<O: Observer>(x: u64, observer: &mut O) -> u64 {
    let x = revolutions(x, observer);
    u64::from(unit("MUFU.SIN", mufu_sin, x, observer))
}

pub(super) fn cos<O: Observer>(x: u64, observer: &mut O) -> u64 {
    let x = revolutions(x, observer);
    u64::from(unit("MUFU.COS", mufu_cos, x, observer))
}
// ANCHOR_END: revolutions

pub(super) fn div_approx<O: Observer>(x: u64, w: u64, observer: &mut O) -> u64 {
    let (mut x, mut w) = (f(x), f(w));
    // FSETP.GEU.AND P0, PT, |w|, 2^-126
    if is_tiny(w) {
        w = around("@!P0 FMUL w, w, 2^24", w * TWO_TO_24, observer);
        x = around("@!P0 FMUL x, x, 2^24", x * TWO_TO_24, observer);
    }
    let r = mufu("MUFU.RCP", mufu_rcp, w, observer);
    put(around("FMUL y, r, x", r * x, observer))
}

pub(super) fn div_approx_ftz<O: Observer>(x: u64, w: u64, observer: &mut O) -> u64 {
    let r = unit("MUFU.RCP", mufu_rcp, w as u32, observer);
    times_ftz("FMUL.FTZ y, x, r", x, u64::from(r), observer)
}

/// A product that flushes subnormal numbers, reported to the observer.
fn times_ftz(name: &'static str, x: u64, y: u64, observer: &mut impl Observer) -> u64 {
    let product = mul_ftz([x, y, 0]);
    observer.around(name, f32_value(product as u32));
    product
}

pub(super) fn div_full<O: Observer>(x: u64, w: u64, observer: &mut O) -> u64 {
    let magnitude = f(w).abs();
    // FSETP.GT P0, |w|, 2^126; FSETP.GEU P1, |w|, 2^-126; @P0 FMUL w, w, 0.25; @P0 FMUL x, x, 0.25;
    // @!P1 FMUL w, w, 2^24; @!P1 FMUL x, x, 2^24; MUFU.RCP r, w; FMUL y, r, x
    if magnitude > LARGE {
        let w = around("@P0 FMUL w, w, 0.25", f(w) * 0.25, observer);
        let x = around("@P0 FMUL x, x, 0.25", f(x) * 0.25, observer);
        return div_approx(put(x), put(w), observer);
    }
    div_approx(x, w, observer)
}

pub(super) fn div_full_ftz<O: Observer>(x: u64, w: u64, observer: &mut O) -> u64 {
    // FSETP.GT.FTZ.AND P0, PT, |w|, 2^126
    match f(w).abs() > LARGE {
        // @P0 FMUL.FTZ w, w, 0.25; @P0 FMUL.FTZ x, x, 0.25; MUFU.RCP r, w; FMUL.FTZ y, r, x
        true => {
            let quarter = u64::from(0.25f32.to_bits());
            let w = times_ftz("@P0 FMUL.FTZ w, w, 0.25", w, quarter, observer);
            let x = times_ftz("@P0 FMUL.FTZ x, x, 0.25", x, quarter, observer);
            div_approx_ftz(x, w, observer)
        }
        false => div_approx_ftz(x, w, observer),
    }
}

/// `rsqrt.approx.f64`: a result of 20 bits, refined by one step of a third-order iteration.
pub(super) fn rsqrt_f64<O: Observer>(bits: u64, observer: &mut O) -> u64 {
    let x = f64::from_bits(bits);
    match x {
        // DADD y, x, x
        _ if x.is_nan() => nan64([bits], x),
        // LOP3.LUT y, x, 0x80000000; LOP3.LUT y, y, 0x7ff00000
        0.0 => f64::INFINITY.copysign(x).to_bits(),
        // IMAD.MOV.U32 y, -0x80000
        _ if x < 0.0 => 0xfff8_0000_0000_0000,
        // CS2R y, SRZ
        f64::INFINITY => 0,
        // DMUL x, x, 2^54; …; DMUL y, y, 2^27
        _ if x < f64::MIN_POSITIVE => {
            (refined(x * 2f64.powi(54), observer) * 2f64.powi(27)).to_bits()
        }
        _ => refined(x, observer).to_bits(),
    }
}

fn refined<O: Observer>(x: f64, observer: &mut O) -> f64 {
    // MUFU.RSQ64H y, x
    let upper = upper("MUFU.RSQ64H", mufu_rsq64h, x.to_bits(), observer);
    let y = f64::from_bits(upper);
    // DMUL e, y, y; DFMA e, x, -e, 1; DFMA s, e, 0.375, 0.5; DMUL e, y, e; DFMA y, s, e, y
    let error = x.mul_add(-(y * y), 1.0);
    let y = error.mul_add(0.375, 0.5).mul_add(y * error, y);
    let value = Value {
        bits: y.to_bits(),
        format: Format::F64,
    };
    observer.around("DMUL, DFMA, DFMA, DMUL, DFMA", value);
    y
}

/// Applies a MUFU to the upper word of an f64 and reports it; the lower word of the result is 0.
pub(super) fn upper<O: Observer>(
    name: &'static str,
    function: impl Fn(u32, &mut O) -> u32,
    x: u64,
    observer: &mut O,
) -> u64 {
    let result = function((x >> 32) as u32, observer);
    let [operand, value] = [x >> 32, u64::from(result)].map(|bits| Value {
        bits,
        format: Format::F64Upper,
    });
    observer.mufu(name, operand, value);
    u64::from(result) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_is_2_to_the_126() {
        assert_eq!(LARGE, 2f32.powi(126));
    }
}
