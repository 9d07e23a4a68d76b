//! `printf` in kernels: formats text from a format string and its arguments (CUDA C++ Programming Guide, "Formatted
//! Output"). With CUDA, the host's C library formats the output, so conversions follow C's rules, with glibc's `(nil)`
//! and `(null)`.
mod float;
mod spec;

use spec::{Count, Spec};

/// Arguments beyond this number are ignored, and their specifiers printed literally (same section).
const MOST_ARGUMENTS: usize = 32;

/// Access to the arguments.
pub(crate) trait Arguments {
    /// The error if an argument cannot be read.
    type Error;
    /// The value of `bytes` bytes at this offset, zero-extended.
    fn value(&mut self, offset: u64, bytes: u32) -> Result<u64, Self::Error>;
    /// The text at this address, without the terminating NUL.
    fn text(&mut self, address: u64) -> Result<Vec<u8>, Self::Error>;
}

/// Returns the text, and how many arguments were read.
pub(crate) fn format<A: Arguments>(
    mut format: &[u8],
    arguments: &mut A,
) -> Result<(Vec<u8>, usize), A::Error> {
    let (mut out, mut values) = (
        Vec::new(),
        Values {
            arguments,
            offset: 0,
            read: 0,
        },
    );
    while let Some((&byte, rest)) = format.split_first() {
        let Some((spec, after)) = (byte == b'%').then(|| Spec::parse(rest)).flatten() else {
            out.push(byte);
            format = rest;
            continue;
        };
        match spec.conversion {
            b'%' => out.push(b'%'),
            _ if values.read + spec.arguments() <= MOST_ARGUMENTS => {
                values.convert(&spec, &mut out)?;
            }
            _ => out.extend_from_slice(&format[..format.len() - after.len()]),
        }
        format = after;
    }
    Ok((out, values.read))
}

/// Reads the arguments one after the other.
struct Values<'a, A> {
    arguments: &'a mut A,
    offset: u64,
    read: usize,
}

impl<A: Arguments> Values<'_, A> {
    /// The next argument, which is aligned to its size: 4 bytes, or 8 for `double`, `long` and pointers.
    fn next(&mut self, bytes: u32) -> Result<u64, A::Error> {
        let at = self.offset.next_multiple_of(bytes.into());
        let value = self.arguments.value(at, bytes)?;
        self.offset = at + u64::from(bytes);
        self.read += 1;
        Ok(value)
    }

    /// A width or precision, which may be negative.
    fn count(&mut self, count: Option<Count>) -> Result<Option<i64>, A::Error> {
        Ok(match count {
            None => None,
            Some(Count::Number(number)) => Some(number.into()),
            Some(Count::Argument) => Some(i64::from(self.next(4)? as i32)),
        })
    }

    fn convert(&mut self, spec: &Spec, out: &mut Vec<u8>) -> Result<(), A::Error> {
        let width = self.count(spec.width)?.unwrap_or(0);
        let precision = self.count(spec.precision)?;
        let value = self.next(spec.bytes())?;
        // A negative precision counts as none, and a negative width as a flag `-` (C17, 7.21.6.1).
        let precision = precision.and_then(|n| usize::try_from(n).ok());
        let precision = precision.map(|n| n.min(spec::MOST_CHARACTERS));
        let text = match spec.conversion {
            b'c' => Text::plain(vec![value as u8]),
            b's' if value == 0 => Text::plain(b"(null)".to_vec()),
            b's' => {
                let mut text = self.arguments.text(value)?;
                text.truncate(precision.unwrap_or(usize::MAX));
                Text::plain(text)
            }
            b'p' if value == 0 => Text::plain(b"(nil)".to_vec()),
            b'p' => Text::number("0x", format!("{value:x}")),
            b'd' | b'i' => spec.signed(value, precision),
            b'u' | b'o' | b'x' | b'X' => spec.unsigned(value, precision),
            _ => spec.float(f64::from_bits(value), precision),
        };
        let left = spec.left || width < 0;
        let width = usize::try_from(width.unsigned_abs()).unwrap_or(usize::MAX);
        text.pad(width.min(spec::MOST_CHARACTERS), left, out);
        Ok(())
    }
}

/// A converted argument.
struct Text {
    /// Sign or `0x`, before the zeros that fill the width.
    prefix: String,
    body: Vec<u8>,
    /// Whether zeros fill the width.
    zeros: bool,
}

impl Text {
    fn plain(body: Vec<u8>) -> Self {
        Self {
            prefix: String::new(),
            body,
            zeros: false,
        }
    }

    fn number(prefix: &str, digits: String) -> Self {
        Self {
            prefix: prefix.into(),
            body: digits.into_bytes(),
            zeros: false,
        }
    }

    fn pad(self, width: usize, left: bool, out: &mut Vec<u8>) {
        let missing = width.saturating_sub(self.prefix.len() + self.body.len());
        let fill = |out: &mut Vec<u8>, byte| out.resize(out.len() + missing, byte);
        if !left && !self.zeros {
            fill(out, b' ');
        }
        out.extend_from_slice(self.prefix.as_bytes());
        if !left && self.zeros {
            fill(out, b'0');
        }
        out.extend_from_slice(&self.body);
        if left {
            fill(out, b' ');
        }
    }
}

#[cfg(test)]
mod tests;
