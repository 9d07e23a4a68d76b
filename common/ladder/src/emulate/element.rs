//! Element types, and numbers as text, as bytes, and as comparable values.
use std::fmt;

use half::{bf16, f16};

/// The type of a buffer's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    F16,
    Bf16,
    F32,
    F64,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
}

/// A number read from memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    Float(f64),
    Int(i128),
}

impl Value {
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Float(value) => value,
            Self::Int(value) => value as f64,
        }
    }
}

/// The shortest text that parses to the same f64; integers in full.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Float(value) if value.is_nan() => f.write_str("nan"),
            Self::Float(value) if *value == 0.0 || (1e-4..1e7).contains(&value.abs()) => {
                write!(f, "{value}")
            }
            Self::Float(value) => write!(f, "{value:e}"),
            Self::Int(value) => write!(f, "{value}"),
        }
    }
}

impl Element {
    pub const ALL: [Self; 12] = [
        Self::F16,
        Self::Bf16,
        Self::F32,
        Self::F64,
        Self::I8,
        Self::U8,
        Self::I16,
        Self::U16,
        Self::I32,
        Self::U32,
        Self::I64,
        Self::U64,
    ];

    /// The type's name in arguments.
    pub fn name(self) -> &'static str {
        match self {
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::I8 => "i8",
            Self::U8 => "u8",
            Self::I16 => "i16",
            Self::U16 => "u16",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U64 => "u64",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|element| element.name() == name)
    }

    pub fn bytes(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::F16 | Self::Bf16 | Self::I16 | Self::U16 => 2,
            Self::F32 | Self::I32 | Self::U32 => 4,
            Self::F64 | Self::I64 | Self::U64 => 8,
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }

    /// The smallest and the largest integer; none for floats.
    fn range(self) -> Option<(i128, i128)> {
        let (bits, signed) = match self {
            Self::F16 | Self::Bf16 | Self::F32 | Self::F64 => return None,
            Self::I8 | Self::I16 | Self::I32 | Self::I64 => (8 * self.bytes(), true),
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => (8 * self.bytes(), false),
        };
        Some(match signed {
            true => (-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            false => (0, (1 << bits) - 1),
        })
    }

    /// Parses a number, rounded to the nearest that the type has.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn read(self, text: &str) -> Result<Vec<u8>, String> {
        match self.range() {
            None => {
                let value = float(text).ok_or_else(|| format!("`{text}` is not a number"))?;
                Ok(self.of_f64(value))
            }
            Some((least, most)) => {
                let value = integer(text).ok_or_else(|| format!("`{text}` is not an integer"))?;
                if value < least || value > most {
                    let name = self.name();
                    return Err(format!(
                        "{text} is out of range for {name}, which is {least} to {most}"
                    ));
                }
                Ok(value.to_le_bytes()[..self.bytes()].to_vec())
            }
        }
    }

    /// The nearest value of the type, ties to even; for integer types, as `as` converts.
    pub fn of_f64(self, value: f64) -> Vec<u8> {
        match self {
            Self::F16 => f16::from_f64(value).to_le_bytes().to_vec(),
            Self::Bf16 => bf16::from_f64(value).to_le_bytes().to_vec(),
            Self::F32 => (value as f32).to_le_bytes().to_vec(),
            Self::F64 => value.to_le_bytes().to_vec(),
            Self::I8
            | Self::I16
            | Self::I32
            | Self::I64
            | Self::U8
            | Self::U16
            | Self::U32
            | Self::U64 => self.of_int(value as i128),
        }
    }

    /// Converts an integer; it wraps around if the type is too small.
    pub fn of_int(self, value: i128) -> Vec<u8> {
        match self.is_float() {
            true => self.of_f64(value as f64),
            false => value.to_le_bytes()[..self.bytes()].to_vec(),
        }
    }

    /// The value in these bytes, as many as the type has.
    pub fn value(self, bytes: &[u8]) -> Value {
        let mut word = [0; 8];
        let length = bytes.len().min(8);
        word[..length].copy_from_slice(&bytes[..length]);
        let bits = u64::from_le_bytes(word);
        match self {
            Self::F16 => Value::Float(f16::from_bits(bits as u16).to_f64()),
            Self::Bf16 => Value::Float(bf16::from_bits(bits as u16).to_f64()),
            Self::F32 => Value::Float(f32::from_bits(bits as u32).into()),
            Self::F64 => Value::Float(f64::from_bits(bits)),
            Self::I8 => Value::Int((bits as i8).into()),
            Self::I16 => Value::Int((bits as i16).into()),
            Self::I32 => Value::Int((bits as i32).into()),
            Self::I64 => Value::Int((bits as i64).into()),
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => Value::Int(bits.into()),
        }
    }

    /// All values in these bytes.
    pub fn values(self, bytes: &[u8]) -> impl ExactSizeIterator<Item = Value> {
        bytes
            .chunks_exact(self.bytes())
            .map(move |bytes| self.value(bytes))
    }
}

/// `0.5`, `-1e-3`, `inf`, `nan`
pub fn float(text: &str) -> Option<f64> {
    text.trim().parse().ok()
}

/// `-12`, `0x1f`, `true`
pub fn integer(text: &str) -> Option<i128> {
    let text = text.trim();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x") {
        _ if text == "true" => 1,
        _ if text == "false" => 0,
        Some(digits) => i128::from(u64::from_str_radix(digits, 16).ok()?),
        None if digits.starts_with(|c: char| c.is_ascii_digit()) => digits.parse::<i128>().ok()?,
        None => return None,
    };
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_and_bounded() {
        let value = |element: Element, text| {
            element
                .read(text)
                .map(|bytes| element.value(&bytes).to_string())
        };
        assert_eq!(value(Element::F16, "0.1"), Ok("0.0999755859375".into()));
        assert_eq!(value(Element::Bf16, "0.1"), Ok("0.10009765625".into()));
        assert_eq!(
            value(Element::F32, "1e-40"),
            Ok("9.99994610111476e-41".into())
        );
        assert_eq!(value(Element::F32, "nan"), Ok("nan".into()));
        assert_eq!(value(Element::F64, "-inf"), Ok("-inf".into()));
        assert_eq!(value(Element::I8, "-128"), Ok("-128".into()));
        assert_eq!(value(Element::U8, "0xff"), Ok("255".into()));
        assert_eq!(
            value(Element::U64, "18446744073709551615"),
            Ok("18446744073709551615".into())
        );
        assert_eq!(
            value(Element::U8, "-1"),
            Err("-1 is out of range for u8, which is 0 to 255".into())
        );
        assert_eq!(
            value(Element::I32, "0.5"),
            Err("`0.5` is not an integer".into())
        );
        assert_eq!(value(Element::F32, "x"), Err("`x` is not a number".into()));
    }

    #[test]
    fn names_and_sizes() {
        for element in Element::ALL {
            assert_eq!(Element::parse(element.name()), Some(element));
            assert_eq!(element.of_int(1).len(), element.bytes());
            assert_eq!(element.value(&element.of_int(7)).as_f64(), 7.0);
        }
        assert_eq!(Element::I8.of_int(-3), [253]);
        assert_eq!(integer("--1"), None);
        assert_eq!(integer("-0x10"), Some(-16));
        assert_eq!(integer(&"9".repeat(99)), None);
    }
}
