//! An approximate instruction's name, operands and mathematical function.
use anyhow::{Context, Result, bail, ensure};
use emulator::approximate::{self, Format, Value};

/// An approximate instruction.
#[derive(Clone, Copy)]
pub struct Opcode {
    /// The opcode, as PTX spells it.
    pub name: &'static str,
    /// The format of its operands and its result.
    pub format: Format,
    /// Whether a register holds a packed pair of operands.
    pub is_pair: bool,
}

/// All opcodes, one line for each function.
pub fn list() -> String {
    let mut lines: Vec<String> = Vec::new();
    for name in approximate::opcodes() {
        match lines.last_mut() {
            Some(line) if line.split('.').next() == name.split('.').next() => {
                *line += &format!(" {name}");
            }
            _ => lines.push(name.to_owned()),
        }
    }
    lines.join("\n") + "\n"
}

impl Opcode {
    /// The opcode of this name.
    pub fn find(name: &str) -> Result<Self> {
        let found = approximate::opcodes().find(|opcode| *opcode == name);
        let Some(name) = found else {
            let function = name.split('.').next().unwrap_or_default();
            let same =
                approximate::opcodes().filter(|opcode| opcode.split('.').next() == Some(function));
            let same: Vec<&str> = same.collect();
            match same[..] {
                [] => bail!(
                    "there is no approximate instruction `{name}`; `cargo ladder approximate list` prints all of them, such as ex2.approx.ftz.f32"
                ),
                _ => bail!("there is no `{name}`; there are {}", same.join(", ")),
            }
        };
        let last = name.rsplit('.').next().unwrap_or_default();
        let (format, is_pair) = match last {
            "f16" => (Format::F16, false),
            "f16x2" => (Format::F16, true),
            "bf16" => (Format::Bf16, false),
            "bf16x2" => (Format::Bf16, true),
            "f64" => (Format::F64, false),
            _ => (Format::F32, false),
        };
        Ok(Self {
            name,
            format,
            is_pair,
        })
    }

    fn function(self) -> &'static str {
        self.name.split('.').next().unwrap_or_default()
    }

    /// Whether it reads two registers.
    pub fn is_division(self) -> bool {
        self.function() == "div"
    }

    /// The function in mathematical notation.
    pub fn formula(self) -> &'static str {
        match self.function() {
            "ex2" => "2^x",
            "lg2" => "log2(x)",
            "rcp" => "1/x",
            "rsqrt" => "1/sqrt(x)",
            "sqrt" => "sqrt(x)",
            "sin" => "sin(x)",
            "cos" => "cos(x)",
            "tanh" => "tanh(x)",
            _ => "x/y",
        }
    }

    /// The function in f64.
    pub fn exactly(self, x: f64, y: f64) -> f64 {
        match self.function() {
            "ex2" => x.exp2(),
            "lg2" => x.log2(),
            "rcp" => x.recip(),
            "rsqrt" => x.sqrt().recip(),
            "sqrt" => x.sqrt(),
            "sin" => x.sin(),
            "cos" => x.cos(),
            "tanh" => x.tanh(),
            _ => x / y,
        }
    }

    /// Parses the operands.
    pub fn operands(self, words: &[String]) -> Result<Vec<Value>> {
        let (wanted, what) = match (self.is_division(), self.is_pair) {
            (true, _) => (2, "two numbers, dividend and divisor"),
            (_, true) => (2, "two numbers, the lower half first"),
            _ => (1, "a number"),
        };
        ensure!(
            words.len() == wanted,
            "{} takes {what}; {} given, for example: approximate {}{}",
            self.name,
            if words.len() == 1 {
                "one is".to_owned()
            } else {
                format!("{} are", words.len())
            },
            self.name,
            " 0.3".repeat(wanted)
        );
        words.iter().map(|word| self.operand(word)).collect()
    }

    /// A number in the operand's format: decimal, a power of two, or bits.
    pub fn operand(self, text: &str) -> Result<Value> {
        let format = self.format;
        let bits = match text.trim().strip_prefix("0x") {
            Some(digits) => {
                let bits = u64::from_str_radix(digits, 16).ok();
                let fits = |bits: &u64| format.bits() == 64 || bits >> format.bits() == 0;
                let bits = bits.filter(fits);
                bits.with_context(|| {
                    format!(
                        "`{text}`: an operand of {} has {} bits",
                        self.name,
                        format.bits()
                    )
                })?
            }
            None => format.nearest(number(text)?),
        };
        Ok(Value { bits, format })
    }
}

/// `0.3`, `-2^-13`, `inf`.
fn number(text: &str) -> Result<f64> {
    let text = text.trim();
    let (sign, magnitude) = match text.strip_prefix('-') {
        Some(magnitude) => (-1.0, magnitude),
        None => (1.0, text),
    };
    let found = match magnitude.strip_prefix("2^") {
        Some(power) => power.parse().ok().map(|power: i32| 2f64.powi(power)),
        None => emulator::parse_f64(magnitude),
    };
    let found = found.with_context(|| {
        format!("`{text}` is not a number: write 0.3, 2^-13, inf, or bits such as 0x3e99999a")
    })?;
    Ok(sign * found)
}
