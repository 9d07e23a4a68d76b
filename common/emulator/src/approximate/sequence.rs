//! What ptxas 13.0 makes of a PTX instruction for sm_90a, one MUFU with a few instructions around it, in their order.
//!
//! `MUFU` takes subnormal numbers for zeros, which is what `.ftz` asks for. Without `.ftz` they are scaled first and the
//! result is scaled back.
use super::exponential::mufu_ex2;
use super::logarithm::mufu_lg2;
use super::reciprocal::mufu_rcp;
use super::sine::{mufu_cos, mufu_sin};
use super::square_root::{mufu_rsq, mufu_rsq64h, mufu_sqrt};
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

/// Applies a MUFU to an f32.
fn mufu(function: fn(u32) -> u32, x: f32) -> f32 {
    f32::from_bits(function(x.to_bits()))
}

/// `FSETP.GEU |x|, 1.17549435e-38`, negated: whether x is subnormal or zero.
fn is_tiny(x: f32) -> bool {
    x.abs() < f32::MIN_POSITIVE
}

pub(super) fn ex2(x: u64) -> u64 {
    let x = f(x);
    // FSETP.GEU.AND P0, PT, x, -126
    if x < -126.0 {
        // FMUL x, x, 0.5; MUFU.EX2 y, x; FMUL y, y, y
        let y = mufu(mufu_ex2, x * 0.5);
        return put(y * y);
    }
    // MUFU.EX2 y, x
    put(mufu(mufu_ex2, x))
}

pub(super) fn rcp(x: u64) -> u64 {
    let x = f(x);
    // FSETP.GEU P1, |x|, 2^-126; FSETP.GT P0, |x|, 2^126; FSEL scale, 2^24, 1, !P1; FSEL scale, scale, 0.25, !P0
    let scale = match x.abs() {
        magnitude if magnitude > LARGE => 0.25,
        _ if is_tiny(x) => TWO_TO_24,
        _ => 1.0,
    };
    // FMUL x, x, scale; MUFU.RCP y, x; FMUL y, scale, y
    put(scale * mufu(mufu_rcp, x * scale))
}

/// What subnormal operands are multiplied by before `MUFU.RSQ` and `MUFU.SQRT`, and their results afterwards.
fn scaled(function: fn(u32) -> u32, x: u64, back: f32) -> u64 {
    let x = f(x);
    // FSETP.GEU.AND P0, PT, |x|, 2^-126
    put(match is_tiny(x) {
        // @!P0 FMUL x, x, 2^24; MUFU y, x; @!P0 FMUL y, y, back
        true => mufu(function, x * TWO_TO_24) * back,
        false => mufu(function, x),
    })
}

pub(super) fn rsqrt(x: u64) -> u64 {
    scaled(mufu_rsq, x, 4096.0)
}

pub(super) fn sqrt(x: u64) -> u64 {
    scaled(mufu_sqrt, x, 1.0 / 4096.0)
}

pub(super) fn lg2(x: u64) -> u64 {
    let x = f(x);
    // FSETP.GEU.AND P0, PT, |x|, 2^-126
    put(match is_tiny(x) {
        // @!P0 FMUL x, x, 2^24; MUFU.LG2 y, x; @!P0 FADD y, y, -24
        true => mufu(mufu_lg2, x * TWO_TO_24) + -24.0,
        false => mufu(mufu_lg2, x),
    })
}

/// `FMUL.RZ r, x, 0.15915494`: radians to revolutions, cut off.
fn revolutions(x: u64) -> u32 {
    // Exact: both factors have 24 bits.
    let exact = f64::from(f(x)) * f64::from(f32::from_bits(0x3e22_f983));
    let nearest = exact as f32;
    match f64::from(nearest).abs() > exact.abs() {
        true => nearest.to_bits() - 1,
        false => nearest.to_bits(),
    }
}

pub(super) fn sin(x: u64) -> u64 {
    // FMUL.RZ r, x, 0.15915494; MUFU.SIN y, r
    u64::from(mufu_sin(revolutions(x)))
}

pub(super) fn cos(x: u64) -> u64 {
    // FMUL.RZ r, x, 0.15915494; MUFU.COS y, r
    u64::from(mufu_cos(revolutions(x)))
}

pub(super) fn div_approx(x: u64, w: u64) -> u64 {
    let (x, w) = (f(x), f(w));
    // FSETP.GEU.AND P0, PT, |w|, 2^-126; @!P0 FMUL w, w, 2^24; @!P0 FMUL x, x, 2^24
    let scale = if is_tiny(w) { TWO_TO_24 } else { 1.0 };
    // MUFU.RCP r, w; FMUL y, r, x
    put(mufu(mufu_rcp, w * scale) * (x * scale))
}

pub(super) fn div_approx_ftz(x: u64, w: u64) -> u64 {
    // MUFU.RCP r, w; FMUL.FTZ y, x, r
    mul_ftz([x, u64::from(mufu_rcp(w as u32)), 0])
}

pub(super) fn div_full(x: u64, w: u64) -> u64 {
    let magnitude = f(w).abs();
    // FSETP.GT P0, |w|, 2^126; FSETP.GEU P1, |w|, 2^-126; @P0 FMUL w, w, 0.25; @P0 FMUL x, x, 0.25;
    // @!P1 FMUL w, w, 2^24; @!P1 FMUL x, x, 2^24; MUFU.RCP r, w; FMUL y, r, x
    let scale = if magnitude > LARGE { 0.25 } else { 1.0 };
    div_approx(put(f(x) * scale), put(f(w) * scale))
}

pub(super) fn div_full_ftz(x: u64, w: u64) -> u64 {
    // FSETP.GT.FTZ.AND P0, PT, |w|, 2^126
    match f(w).abs() > LARGE {
        // @P0 FMUL.FTZ w, w, 0.25; @P0 FMUL.FTZ x, x, 0.25; MUFU.RCP r, w; FMUL.FTZ y, r, x
        true => {
            let quarter = u64::from(0.25f32.to_bits());
            div_approx_ftz(mul_ftz([x, quarter, 0]), mul_ftz([w, quarter, 0]))
        }
        false => div_approx_ftz(x, w),
    }
}

/// `rsqrt.approx.f64`: a result of 20 bits, made better by one step of an iteration of third order.
pub(super) fn rsqrt_f64(bits: u64) -> u64 {
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
        _ if x < f64::MIN_POSITIVE => (refined(x * 2f64.powi(54)) * 2f64.powi(27)).to_bits(),
        _ => refined(x).to_bits(),
    }
}

fn refined(x: f64) -> f64 {
    // MUFU.RSQ64H y, x
    let upper = mufu_rsq64h((x.to_bits() >> 32) as u32);
    let y = f64::from_bits(u64::from(upper) << 32);
    // DMUL e, y, y; DFMA e, x, -e, 1; DFMA s, e, 0.375, 0.5; DMUL e, y, e; DFMA y, s, e, y
    let error = x.mul_add(-(y * y), 1.0);
    error.mul_add(0.375, 0.5).mul_add(y * error, y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_is_2_to_the_126() {
        assert_eq!(LARGE, 2f32.powi(126));
    }
}
