//! The steps of an approximate instruction from operand to result.
//!
//! The functions of this module report their steps to an [`Observer`]. `()` ignores them, and the compiler removes the
//! reports; a [`Trace`] records them. So the steps that are shown are those of the code that is executed.
use super::interpolator::Segment;

/// The number format of an operand or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// IEEE half precision.
    F16,
    /// The upper half of an f32.
    Bf16,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
    /// The upper word of an f64, whose lower word is 0.
    F64Upper,
}

impl Format {
    /// The value of these bits.
    pub fn value(self, bits: u64) -> f64 {
        match self {
            Self::F16 => half::f16::from_bits(bits as u16).to_f64(),
            Self::Bf16 => half::bf16::from_bits(bits as u16).to_f64(),
            Self::F32 => f32::from_bits(bits as u32).into(),
            Self::F64 => f64::from_bits(bits),
            Self::F64Upper => f64::from_bits(bits << 32),
        }
    }

    /// The bits of the nearest number, ties to even.
    pub fn nearest(self, value: f64) -> u64 {
        match self {
            Self::F16 => half::f16::from_f64(value).to_bits().into(),
            Self::Bf16 => half::bf16::from_f64(value).to_bits().into(),
            Self::F32 => (value as f32).to_bits().into(),
            Self::F64 => value.to_bits(),
            Self::F64Upper => value.to_bits() >> 32,
        }
    }

    /// The width of a number in bits, such as 32.
    pub fn bits(self) -> u32 {
        match self {
            Self::F16 | Self::Bf16 => 16,
            Self::F32 | Self::F64Upper => 32,
            Self::F64 => 64,
        }
    }

    /// The distance between neighboring numbers near `value`, a *unit in the last place*. Below the smallest normal
    /// number it is the distance between subnormal numbers.
    pub fn ulp(self, value: f64) -> f64 {
        let (fraction_bits, least) = match self {
            Self::F16 => (10, -14),
            Self::Bf16 => (7, -126),
            Self::F32 => (23, -126),
            Self::F64 | Self::F64Upper => (52, -1022),
        };
        let exponent = match value.abs().to_bits() >> 52 {
            0 => -1022,
            biased => biased as i32 - 1023,
        };
        2f64.powi(exponent.max(least) - fraction_bits)
    }
}

/// A number as an instruction reads or writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// Its bits, the lowest [`Format::bits`] of them.
    pub bits: u64,
    /// Their format.
    pub format: Format,
}

impl Value {
    /// The number.
    pub fn number(self) -> f64 {
        self.format.value(self.bits)
    }
}

/// An operand in the form that the interpolator needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// `MUFU.EX2`: x = whole + fraction 2^-23. The integer part becomes the result's exponent.
    FixedPoint {
        /// The largest integer not above x.
        whole: i32,
        /// The remaining fraction, 23 bits.
        fraction: u32,
    },
    /// `MUFU.RCP`, `MUFU.LG2`, `MUFU.TANH`: |x| = (1 + mantissa 2^-23) 2^exponent.
    Significand {
        /// 23 bits.
        mantissa: u32,
        /// Unbiased.
        exponent: i32,
        /// How many of the mantissa's leading bits select the segment.
        chosen_by: u32,
    },
    /// `MUFU.RSQ`, `MUFU.SQRT`: x = (1 + mantissa 2^-23) 2^odd 4^half, so that the root of the power is a power of two.
    EvenExponent {
        /// 23 bits.
        mantissa: u32,
        /// Whether the exponent is odd.
        odd: bool,
        /// Half of the exponent, rounded down.
        half: i32,
    },
    /// `MUFU.SIN`, `MUFU.COS`: an angle in revolutions, truncated to multiples of 2^-25.
    Angle {
        /// Its quarter of a revolution, from 0.
        quarter: u32,
        /// Its distance from the start of the quarter, or in quarters 1 and 3 from the end, 23 bits.
        offset: u32,
    },
}

/// One evaluation of a quadratic polynomial in integer arithmetic: `c0 2^14 + c1 argument + c2 square + constant`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interpolation {
    /// The number of the segment, from 0.
    pub segment: usize,
    /// How many segments the function has.
    pub segments: usize,
    /// The coefficients: c0 in units of 2^-26, c1 and c2 in units of 2^-40.
    pub coefficients: [i32; 3],
    /// The bits of the operand that do not select the segment.
    pub argument: u32,
    /// How many bits the argument has.
    pub argument_bits: u32,
    /// The square of the argument's upper 16 bits in units of 2^17, without the partial products below.
    pub square: u32,
    /// The constant that the function adds to every sum.
    pub constant: i64,
    /// The sum, in units of 2^-40.
    pub sum: u64,
}

impl Interpolation {
    pub(super) fn new(
        (segment, segments): (usize, usize),
        Segment { c0, c1, c2 }: Segment,
        (argument, argument_bits): (u32, u32),
        (square, constant, sum): (u32, i64, u64),
    ) -> Self {
        Self {
            segment,
            segments,
            coefficients: [c0, c1, c2],
            argument,
            argument_bits,
            square,
            constant,
            sum,
        }
    }
}

/// A machine instruction that was executed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The instruction, such as `MUFU.EX2` or `FMUL x, x, 0.5`.
    pub instruction: &'static str,
    /// The operand of a `MUFU`; `None` for an instruction around it, whose text names its operands.
    pub operand: Option<Value>,
    /// How a `MUFU` that interpolates reduces its operand.
    pub reduction: Option<Reduction>,
    /// The interpolation of a `MUFU`; `None` for a special value, and for an instruction around it.
    pub interpolation: Option<Interpolation>,
    /// Its result.
    pub result: Value,
}

/// The steps of one instruction for one operand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// In the order of execution.
    pub steps: Vec<Step>,
    reduction: Option<Reduction>,
    interpolation: Option<Interpolation>,
}

/// Receives the steps of an instruction.
pub(super) trait Observer {
    /// A `MUFU` has reduced its operand.
    fn reduced(&mut self, reduction: Reduction);
    /// The interpolator has computed a sum.
    fn interpolated(&mut self, interpolation: Interpolation);
    /// A `MUFU` has returned.
    fn mufu(&mut self, instruction: &'static str, operand: Value, result: Value);
    /// An instruction around a `MUFU` has returned.
    fn around(&mut self, instruction: &'static str, result: Value);
}

impl Observer for () {
    #[inline(always)]
    fn reduced(&mut self, _: Reduction) {}
    #[inline(always)]
    fn interpolated(&mut self, _: Interpolation) {}
    #[inline(always)]
    fn mufu(&mut self, _: &'static str, _: Value, _: Value) {}
    #[inline(always)]
    fn around(&mut self, _: &'static str, _: Value) {}
}

impl Observer for Trace {
    fn reduced(&mut self, reduction: Reduction) {
        self.reduction = Some(reduction);
    }

    fn interpolated(&mut self, interpolation: Interpolation) {
        self.interpolation = Some(interpolation);
    }

    fn mufu(&mut self, instruction: &'static str, operand: Value, result: Value) {
        self.steps.push(Step {
            instruction,
            operand: Some(operand),
            reduction: self.reduction.take(),
            interpolation: self.interpolation.take(),
            result,
        });
    }

    fn around(&mut self, instruction: &'static str, result: Value) {
        self.steps.push(Step {
            instruction,
            operand: None,
            reduction: None,
            interpolation: None,
            result,
        });
    }
}

/// An f32's value from its bits.
pub(super) fn f32_value(bits: u32) -> Value {
    Value {
        bits: bits.into(),
        format: Format::F32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_in_the_last_place() {
        for (format, value, ulp) in [
            (Format::F32, 1.0, 2f64.powi(-23)),
            (Format::F32, -1.99, 2f64.powi(-23)),
            (Format::F32, 2.0, 2f64.powi(-22)),
            (Format::F32, 1e-44, 2f64.powi(-149)),
            (Format::F32, 0.0, 2f64.powi(-149)),
            (Format::F16, 1.0, 2f64.powi(-10)),
            (Format::F16, 1e-7, 2f64.powi(-24)),
            (Format::Bf16, 1.0, 2f64.powi(-7)),
            (Format::F64, 0.5, 2f64.powi(-53)),
        ] {
            assert_eq!(format.ulp(value), ulp, "{format:?} {value}");
        }
    }

    #[test]
    fn bits_and_values() {
        use Format::{Bf16, F16, F32, F64, F64Upper};
        for format in [F16, Bf16, F32, F64, F64Upper] {
            let bits = format.nearest(-1.5);
            assert_eq!(Value { bits, format }.number(), -1.5, "{format:?}");
            assert!(bits >> (format.bits() - 1) == 1, "{format:?} {bits:#x}");
        }
    }
}
