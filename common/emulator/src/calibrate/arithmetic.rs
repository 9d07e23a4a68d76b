//! `arithmetic.csv`: an instruction a row, with a digest of its results on 1024 operands: the numbers that are
//! hard to get right, and random bits. The operands follow from the row's place in the table.
//!
//! An instruction is written with `$d` for its result and `$a`, `$b`, `$c`, `$e` for its operands; `32=f32 f32`
//! says that the result lies in 32 bits and both operands are f32. `p` is a predicate.
use rayon::prelude::*;

use super::table::{as_digits, is_digest};
use super::{
    BadRow, CalibrateError, Comparison, Difference, Experiment, Hardware, RecordError, Recording,
    Table, all, is_named, on,
};
use crate::Card;
use crate::random::random;

const COUNT: usize = 1024;
const COLUMNS: [&str; 3] = ["instruction", "operands", "digest"];
const OPERANDS: [&str; 4] = ["a", "b", "c", "e"];
/// A thread takes part in a guarded instruction if its number times this has the top bit set.
const CHOOSE: u32 = 0x9e37_79b1;

/// A row of `arithmetic.csv`.
#[derive(Clone, Debug)]
pub struct ArithmeticRow<'a> {
    /// Line of the file, counted from 1.
    pub line: usize,
    /// The row's number, counted from 0: the operands' seed.
    pub number: usize,
    /// The instruction, such as `add.s32 $d, $a, $b`.
    pub text: &'a str,
    /// Bits of the result, `p` for a predicate.
    pub result: &'a str,
    /// What each operand is: `16`, `32`, `64`, `f16`, `bf16`, `f32`, `f64`, `f16x2`, `bf16x2`.
    pub kinds: Vec<&'a str>,
    /// [`digest`] of the results, as 16 hexadecimal digits.
    pub digest: &'a str,
}

pub(super) fn kind(stem: &str) -> Option<Box<dyn Recording>> {
    is_named(stem, "arithmetic").then(|| Box::new(Arithmetic) as _)
}

struct Arithmetic;

impl Recording for Arithmetic {
    fn compare(&self, bytes: &[u8], card: Card) -> Result<Comparison, CalibrateError> {
        let rows = ArithmeticRow::all(bytes)?;
        let found: Vec<Result<u64, CalibrateError>> = rows
            .par_iter()
            .map(|row| {
                let observed = row.experiment(false).on_emulator(&on(card));
                let observed = observed.map_err(|error| CalibrateError::Row {
                    line: row.line,
                    why: BadRow(format!("`{}`: {error}", row.text)),
                })?;
                Ok(digest(&observed.output))
            })
            .collect();
        let found: Vec<u64> = found.into_iter().collect::<Result<_, _>>()?;
        let pairs = rows.iter().zip(found);
        let differences = pairs.filter_map(|(row, found)| {
            let found = as_digits(found);
            (found != row.digest).then(|| Difference {
                place: format!("line {}", row.line),
                what: row.text.to_owned(),
                expected: format!("digest {}", row.digest),
                found: format!("digest {found}"),
            })
        });
        Ok(Comparison {
            unit: "rows",
            all: rows.len(),
            differences: differences.collect(),
        })
    }

    fn experiments(&self, bytes: &[u8]) -> Result<Vec<Experiment>, CalibrateError> {
        let rows = ArithmeticRow::all(bytes)?;
        Ok(rows.iter().map(|row| row.experiment(false)).collect())
    }

    fn record(&self, bytes: &[u8], hardware: &mut dyn Hardware) -> Result<Vec<u8>, RecordError> {
        let experiments = self.experiments(bytes)?;
        let outputs = hardware.outputs(&experiments);
        let outputs = all(outputs.map_err(RecordError::Hardware)?, experiments.len())?;
        let table = Table::of_bytes(bytes, ';', &COLUMNS)?;
        Ok(table.rewritten(';', |row, name| {
            (name == COLUMNS[2]).then(|| as_digits(digest(&outputs[row])))
        }))
    }
}

impl<'a> ArithmeticRow<'a> {
    /// The rows of a file.
    ///
    /// # Errors
    /// If it has none, or one of them is malformed.
    pub fn all(bytes: &'a [u8]) -> Result<Vec<Self>, CalibrateError> {
        let table = Table::of_bytes(bytes, ';', &COLUMNS)?;
        let rows = table.rows.iter().enumerate().map(|(number, row)| {
            let parsed = table.pick(row, COLUMNS);
            let parsed = parsed.and_then(|fields| Self::parse(row.line, number, fields));
            parsed.map_err(|why| CalibrateError::Row {
                line: row.line,
                why,
            })
        });
        rows.collect()
    }

    fn parse(
        line: usize,
        number: usize,
        [text, operands, digest]: [&'a str; 3],
    ) -> Result<Self, BadRow> {
        let bad = |why: String| Err(BadRow(why));
        let Some((result, kinds)) = operands.split_once('=') else {
            return bad(format!(
                "operands are {operands:?}: such as 32=f32 f32 is needed"
            ));
        };
        if !["p", "16", "32", "64"].contains(&result) {
            return bad(format!("{result:?} is no result: there are p, 16, 32, 64"));
        }
        let kinds: Vec<&str> = kinds.split_whitespace().collect();
        if kinds.len() > OPERANDS.len() {
            return bad(format!("{} operands: there are at most 4", kinds.len()));
        }
        if let Some(kind) = kinds.iter().find(|kind| width(kind).is_none()) {
            return bad(format!(
                "{kind:?} is no operand: there are 16, 32, 64, f16, bf16, f32, f64, f16x2, bf16x2"
            ));
        }
        is_digest(digest)?;
        Ok(Self {
            line,
            number,
            text,
            result,
            kinds,
            digest,
        })
    }

    /// A kernel that does the instruction in each of 1024 threads, or in those that [`Self::is_chosen`] names
    /// if it is `guarded`: the others' result is zero. A result is 8 bytes.
    pub fn experiment(&self, guarded: bool) -> Experiment {
        let module = Experiment::module("", &self.body(guarded));
        Experiment {
            ptx: module,
            blocks: COUNT as u32 / 256,
            threads: 256,
            dynamic_shared: 0,
            input: self.operands(),
            output_bytes: 8 * COUNT,
            tensor: None,
        }
    }

    /// Whether a thread takes part in the guarded instruction.
    pub fn is_chosen(thread: u32) -> bool {
        thread.wrapping_mul(CHOOSE) >> 31 == 1
    }

    fn body(&self, guarded: bool) -> String {
        let result = self.result;
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
        for (i, (name, kind)) in OPERANDS.into_iter().zip(&self.kinds).enumerate() {
            let (at, width) = (8 * i, width(kind).unwrap_or(64));
            body += &format!(".reg .b{width} %{name};\nld.global.u{width} %{name}, [%in+{at}];\n");
            instruction = instruction.replace(&format!("${name}"), &format!("%{name}"));
        }
        let mut zero = String::new();
        if guarded {
            body += &format!(
                ".reg .pred %g;\nmul.lo.u32 %t0, %t3, {CHOOSE};\nsetp.lt.s32 %g, %t0, 0;\n"
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

    /// Four operands for each thread, 8 bytes each; those that the instruction lacks are zero.
    fn operands(&self) -> Vec<u8> {
        let mut state = self.number as u64;
        let mut bytes = Vec::with_capacity(COUNT * 32);
        for _ in 0..COUNT {
            for i in 0..OPERANDS.len() {
                let value = self
                    .kinds
                    .get(i)
                    .map_or(0, |kind| operand(kind, &mut state));
                bytes.extend(value.to_le_bytes());
            }
        }
        bytes
    }
}

/// FNV-1a of the results.
pub fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Bits of a register that holds an operand of this kind.
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
        // Small integers, powers of two, and their neighbours.
        "16" | "32" | "64" => {
            let near =
                1u64.wrapping_shl(bits() as u32 % 65) & u64::from(pick & 8 != 0).wrapping_neg();
            near.wrapping_add(bits() % 5).wrapping_sub(2)
        }
        // An exponent that leads to ties, subnormals, infinities and NaN, and few bits of mantissa.
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
