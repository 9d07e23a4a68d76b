//! Approximate instructions, to the bit: `ex2`, `lg2`, `rcp`, `rsqrt`, `sqrt`, `sin`, `cos`, `tanh` and `div` with `.approx` or
//! `.full`.
//!
//! The hardware has one unit for all of them, the multifunction unit, whose instruction is `MUFU` in machine code: 16 lanes
//! a clock and SM. PTX leaves its results open within an error bound; the unit does not. It is an interpolator of whole
//! numbers (`interpolator.rs`, with the paper that describes it), so an instruction is:
//!
//! | step | where |
//! | --- | --- |
//! | scaling and the instructions around one `MUFU`, as ptxas makes them | `sequence.rs`, `half.rs` |
//! | special values, the segment and the argument in it | a file for each function |
//! | a quadratic polynomial | `interpolator.rs`, `coefficients.csv` |
//! | cutting off to the format | `interpolator.rs`, `upper_word.rs`, `half.rs` |
//!
//! **Measured:** for all 2^32 inputs of every f32 instruction, and for the upper words of f64, a digest of the results for
//! each sign and exponent was recorded on an H200, and every one comes out here (`calibration/h200/approximate*.csv`); so do
//! those of all inputs in f16 and bf16. That the unit of an A100 has the same bits is not known.
mod coefficients;
mod exponential;
mod half;
mod hyperbolic_tangent;
mod interpolator;
mod logarithm;
mod reciprocal;
mod sequence;
mod sine;
mod square_root;
mod upper_word;

/// A result's bits from the bits of up to two operands; the third is not read.
pub type Function = fn([u64; 3]) -> u64;

/// A `MUFU` alone, on an f32.
macro_rules! mufu {
    ($function:path) => {
        |v| u64::from($function(v[0] as u32))
    };
}

/// Every approximate instruction of the PTX ISA ("Floating Point Instructions", "Half Precision Floating Point
/// Instructions") that sm_90a has, by its opcode.
const INSTRUCTIONS: [(&str, Function); 30] = [
    ("ex2.approx.f32", |v| sequence::ex2(v[0])),
    ("ex2.approx.ftz.f32", mufu!(exponential::mufu_ex2)),
    ("ex2.approx.f16", |v| half::ex2_f16(v[0])),
    ("ex2.approx.f16x2", |v| half::both(v[0], half::ex2_f16)),
    ("ex2.approx.ftz.bf16", |v| half::ex2_bf16(v[0])),
    ("ex2.approx.ftz.bf16x2", |v| {
        half::both(v[0], half::ex2_bf16)
    }),
    ("lg2.approx.f32", |v| sequence::lg2(v[0])),
    ("lg2.approx.ftz.f32", mufu!(logarithm::mufu_lg2)),
    ("rcp.approx.f32", |v| sequence::rcp(v[0])),
    ("rcp.approx.ftz.f32", mufu!(reciprocal::mufu_rcp)),
    ("rcp.approx.ftz.f64", |v| {
        upper(v[0], reciprocal::mufu_rcp64h)
    }),
    ("rsqrt.approx.f32", |v| sequence::rsqrt(v[0])),
    ("rsqrt.approx.ftz.f32", mufu!(square_root::mufu_rsq)),
    ("rsqrt.approx.f64", |v| sequence::rsqrt_f64(v[0])),
    ("rsqrt.approx.ftz.f64", |v| {
        upper(v[0], square_root::mufu_rsq64h)
    }),
    ("sqrt.approx.f32", |v| sequence::sqrt(v[0])),
    ("sqrt.approx.ftz.f32", mufu!(square_root::mufu_sqrt)),
    ("sin.approx.f32", |v| sequence::sin(v[0])),
    ("sin.approx.ftz.f32", |v| sequence::sin(v[0])),
    ("cos.approx.f32", |v| sequence::cos(v[0])),
    ("cos.approx.ftz.f32", |v| sequence::cos(v[0])),
    ("tanh.approx.f32", mufu!(hyperbolic_tangent::mufu_tanh)),
    ("tanh.approx.f16", |v| half::tanh_f16(v[0])),
    ("tanh.approx.f16x2", |v| half::both(v[0], half::tanh_f16)),
    ("tanh.approx.bf16", |v| half::tanh_bf16(v[0])),
    ("tanh.approx.bf16x2", |v| half::both(v[0], half::tanh_bf16)),
    ("div.approx.f32", |v| sequence::div_approx(v[0], v[1])),
    ("div.approx.ftz.f32", |v| {
        sequence::div_approx_ftz(v[0], v[1])
    }),
    ("div.full.f32", |v| sequence::div_full(v[0], v[1])),
    ("div.full.ftz.f32", |v| sequence::div_full_ftz(v[0], v[1])),
];

/// The upper word through a function, with a lower one of 0.
fn upper(x: u64, function: fn(u32) -> u32) -> u64 {
    u64::from(function((x >> 32) as u32)) << 32
}

/// The function of the approximate instruction with this opcode, such as `ex2.approx.ftz.f32`; none if there is no such
/// instruction.
pub fn function(opcode: &str) -> Option<Function> {
    let found = INSTRUCTIONS.iter().find(|(name, _)| *name == opcode);
    found.map(|&(_, function)| function)
}

/// The opcodes of all approximate instructions.
pub fn opcodes() -> impl Iterator<Item = &'static str> {
    INSTRUCTIONS.iter().map(|&(name, _)| name)
}
