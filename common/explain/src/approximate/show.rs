//! One input, step by step.
use std::fmt::Write;

use anyhow::{Context, Result};
use emulator::approximate::{self, Format, Interpolation, Reduction, Step, Value};
use harness::thousands;
use serde_json::{Value as Json, json};

use super::operand::Opcode;

/// The execution of an instruction.
pub struct Shown {
    opcode: Opcode,
    operands: Vec<Value>,
    steps: Vec<Step>,
    /// One result, or two for a packed pair.
    results: Vec<ComparedResult>,
}

/// A result with the exact value.
struct ComparedResult {
    result: Value,
    /// The exact value, in f64.
    exact: f64,
}

impl ComparedResult {
    /// How many ulps the result is above the exact value; `None` for infinities, NaN and f64, where the exact value
    /// is no more precise than the result.
    fn ulps(&self) -> Option<f64> {
        let error = self.result.number() - self.exact;
        let known = error.is_finite() && self.result.format != Format::F64;
        known.then(|| error / self.result.format.ulp(self.exact))
    }

    fn nearest(&self) -> Value {
        let format = self.result.format;
        let bits = format.nearest(self.exact);
        Value { bits, format }
    }
}

impl Shown {
    /// Executes the instruction.
    pub fn new(opcode: Opcode, words: &[String]) -> Result<Self> {
        let operands = opcode.operands(words)?;
        let bits: Vec<u64> = operands.iter().map(|operand| operand.bits).collect();
        let registers = match (opcode.is_pair, &bits[..]) {
            (true, &[low, high]) => [low | high << 16, 0, 0],
            (_, &[x]) => [x, 0, 0],
            (_, &[x, y]) => [x, y, 0],
            _ => [0; 3],
        };
        let (result, trace) = approximate::trace(opcode.name, registers)
            .with_context(|| format!("there is no {}", opcode.name))?;
        let number = |at: usize| {
            operands
                .get(at)
                .map_or(f64::NAN, |operand| operand.number())
        };
        let compared = |bits: u64, exact: f64| ComparedResult {
            result: Value {
                bits,
                format: opcode.format,
            },
            exact,
        };
        let results = match opcode.is_pair {
            true => vec![
                compared(result & 0xffff, opcode.exactly(number(0), 0.0)),
                compared(result >> 16, opcode.exactly(number(1), 0.0)),
            ],
            false => vec![compared(result, opcode.exactly(number(0), number(1)))],
        };
        Ok(Self {
            opcode,
            operands,
            steps: trace.steps,
            results,
        })
    }

    /// As text for a terminal.
    pub fn text(&self) -> String {
        let mut text = format!("{}  {}\n\n", self.opcode.name, self.opcode.formula());
        let names = match (self.opcode.is_pair, self.operands.len()) {
            (true, _) => ["lower half", "upper half"],
            (_, 2) => ["x", "y"],
            _ => ["x", ""],
        };
        for (name, operand) in names.iter().zip(&self.operands) {
            line(&mut text, 2, name, &shown(*operand));
        }
        for step in &self.steps {
            text.push('\n');
            one_step(&mut text, step);
        }
        text.push('\n');
        for compared in &self.results {
            result(&mut text, compared);
        }
        text
    }

    /// As JSON. Numbers that JSON does not have are null.
    pub fn json(&self) -> Json {
        let steps: Vec<Json> = self.steps.iter().map(step_json).collect();
        let compared = |compared: &ComparedResult| {
            json!({
                "bits": hex(compared.result),
                "value": compared.result.number(),
                "exact": compared.exact,
                "nearest_bits": hex(compared.nearest()),
                "error_ulp": compared.ulps(),
            })
        };
        let mut results = self.results.iter().map(compared);
        let mut object = json!({
            "opcode": self.opcode.name,
            "operands": self.operands.iter().map(|operand| value_json(*operand)).collect::<Vec<_>>(),
            "steps": steps,
            "result": results.next(),
        });
        if let Some(upper) = results.next() {
            object["result_of_upper_half"] = upper;
        }
        object
    }
}

/// A label and its value.
fn line(text: &mut String, indent: usize, label: &str, says: &str) {
    let width = 20 - indent;
    let _ = writeln!(text, "{:indent$}{label:<width$} {says}", "");
}

fn one_step(text: &mut String, step: &Step) {
    let _ = writeln!(text, "  {}", step.instruction);
    if let (Some(operand), Some(_)) = (step.operand, step.interpolation) {
        line(text, 4, "operand", &shown(operand));
    }
    if let Some(reduction) = step.reduction {
        let (says, field, chosen_by) = reduced(reduction);
        line(text, 4, "reduced", &says);
        let bits = format!("{field:023b}");
        let (segment, rest) = bits.split_at(chosen_by as usize);
        let argument_bits = step
            .interpolation
            .map_or(0, |found| found.argument_bits as usize);
        let (argument, unread) = rest.split_at(argument_bits.min(rest.len()));
        let unread = match unread {
            "" => String::new(),
            bits => format!(" {bits} (not read)"),
        };
        line(text, 4, "23 bits", &format!("{segment} {argument}{unread}"));
    }
    if let Some(interpolation) = &step.interpolation {
        polynomial(text, interpolation);
    }
    let note = match (step.operand, step.interpolation) {
        (Some(_), Some(_)) => ", cut off",
        (Some(_), None) => ", without a polynomial",
        (None, _) => "",
    };
    line(text, 4, "result", &format!("{}{note}", shown(step.result)));
}

/// The reduced argument, its 23 bits, and how many of them select the segment.
fn reduced(reduction: Reduction) -> (String, u32, u32) {
    match reduction {
        Reduction::FixedPoint { whole, fraction } => (
            format!("{whole} + {fraction} x 2^-23; {whole} is the result's exponent"),
            fraction,
            6,
        ),
        Reduction::Significand {
            mantissa,
            exponent,
            chosen_by,
        } => (
            format!("(1 + {mantissa} x 2^-23) x 2^{exponent}"),
            mantissa,
            chosen_by,
        ),
        Reduction::EvenExponent {
            mantissa,
            odd,
            half,
        } => (
            format!(
                "(1 + {mantissa} x 2^-23) x {} x 4^{half}",
                if odd { 2 } else { 1 }
            ),
            mantissa,
            6,
        ),
        Reduction::Angle { quarter, offset } => {
            let from = match quarter % 2 {
                0 => "after its beginning",
                _ => "before its end",
            };
            (
                format!("quarter {quarter} of a revolution, {offset} x 2^-25 {from}"),
                offset,
                6,
            )
        }
    }
}

fn polynomial(text: &mut String, found: &Interpolation) {
    let Interpolation {
        segment,
        segments,
        coefficients: [c0, c1, c2],
        argument,
        argument_bits,
        square,
        constant,
        sum,
    } = *found;
    line(text, 4, "segment", &format!("{segment} of {segments}"));
    line(
        text,
        4,
        "argument",
        &format!("{argument}, {argument_bits} bits"),
    );
    let upper = argument >> (argument_bits - 16);
    let exactly = f64::from(upper) * f64::from(upper) / f64::from(1 << 17);
    let says = format!("{square}; {upper}^2 / 2^17 is exactly {exactly:.3}");
    line(text, 4, "square", &says);
    line(text, 4, "sum", "in units of 2^-40");
    let (argument, square) = (i64::from(argument), i64::from(square));
    let terms = [
        (
            "c0",
            format!("{} x 2^14", signed(c0.into())),
            i64::from(c0) << 14,
        ),
        (
            "c1",
            format!("{} x argument", signed(c1.into())),
            i64::from(c1) * argument,
        ),
        (
            "c2",
            format!("{} x square", signed(c2.into())),
            i64::from(c2) * square,
        ),
        ("constant", String::new(), constant),
    ];
    for (name, factors, product) in terms {
        line(
            text,
            6,
            name,
            &format!("{factors:<22}{:>22}", signed(product)),
        );
    }
    line(
        text,
        6,
        "",
        &format!("{:<22}{:>22}", "", signed(sum as i64)),
    );
}

fn result(text: &mut String, compared: &ComparedResult) {
    line(text, 2, "result", &shown(compared.result));
    line(
        text,
        2,
        "in f64",
        &format!("{:<18} {}", "", plain(compared.exact)),
    );
    let nearest = compared.nearest();
    let says = match compared.ulps() {
        Some(_) if nearest.bits == compared.result.bits => "; it is the nearest number".to_owned(),
        Some(_) => format!("; the nearest number is {}", hex(nearest)),
        None => String::new(),
    };
    let error = match compared.ulps() {
        Some(ulps) => format!("{ulps:+.3} ulp"),
        None if compared.result.number() == compared.exact => "none".to_owned(),
        None if compared.result.number().is_nan() && compared.exact.is_nan() => "none".to_owned(),
        None => {
            let relative = (compared.result.number() - compared.exact).abs() / compared.exact.abs();
            match relative.is_finite() {
                true => format!("2^{:.1} of the result", relative.log2()),
                false => "undefined for an infinity or NaN".to_owned(),
            }
        }
    };
    line(text, 2, "error", &format!("{error}{says}"));
}

fn signed(number: i64) -> String {
    let sign = if number < 0 { "-" } else { "" };
    format!("{sign}{}", thousands(number.unsigned_abs()))
}

/// Bits and number.
fn shown(value: Value) -> String {
    format!("{:<18} {}", hex(value), plain(value.number()))
}

fn hex(value: Value) -> String {
    let digits = value.format.bits() as usize / 4;
    format!("0x{:0digits$x}", value.bits)
}

/// With an exponent where zeros would be many.
fn plain(value: f64) -> String {
    match value.abs() {
        magnitude
            if magnitude != 0.0 && magnitude.is_finite() && !(1e-4..1e16).contains(&magnitude) =>
        {
            format!("{value:e}")
        }
        _ => value.to_string(),
    }
}

fn value_json(value: Value) -> Json {
    json!({ "bits": hex(value), "value": value.number() })
}

fn step_json(step: &Step) -> Json {
    let mut object = json!({
        "instruction": step.instruction,
        "operand": step.operand.map(value_json),
        "result": value_json(step.result),
    });
    if let Some(reduction) = step.reduction {
        object["reduced"] = reduced(reduction).0.into();
    }
    if let Some(found) = step.interpolation {
        object["segment"] = found.segment.into();
        object["segments"] = found.segments.into();
        object["coefficients"] = json!(found.coefficients);
        object["argument"] = found.argument.into();
        object["argument_bits"] = found.argument_bits.into();
        object["square"] = found.square.into();
        object["constant"] = found.constant.into();
        object["sum"] = found.sum.into();
    }
    object
}
