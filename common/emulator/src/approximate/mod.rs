//! Bit-exact approximate instructions: `ex2`, `lg2`, `rcp`, `rsqrt`, `sqrt`, `sin`, `cos`, `tanh` and `div` with
//! `.approx` or `.full`.
//!
//! The hardware has one unit for all of them, the multifunction unit, whose instruction is `MUFU` in machine code: 16
//! lanes a clock and SM. PTX specifies its results only within an error bound, but the hardware is deterministic. The
//! unit is an integer interpolator (`interpolator.rs`, which names the paper that describes it), so an instruction
//! consists of:
//!
//! | step | where |
//! | --- | --- |
//! | scaling and the instructions around one `MUFU`, as ptxas generates them | `sequence.rs`, `half.rs` |
//! | special values, the segment and the argument in it | a file for each function |
//! | a quadratic polynomial | `interpolator.rs`, `coefficients.csv` |
//! | truncation to the format | `interpolator.rs`, `upper_word.rs`, `half.rs` |
//!
//! [`function`] is what a kernel executes; [`trace`] is the same code with its steps recorded.
//!
//! **Measured:** an H200 computed a digest of the results for each sign and exponent, over all 2^32 inputs of every f32
//! instruction and over the upper words of f64. The emulator reproduces every digest, and those of all inputs in f16
//! and bf16. Whether an A100 returns the same bits is not known.
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
mod trace;
mod upper_word;

pub use trace::{Format, Interpolation, Reduction, Step, Trace, Value};

/// The bits of a result from the bits of up to two operands; the third is ignored.
pub type Function = fn([u64; 3]) -> u64;

/// An instruction: the function that executes it, and one that also records a trace.
struct Instruction {
    opcode: &'static str,
    function: Function,
    traced: fn([u64; 3], &mut Trace) -> u64,
}

/// Generates both functions of each instruction from one expression.
macro_rules! instructions {
    ($($opcode:literal => |$operands:ident, $observer:ident| $result:expr;)*) => {
        [$(Instruction {
            opcode: $opcode,
            function: |$operands| {
                let $observer = &mut ();
                $result
            },
            traced: |$operands, $observer| $result,
        }),*]
    };
}

/// Every approximate instruction of the PTX ISA ("Floating Point Instructions", "Half Precision Floating Point
/// Instructions") that sm_90a has, by its opcode.
static INSTRUCTIONS: [Instruction; 30] = instructions! {
    "ex2.approx.f32" => |v, o| sequence::ex2(v[0], o);
    "ex2.approx.ftz.f32" => |v, o| mufu("MUFU.EX2", exponential::mufu_ex2, v[0], o);
    "ex2.approx.f16" => |v, o| half::ex2_f16(v[0], o);
    "ex2.approx.f16x2" => |v, o| half::both(v[0], o, half::ex2_f16);
    "ex2.approx.ftz.bf16" => |v, o| half::ex2_bf16(v[0], o);
    "ex2.approx.ftz.bf16x2" => |v, o| half::both(v[0], o, half::ex2_bf16);
    "lg2.approx.f32" => |v, o| sequence::lg2(v[0], o);
    "lg2.approx.ftz.f32" => |v, o| mufu("MUFU.LG2", logarithm::mufu_lg2, v[0], o);
    "rcp.approx.f32" => |v, o| sequence::rcp(v[0], o);
    "rcp.approx.ftz.f32" => |v, o| mufu("MUFU.RCP", reciprocal::mufu_rcp, v[0], o);
    "rcp.approx.ftz.f64" => |v, o| sequence::upper("MUFU.RCP64H", reciprocal::mufu_rcp64h, v[0], o);
    "rsqrt.approx.f32" => |v, o| sequence::rsqrt(v[0], o);
    "rsqrt.approx.ftz.f32" => |v, o| mufu("MUFU.RSQ", square_root::mufu_rsq, v[0], o);
    "rsqrt.approx.f64" => |v, o| sequence::rsqrt_f64(v[0], o);
    "rsqrt.approx.ftz.f64" => |v, o| sequence::upper("MUFU.RSQ64H", square_root::mufu_rsq64h, v[0], o);
    "sqrt.approx.f32" => |v, o| sequence::sqrt(v[0], o);
    "sqrt.approx.ftz.f32" => |v, o| mufu("MUFU.SQRT", square_root::mufu_sqrt, v[0], o);
    "sin.approx.f32" => |v, o| sequence::sin(v[0], o);
    "sin.approx.ftz.f32" => |v, o| sequence::sin(v[0], o);
    "cos.approx.f32" => |v, o| sequence::cos(v[0], o);
    "cos.approx.ftz.f32" => |v, o| sequence::cos(v[0], o);
    "tanh.approx.f32" => |v, o| mufu("MUFU.TANH", hyperbolic_tangent::mufu_tanh, v[0], o);
    "tanh.approx.f16" => |v, o| half::tanh_f16(v[0], o);
    "tanh.approx.f16x2" => |v, o| half::both(v[0], o, half::tanh_f16);
    "tanh.approx.bf16" => |v, o| half::tanh_bf16(v[0], o);
    "tanh.approx.bf16x2" => |v, o| half::both(v[0], o, half::tanh_bf16);
    "div.approx.f32" => |v, o| sequence::div_approx(v[0], v[1], o);
    "div.approx.ftz.f32" => |v, o| sequence::div_approx_ftz(v[0], v[1], o);
    "div.full.f32" => |v, o| sequence::div_full(v[0], v[1], o);
    "div.full.ftz.f32" => |v, o| sequence::div_full_ftz(v[0], v[1], o);
};

/// A single `MUFU` on an f32.
#[inline(always)]
fn mufu<O: trace::Observer>(
    name: &'static str,
    function: impl Fn(u32, &mut O) -> u32,
    x: u64,
    observer: &mut O,
) -> u64 {
    u64::from(sequence::unit(name, function, x as u32, observer))
}

fn find(opcode: &str) -> Option<&'static Instruction> {
    INSTRUCTIONS
        .iter()
        .find(|instruction| instruction.opcode == opcode)
}

/// The function of the approximate instruction with this opcode, such as `ex2.approx.ftz.f32`; `None` if there is no such
/// instruction.
pub fn function(opcode: &str) -> Option<Function> {
    Some(find(opcode)?.function)
}

/// What the approximate instruction with this opcode returns for these operands, the bits that [`function`] returns,
/// and the machine instructions that it executes; `None` if there is no such instruction.
///
/// ```
/// use emulator::approximate;
///
/// let x = u64::from(0.3f32.to_bits());
/// let (bits, trace) = approximate::trace("ex2.approx.ftz.f32", [x, 0, 0]).ok_or("no such opcode")?;
/// assert_eq!(f32::from_bits(bits as u32), 1.2311444);
/// let interpolation = trace.steps[0].interpolation.ok_or("a special value")?;
/// assert_eq!((interpolation.segment, interpolation.segments), (19, 64));
/// # Ok::<(), &str>(())
/// ```
pub fn trace(opcode: &str, operands: [u64; 3]) -> Option<(u64, Trace)> {
    let mut trace = Trace::default();
    let bits = (find(opcode)?.traced)(operands, &mut trace);
    Some((bits, trace))
}

/// The opcodes of all approximate instructions.
pub fn opcodes() -> impl Iterator<Item = &'static str> {
    INSTRUCTIONS.iter().map(|instruction| instruction.opcode)
}
