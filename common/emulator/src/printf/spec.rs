//! One conversion specifier, and how it formats integers.
use super::{Text, float};

/// The largest width or precision, a bound for hostile formats.
pub(super) const MOST_CHARACTERS: usize = 4096;

/// A width or a precision.
#[derive(Clone, Copy)]
pub(super) enum Count {
    Number(u32),
    /// `*`: the next argument.
    Argument,
}

/// `%[flags][width][.precision][size]conversion`
pub(super) struct Spec {
    pub left: bool,
    plus: bool,
    space: bool,
    zeros: bool,
    alternate: bool,
    pub width: Option<Count>,
    pub precision: Option<Count>,
    size: Size,
    pub conversion: u8,
}

/// The size of an integer argument.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    /// `hh`
    Char,
    /// `h`
    Short,
    Int,
    /// `l`, `ll`, `j`, `z`, `t`
    Long,
}

impl Spec {
    /// Parses the specifier after a `%`, and returns the text after it; `None` if it is not a specifier.
    pub fn parse(mut text: &[u8]) -> Option<(Self, &[u8])> {
        let mut spec = Self {
            left: false,
            plus: false,
            space: false,
            zeros: false,
            alternate: false,
            width: None,
            precision: None,
            size: Size::Int,
            conversion: 0,
        };
        while let Some((&flag, rest)) = text.split_first() {
            match flag {
                b'-' => spec.left = true,
                b'+' => spec.plus = true,
                b' ' => spec.space = true,
                b'0' => spec.zeros = true,
                b'#' => spec.alternate = true,
                _ => break,
            }
            text = rest;
        }
        (spec.width, text) = count(text);
        if let Some(rest) = text.strip_prefix(b".") {
            let precision;
            (precision, text) = count(rest);
            // A point without digits is a precision of 0.
            spec.precision = Some(precision.unwrap_or(Count::Number(0)));
        }
        let sizes: [(&[u8], Size); 7] = [
            (b"hh", Size::Char),
            (b"h", Size::Short),
            (b"ll", Size::Long),
            (b"l", Size::Long),
            (b"j", Size::Long),
            (b"z", Size::Long),
            (b"t", Size::Long),
        ];
        for (name, size) in sizes {
            if let Some(rest) = text.strip_prefix(name) {
                (spec.size, text) = (size, rest);
                break;
            }
        }
        let (&conversion, rest) = text.split_first()?;
        spec.conversion = conversion;
        b"%diouxXcspfFeEgGaA"
            .contains(&conversion)
            .then_some((spec, rest))
    }

    /// The number of arguments that it takes.
    pub fn arguments(&self) -> usize {
        let stars = [self.width, self.precision];
        let stars = stars.iter().filter(|c| matches!(c, Some(Count::Argument)));
        1 + stars.count()
    }

    /// Bytes of the argument.
    pub fn bytes(&self) -> u32 {
        match (self.conversion, self.size) {
            (b'd' | b'i' | b'o' | b'u' | b'x' | b'X', Size::Long) => 8,
            (b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'c', _) => 4,
            _ => 8,
        }
    }

    fn sign(&self, negative: bool) -> &'static str {
        match () {
            () if negative => "-",
            () if self.plus => "+",
            () if self.space => " ",
            () => "",
        }
    }

    pub fn signed(&self, value: u64, precision: Option<usize>) -> Text {
        let value = match self.size {
            Size::Char => i64::from(value as i8),
            Size::Short => i64::from(value as i16),
            Size::Int => i64::from(value as i32),
            Size::Long => value as i64,
        };
        let digits = value.unsigned_abs().to_string();
        self.integer(self.sign(value < 0), digits, precision)
    }

    pub fn unsigned(&self, value: u64, precision: Option<usize>) -> Text {
        let value = match self.size {
            Size::Char => u64::from(value as u8),
            Size::Short => u64::from(value as u16),
            Size::Int => u64::from(value as u32),
            Size::Long => value,
        };
        let (prefix, mut digits) = match self.conversion {
            b'x' => ("0x", format!("{value:x}")),
            b'X' => ("0X", format!("{value:X}")),
            b'o' => ("", format!("{value:o}")),
            _ => ("", value.to_string()),
        };
        let long_enough = precision.is_some_and(|n| n > digits.len());
        if self.alternate && self.conversion == b'o' && value != 0 && !long_enough {
            digits.insert(0, '0');
        }
        let prefix = match self.alternate && value != 0 {
            true => prefix,
            false => "",
        };
        let mut text = self.integer(prefix, digits, precision);
        if self.alternate && self.conversion == b'o' && text.body.is_empty() {
            text.body.push(b'0');
        }
        text
    }

    /// The precision is the minimum number of digits; 0 with precision 0 has no digits.
    fn integer(&self, prefix: &str, digits: String, precision: Option<usize>) -> Text {
        let digits = match precision {
            Some(0) if digits == "0" => String::new(),
            Some(least) => "0".repeat(least.saturating_sub(digits.len())) + &digits,
            None => digits,
        };
        Text {
            zeros: self.zeros && precision.is_none(),
            ..Text::number(prefix, digits)
        }
    }

    pub fn float(&self, value: f64, precision: Option<usize>) -> Text {
        let upper = self.conversion.is_ascii_uppercase();
        let magnitude = value.abs();
        let (mut prefix, mut digits) = match self.conversion.to_ascii_lowercase() {
            _ if value.is_nan() => ("", "nan".into()),
            _ if value.is_infinite() => ("", "inf".into()),
            b'f' => ("", float::fixed(magnitude, precision, self.alternate)),
            b'e' => ("", float::exponent(magnitude, precision, self.alternate)),
            b'g' => ("", float::general(magnitude, precision, self.alternate)),
            _ => (
                "0x",
                float::hexadecimal(magnitude, precision, self.alternate),
            ),
        };
        if upper {
            digits = digits.to_uppercase();
            prefix = if prefix.is_empty() { "" } else { "0X" };
        }
        let prefix = format!("{}{prefix}", self.sign(value.is_sign_negative()));
        Text {
            zeros: self.zeros && value.is_finite(),
            ..Text::number(&prefix, digits)
        }
    }
}

/// `*` or digits; a number that is too large is clamped.
fn count(text: &[u8]) -> (Option<Count>, &[u8]) {
    if let Some(rest) = text.strip_prefix(b"*") {
        return (Some(Count::Argument), rest);
    }
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(length);
    let number = digits.iter().fold(0u32, |number, digit| {
        number
            .saturating_mul(10)
            .saturating_add(u32::from(digit - b'0'))
    });
    ((length > 0).then_some(Count::Number(number)), rest)
}
