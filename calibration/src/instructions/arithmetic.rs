//! `arithmetic.csv`: one instruction in each row, with a digest of its results for 1024 operands: numbers that are
//! hard to get right, and random bits. The operands follow from the row's position in the table.
//!
//! In an instruction `$d` is the result and `$a`, `$b`, `$c`, `$e` are the operands; `32=f32 f32` says that the
//! result has 32 bits and both operands are f32. `p` is a predicate.
use anyhow::{Result, anyhow, bail};
use emulator::Card;

use super::random::random;
use super::{Digest, Experiment, Row, options};

const COUNT: usize = 1024;
const OPERANDS: [&str; 4] = ["a", "b", "c", "e"];
/// A thread executes a guarded instruction if its number times this has the top bit set.
const GUARD_FACTOR: u32 = 0x9e37_79b1;

/// A row of `arithmetic.csv`.
#[derive(Clone, Debug)]
pub struct ArithmeticRow {
    /// The row's number, counted from 0: the operands' seed.
    pub number: usize,
    /// The instruction, such as `add.s32 $d, $a, $b`.
    pub text: String,
    /// Bits of the result, `p` for a predicate.
    pub result: String,
    /// The kind of each operand: `16`, `32`, `64`, `f16`, `bf16`, `f32`, `f64`, `f16x2`, `bf16x2`.
    pub operands: Vec<String>,
}

/// Instructions added after the first recording, and their operands.
const ADDED_LATER: [(&str, &str); 50] = [
    ("dp2a.lo.u32.u32 $d, $a, $b, $c", "32=32 32 32"),
    ("dp2a.hi.u32.s32 $d, $a, $b, $c", "32=32 32 32"),
    ("dp2a.lo.s32.u32 $d, $a, $b, $c", "32=32 32 32"),
    ("dp2a.hi.s32.s32 $d, $a, $b, $c", "32=32 32 32"),
    ("szext.clamp.s32 $d, $a, $b", "32=32 32"),
    ("szext.clamp.u32 $d, $a, $b", "32=32 32"),
    ("szext.wrap.s32 $d, $a, $b", "32=32 32"),
    ("szext.wrap.u32 $d, $a, $b", "32=32 32"),
    ("szext.clamp.s32 $d, $a, 7", "32=32"),
    ("szext.clamp.s32 $d, $a, 32", "32=32"),
    ("szext.wrap.s32 $d, $a, 40", "32=32"),
    ("szext.wrap.u32 $d, $a, 32", "32=32"),
    ("bmsk.clamp.b32 $d, $a, $b", "32=32 32"),
    ("bmsk.wrap.b32 $d, $a, $b", "32=32 32"),
    ("bmsk.clamp.b32 $d, 9, $a", "32=32"),
    ("bmsk.clamp.b32 $d, $a, 9", "32=32"),
    ("bmsk.clamp.b32 $d, 9, 40", "32="),
    ("bmsk.wrap.b32 $d, 9, 40", "32="),
    ("fns.b32 $d, $a, 0, 7", "32=32"),
    ("fns.b32 $d, $a, 31, -3", "32=32"),
    ("fns.b32 $d, $a, 12, 0", "32=32"),
    ("testp.finite.f32 $d, $a", "p=f32"),
    ("testp.infinite.f32 $d, $a", "p=f32"),
    ("testp.number.f32 $d, $a", "p=f32"),
    ("testp.notanumber.f32 $d, $a", "p=f32"),
    ("testp.normal.f32 $d, $a", "p=f32"),
    ("testp.subnormal.f32 $d, $a", "p=f32"),
    ("testp.normal.f64 $d, $a", "p=f64"),
    ("testp.subnormal.f64 $d, $a", "p=f64"),
    ("cvt.rn.satfinite.e4m3x2.f32 $d, $a, $b", "16=f32 f32"),
    ("cvt.rn.satfinite.e5m2x2.f32 $d, $a, $b", "16=f32 f32"),
    ("cvt.rn.satfinite.relu.e4m3x2.f32 $d, $a, $b", "16=f32 f32"),
    ("cvt.rn.satfinite.relu.e5m2x2.f32 $d, $a, $b", "16=f32 f32"),
    ("cvt.rn.satfinite.e4m3x2.f16x2 $d, $a", "16=f16x2"),
    ("cvt.rn.satfinite.e5m2x2.f16x2 $d, $a", "16=f16x2"),
    ("cvt.rn.satfinite.relu.e4m3x2.f16x2 $d, $a", "16=f16x2"),
    ("cvt.rn.f16x2.e4m3x2 $d, $a", "32=16"),
    ("cvt.rn.f16x2.e5m2x2 $d, $a", "32=16"),
    ("cvt.rn.relu.f16x2.e4m3x2 $d, $a", "32=16"),
    ("cvt.rn.relu.f16x2.e5m2x2 $d, $a", "32=16"),
    ("cvt.rna.tf32.f32 $d, $a", "32=f32"),
    ("cvt.rna.satfinite.tf32.f32 $d, $a", "32=f32"),
    ("cvt.rn.relu.f16x2.f32 $d, $a, $b", "32=f32 f32"),
    ("cvt.rz.satfinite.f16x2.f32 $d, $a, $b", "32=f32 f32"),
    ("cvt.rn.relu.satfinite.bf16x2.f32 $d, $a, $b", "32=f32 f32"),
    ("cvt.rz.bf16x2.f32 $d, $a, $b", "32=f32 f32"),
    ("cvt.rn.relu.f16.f32 $d, $a", "16=f32"),
    ("cvt.rn.satfinite.f16.f32 $d, $a", "16=f32"),
    ("cvt.rz.relu.bf16.f32 $d, $a", "16=f32"),
    ("cvt.rn.satfinite.bf16.f32 $d, $a", "16=f32"),
];

/// The rows to record. The digests are zero.
pub(super) fn plan() -> String {
    let rows = ADDED_LATER.map(|(text, operands)| format!("{text};{operands};{:016x}\n", 0));
    format!("{}\n{}", ArithmeticRow::HEADER, rows.concat())
}

/// Modes of instructions: `.ftz`, rounding, saturation, packed halves of 16 bits. The digests are zero.
pub(super) const MODES: &str = include_str!("arithmetic_modes.csv");

impl Row for ArithmeticRow {
    type Measured = Digest;

    const SEPARATOR: char = ';';
    const HEADER: &'static str = "instruction;operands;digest";

    fn parse(number: usize, fields: &[&str]) -> Result<(Self, Digest)> {
        let [text, operands, digest] = *fields else {
            bail!("an instruction has 3 fields");
        };
        let Some((result, operands)) = operands.split_once('=') else {
            bail!("operands are {operands:?}: write them as in 32=f32 f32");
        };
        if !["p", "16", "32", "64"].contains(&result) {
            bail!("{result:?} is not a result type: there are p, 16, 32, 64");
        }
        let operands: Vec<String> = operands.split_whitespace().map(str::to_owned).collect();
        if operands.len() > OPERANDS.len() {
            bail!("{} operands: there are at most 4", operands.len());
        }
        if let Some(kind) = operands.iter().find(|kind| width(kind).is_none()) {
            bail!(
                "{kind:?} is not an operand type: there are 16, 32, 64, f16, bf16, f32, f64, f16x2, bf16x2"
            );
        }
        let row = Self {
            number,
            text: text.to_owned(),
            result: result.to_owned(),
            operands,
        };
        Ok((row, Digest::parse(digest)?))
    }

    fn experiments(&self) -> Result<Vec<Experiment>> {
        Ok(vec![self.experiment(false)])
    }

    fn measured(&self, outputs: &[Vec<u8>]) -> Result<Digest> {
        Ok(Digest::of(&outputs.concat()))
    }

    fn fields(&self, digest: &Digest) -> Vec<String> {
        vec![digest.to_string()]
    }

    fn difference(&self, recorded: &Digest, found: &Digest) -> [String; 3] {
        let [expected, found] = Digest::sides(recorded, found);
        [self.text.clone(), expected, found]
    }

    fn on_emulator(&self, card: Card) -> Result<Digest> {
        let observed = self.experiment(false).on_emulator(&options(card));
        let observed = observed.map_err(|error| anyhow!("`{}`: {error}", self.text))?;
        Ok(Digest::of(&observed.output))
    }
}

impl ArithmeticRow {
    /// A kernel that executes the instruction in each of 1024 threads, or, if `guarded`, in those that
    /// [`Self::is_chosen`] selects; the other threads' results are zero. A result is 8 bytes.
    pub fn experiment(&self, guarded: bool) -> Experiment {
        Experiment {
            ptx: Experiment::module("", &self.body(guarded)),
            blocks: COUNT as u32 / 256,
            threads: 256,
            dynamic_shared: 0,
            input: self.input(),
            output_bytes: 8 * COUNT,
            tensor: None,
        }
    }

    /// Whether a thread executes the guarded instruction.
    pub fn is_chosen(thread: u32) -> bool {
        thread.wrapping_mul(GUARD_FACTOR) >> 31 == 1
    }

    fn body(&self, guarded: bool) -> String {
        let result = self.result.as_str();
        let mut body = String::from(
            ".reg .b32 %t<4>;\n.reg .b64 %at, %out64;\n\
             mov.u32 %t0, %ctaid.x;\n\
             mov.u32 %t1, %ntid.x;\n\
             mov.u32 %t2, %tid.x;\n\
             mad.lo.u32 %t3, %t0, %t1, %t2;\n\
             mul.wide.u32 %at, %t3, 32;\n\
             add.u64 %in, %in, %at;\n\
             mul.wide.u32 %at, %t3, 8;\n\
             add.u64 %out, %out, %at;\n",
        );
        let mut instruction = self.text.replace("$d", "%d");
        for (i, (name, kind)) in OPERANDS.into_iter().zip(&self.operands).enumerate() {
            let (at, width) = (8 * i, width(kind).unwrap_or(64));
            body += &format!(".reg .b{width} %{name};\nld.global.u{width} %{name}, [%in+{at}];\n");
            instruction = instruction.replace(&format!("${name}"), &format!("%{name}"));
        }
        let mut zero = String::new();
        if guarded {
            body += &format!(
                ".reg .pred %g;\nmul.lo.u32 %t0, %t3, {GUARD_FACTOR};\nsetp.lt.s32 %g, %t0, 0;\n"
            );
            instruction = format!("@%g {instruction}");
            zero = match result {
                "p" => "setp.ne.u32 %d, 0, 0;\n".into(),
                bits => format!("mov.b{bits} %d, 0;\n"),
            };
        }
        let (class, widen) = match result {
            "p" => ("pred".into(), "selp.u64 %out64, 1, 0, %d".into()),
            "64" => ("b64".into(), "mov.b64 %out64, %d".into()),
            bits => (format!("b{bits}"), format!("cvt.u64.u{bits} %out64, %d")),
        };
        body + &format!(
            ".reg .{class} %d;\n{zero}{instruction};\n{widen};\nst.global.u64 [%out], %out64;\n"
        )
    }

    /// Four operands for each thread, 8 bytes each; unused ones are zero.
    fn input(&self) -> Vec<u8> {
        let mut state = self.number as u64;
        let mut bytes = Vec::with_capacity(COUNT * 32);
        for _ in 0..COUNT {
            for i in 0..OPERANDS.len() {
                let kind = self.operands.get(i);
                let value = kind.map_or(0, |kind| operand(kind, &mut state));
                bytes.extend(value.to_le_bytes());
            }
        }
        bytes
    }
}

/// Width of a register for an operand of this kind.
fn width(kind: &str) -> Option<u32> {
    match kind {
        "16" | "f16" | "bf16" => Some(16),
        "32" | "f32" | "f16x2" | "bf16x2" => Some(32),
        "64" | "f64" => Some(64),
        _ => None,
    }
}

/// One operand of a kind: `32` for an integer, `f32` for a float, `f16x2` for a pair.
fn operand(kind: &str, state: &mut u64) -> u64 {
    let mut bits = || random(state);
    let pick = bits();
    match kind {
        "f16x2" | "bf16x2" => {
            let half = kind.trim_end_matches("x2");
            operand(half, state) | operand(half, state) << 16
        }
        _ if pick.is_multiple_of(3) => bits(),
        // Small integers, powers of two, and their neighbors.
        "16" | "32" | "64" => {
            let near =
                1u64.wrapping_shl(bits() as u32 % 65) & u64::from(pick & 8 != 0).wrapping_neg();
            near.wrapping_add(bits() % 5).wrapping_sub(2)
        }
        // An exponent that leads to ties, subnormals, infinities and NaN, and few mantissa bits.
        float => {
            let (exponent_bits, mantissa_bits) = match float {
                "f16" => (5, 10),
                "bf16" => (8, 7),
                "f32" => (8, 23),
                _ => (11, 52),
            };
            let bias = (1u64 << (exponent_bits - 1)) - 1;
            let top = (1u64 << exponent_bits) - 1;
            let exponent = match pick >> 8 & 7 {
                0 => 0,
                1 => top,
                2 => top - 1,
                3 => 1,
                _ => (bias + bits() % 70).saturating_sub(30).min(top),
            };
            let mantissa = match pick >> 16 & 3 {
                0 => 0,
                1 => bits(),
                2 => 1 << (bits() % mantissa_bits) | 1 << (bits() % mantissa_bits),
                _ => (bits() & 3).wrapping_sub(2),
            } & ((1 << mantissa_bits) - 1);
            (pick >> 32 & 1) << (exponent_bits + mantissa_bits)
                | exponent << mantissa_bits
                | mantissa
        }
    }
}
