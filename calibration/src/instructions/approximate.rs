//! `approximate*.csv`: approximate instructions (`ex2.approx.f16`, `rcp.approx.ftz.f32` …), input by input.
//!
//! A row is an instruction, a block of its inputs, how many of them are executed, and a [`Sum`] of the results. The
//! block's number is the operand's top bits: sign and exponent of an f32, so that a difference can be located. The
//! other bits are the input's number with its bits reversed: a few inputs are spread evenly, and all of them are
//! every number once.
//!
//! | operands | blocks | inputs of a block | what an input is |
//! | --- | --- | --- | --- |
//! | f16, bf16 | 256 | 256 | every number |
//! | f16x2, bf16x2 | 256 | 256 | every number in the low half, and in the high half every number in another order |
//! | f32 | 512 | 2^23 | every number |
//! | f64 | 256 | 2^24 | every upper word, with a lower one derived from it by [`LOWER`] |
//! | two of f32 | 512 | 2^23 | every number, divided by bits derived from it by [`mix`] |
//!
//! A kernel sums over the results of each of its threads. The comparison calls the emulator's function for the
//! instruction instead of executing kernels ([`emulator::approximate::function`]), since there are too many inputs; a
//! test compares the function with the kernel.
use std::fmt;

use anyhow::{Context, Result, anyhow, ensure};
use emulator::{Card, approximate};

use super::random::mix;
use super::table::number;
use super::{Digest, Experiment, Row};

/// Most threads of a kernel: each keeps a sum.
const MAX_THREADS: u32 = 1 << 16;
const BLOCK: u32 = 256;
/// Derives the lower word of an f64 from its upper one; the hardware reads it only for `rsqrt.approx.f64`.
const LOWER: u32 = 0x9e37_79b1;
/// Derives the high half of a pair from its low one. It is odd, so every number occurs once.
const HIGH: u32 = 40_503;
/// The divisor of an f32 is the low word of [`mix`] of the dividend and this.
const DIVISOR: u32 = 0x5eed;

/// Operands of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operands {
    /// One of 16 bits.
    Half,
    /// Two of 16 bits in one register.
    Pair,
    Single,
    Double,
    /// A dividend and a divisor.
    Quotient,
}

impl Operands {
    fn of(opcode: &str) -> Self {
        match opcode.rsplit('.').next() {
            _ if opcode.starts_with("div.") => Self::Quotient,
            Some("f16" | "bf16") => Self::Half,
            Some("f16x2" | "bf16x2") => Self::Pair,
            Some("f64") => Self::Double,
            _ => Self::Single,
        }
    }

    /// The number of bits of a block's number, and of an input's number within the block.
    fn bits(self) -> (u32, u32) {
        match self {
            Self::Half | Self::Pair => (8, 8),
            Self::Single | Self::Quotient => (9, 23),
            Self::Double => (8, 24),
        }
    }

    /// Inputs of each block in a planned row: for divisions a sample.
    fn planned(self) -> u32 {
        match self {
            Self::Quotient => 1 << 12,
            _ => 1 << self.bits().1,
        }
    }

    /// The operands' bits for an input's number.
    #[inline(always)]
    fn operands(self, x: u32) -> [u64; 3] {
        let x64 = u64::from(x);
        match self {
            Self::Half | Self::Single => [x64, 0, 0],
            Self::Pair => [x64 | u64::from(x.wrapping_mul(HIGH) & 0xffff) << 16, 0, 0],
            Self::Double => [x64 << 32 | u64::from(x.wrapping_mul(LOWER)), 0, 0],
            Self::Quotient => [x64, mix(x, DIVISOR) & 0xffff_ffff, 0],
        }
    }
}

/// A hash of many inputs and results: the sum of [`mix`] over all of them, in any order, as 16 hexadecimal digits.
/// For an f64 it is the sum of [`mix`] of the result's upper word and of its lower word with the inverted input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum(u64);

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A row of the file.
#[derive(Clone, Debug)]
pub struct Block {
    opcode: &'static str,
    block: u32,
    inputs: u32,
}

impl Block {
    fn operands(&self) -> Operands {
        Operands::of(self.opcode)
    }

    fn threads(&self) -> u32 {
        self.inputs.min(MAX_THREADS).next_multiple_of(BLOCK)
    }

    /// The sum over all inputs, by the emulator's function.
    fn of_function(&self) -> Result<Sum> {
        let function = approximate::function(self.opcode).context("it has no function")?;
        // One loop for each kind of operands, since there are billions of inputs.
        Ok(Sum(match self.operands() {
            Operands::Half => self.sum(Operands::Half, function),
            Operands::Pair => self.sum(Operands::Pair, function),
            Operands::Single => self.sum(Operands::Single, function),
            Operands::Double => self.sum(Operands::Double, function),
            Operands::Quotient => self.sum(Operands::Quotient, function),
        }))
    }

    #[inline(always)]
    fn sum(&self, operands: Operands, function: approximate::Function) -> u64 {
        let (_, bits) = operands.bits();
        let of_input = |n: u32| {
            let x = self.block << bits | n.reverse_bits() >> (32 - bits);
            let y = function(operands.operands(x));
            match operands {
                Operands::Double => mix(x, (y >> 32) as u32).wrapping_add(mix(!x, y as u32)),
                _ => mix(x, y as u32),
            }
        };
        (0..self.inputs).map(of_input).fold(0, u64::wrapping_add)
    }

    /// The instruction's kernel. Its input is the block's number and the number of inputs.
    fn body(&self) -> String {
        let (_, bits) = self.operands().bits();
        let execute = match self.operands() {
            Operands::Half => "cvt.u16.u32 %h0, %x;\n$op %h1, %h0;\ncvt.u32.u16 %y, %h1;\n",
            Operands::Pair => {
                "mul.lo.u32 %w, %x, $high;\nprmt.b32 %w, %x, %w, 0x5410;\n$op %y, %w;\n"
            }
            Operands::Single => "mov.b32 %f0, %x;\n$op %f1, %f0;\nmov.b32 %y, %f1;\n",
            Operands::Double => {
                "mul.lo.u32 %w, %x, $lower;\nmov.b64 %d0, {%w, %x};\n$op %d1, %d0;\n\
                 mov.b64 {%w, %y}, %d1;\nnot.b32 %i, %x;\n$mix(%i, %w)"
            }
            Operands::Quotient => {
                "mov.u32 %w, $divisor;\n$hash(%x, %w)cvt.u32.u64 %w, %z;\n\
                 mov.b32 %f0, %x;\nmov.b32 %f1, %w;\n$op %f1, %f0, %f1;\nmov.b32 %y, %f1;\n"
            }
        };
        let hash = "mov.b64 %z, {$y, $x};\nmul.lo.u64 %z, %z, 0x9e3779b97f4a7c15;\n\
                    shr.u64 %z1, %z, 29;\nxor.b64 %z, %z, %z1;\nmul.lo.u64 %z, %z, 0xbf58476d1ce4e5b9;\n\
                    shr.u64 %z1, %z, 32;\nxor.b64 %z, %z, %z1;\n";
        let hash_of = |x: &str, y: &str| hash.replace("$x", x).replace("$y", y);
        let mix_of = |x: &str, y: &str| hash_of(x, y) + "add.u64 %sum, %sum, %z;\n";
        let execute = execute
            .replace("$op", self.opcode)
            .replace("$high", &HIGH.to_string())
            .replace("$lower", &LOWER.to_string())
            .replace("$divisor", &DIVISOR.to_string())
            .replace("$hash(%x, %w)", &hash_of("%x", "%w"))
            .replace("$mix(%i, %w)", &mix_of("%i", "%w"));
        format!(
            ".reg .b16 %h<2>;\n.reg .b32 %n, %all, %step, %block, %x, %y, %w, %i, %t;\n\
             .reg .b64 %sum, %z, %z1, %at;\n.reg .f32 %f<2>;\n.reg .f64 %d<2>;\n.reg .pred %p;\n\
             ld.global.u32 %block, [%in];\nld.global.u32 %all, [%in+4];\n\
             mov.u32 %n, %ctaid.x;\nmov.u32 %step, %ntid.x;\nmov.u32 %t, %tid.x;\n\
             mad.lo.u32 %n, %n, %step, %t;\nmov.u32 %t, %nctaid.x;\nmul.lo.u32 %step, %step, %t;\n\
             mad.wide.u32 %at, %n, 8, %out;\nshl.b32 %block, %block, {bits};\nmov.u64 %sum, 0;\n\
             LOOP:\nsetp.ge.u32 %p, %n, %all;\n@%p bra DONE;\n\
             brev.b32 %x, %n;\nshr.u32 %x, %x, {};\nor.b32 %x, %x, %block;\n\
             {execute}{}add.u32 %n, %n, %step;\nbra LOOP;\n\
             DONE:\nst.global.u64 [%at], %sum;\n",
            32 - bits,
            mix_of("%x", "%y"),
        )
    }
}

impl Row for Block {
    type Measured = Sum;

    const HEADER: &'static str = "instruction,block,inputs,sum";

    fn parse(_: usize, fields: &[&str]) -> Result<(Self, Sum)> {
        let [instruction, block, inputs, sum] = *fields else {
            anyhow::bail!("a block of inputs has 4 fields");
        };
        let opcode = approximate::opcodes().find(|opcode| *opcode == instruction);
        let opcode = opcode.with_context(|| {
            let all: Vec<&str> = approximate::opcodes().collect();
            let all = all.join(", ");
            format!("{instruction:?} is not an approximate instruction: there are {all}")
        })?;
        let (block_bits, input_bits) = Operands::of(opcode).bits();
        let row = Self {
            opcode,
            block: number("block", block)?,
            inputs: number("inputs", inputs)?,
        };
        ensure!(
            row.block < 1 << block_bits,
            "block is {block}: {opcode} has {}",
            1 << block_bits
        );
        ensure!(
            (1..=1 << input_bits).contains(&row.inputs),
            "inputs is {inputs}: 1 to {} are possible",
            1 << input_bits
        );
        let parsed = Digest::parse(sum).map_err(|why| anyhow!("the sum: {why}"))?;
        Ok((row, Sum(parsed.bits())))
    }

    fn experiments(&self) -> Result<Vec<Experiment>> {
        let input = [self.block, self.inputs].map(u32::to_le_bytes);
        Ok(vec![Experiment {
            ptx: Experiment::module("", &self.body()),
            blocks: self.threads() / BLOCK,
            threads: BLOCK,
            dynamic_shared: 0,
            input: input.concat(),
            output_bytes: 8 * self.threads() as usize,
            tensor: None,
        }])
    }

    fn measured(&self, outputs: &[Vec<u8>]) -> Result<Sum> {
        let outputs = outputs.iter().flat_map(|bytes| bytes.as_chunks::<8>().0);
        let sums = outputs.map(|bytes| u64::from_le_bytes(*bytes));
        Ok(Sum(sums.fold(0, u64::wrapping_add)))
    }

    fn fields(&self, sum: &Sum) -> Vec<String> {
        vec![sum.to_string()]
    }

    fn difference(&self, recorded: &Sum, found: &Sum) -> [String; 3] {
        let Self {
            opcode,
            block,
            inputs,
        } = self;
        let (_, bits) = self.operands().bits();
        let first = block << bits;
        let last = first | ((1 << bits) - 1);
        let what = format!("{opcode}, {inputs} inputs from {first:#x} to {last:#x}");
        [what, format!("sum {recorded}"), format!("sum {found}")]
    }

    /// The unit does not depend on the card: an A100's is not known to differ.
    fn on_emulator(&self, _: Card) -> Result<Sum> {
        self.of_function()
    }
}

/// The rows to record, for instructions whose operands have 32 and 64 bits (`wide`), or 16, and for divisions. The
/// sums are zero.
fn plan(wide: bool) -> String {
    let mut text = Block::HEADER.to_owned() + "\n";
    for opcode in approximate::opcodes() {
        let operands = Operands::of(opcode);
        if wide == matches!(operands, Operands::Single | Operands::Double) {
            let inputs = operands.planned();
            for block in 0..1 << operands.bits().0 {
                text += &format!("{opcode},{block},{inputs},{:016x}\n", 0);
            }
        }
    }
    text
}

/// All inputs of 16 bits, and for divisions some of each exponent.
pub(super) fn plan_halves() -> String {
    plan(false)
}

/// All inputs of 32 and 64 bits.
pub(super) fn plan_wide() -> String {
    plan(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instructions::options;

    /// For a sample of inputs, a kernel on the emulator gives the same sum as the function, so a recording also tests
    /// the instruction's lowering.
    #[test]
    fn a_kernel_and_the_function_agree() {
        for opcode in approximate::opcodes() {
            let operands = Operands::of(opcode);
            for block in [0, 3, 60, 127, 200] {
                let inputs = operands.planned().min(700);
                let row = Block {
                    opcode,
                    block,
                    inputs,
                };
                let outputs = row
                    .experiments()
                    .expect(opcode)
                    .into_iter()
                    .map(|experiment| {
                        let observed = experiment.on_emulator(&options(Card::H100));
                        observed
                            .unwrap_or_else(|why| panic!("{opcode}: {why}"))
                            .output
                    });
                let of_kernel = row.measured(&outputs.collect::<Vec<_>>()).expect(opcode);
                let of_function = row.of_function().expect(opcode);
                assert_eq!(of_kernel, of_function, "{opcode}, block {block}");
            }
        }
    }

    /// The inputs of a block are its numbers, each once, and a few of them are spread evenly over the block.
    #[test]
    fn every_number_is_an_input() {
        let seen = |inputs: u32| {
            let all = (0..inputs).map(|n| 7 << 8 | n.reverse_bits() >> 24);
            let mut all: Vec<u32> = all.collect();
            all.sort_unstable();
            all
        };
        assert_eq!(seen(256), (7 << 8..8 << 8).collect::<Vec<_>>());
        assert_eq!(seen(4), [0x700, 0x740, 0x780, 0x7c0]);
        let mut pairs: Vec<u64> = (0..1 << 16)
            .map(|x| Operands::Pair.operands(x)[0] >> 16)
            .collect();
        pairs.sort_unstable();
        assert_eq!(pairs, (0..1 << 16).collect::<Vec<_>>());
    }
}
