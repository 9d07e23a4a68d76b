//! Decimal numbers as `f64`. The standard library's parser has a table of 10 KB that cannot be compressed: in the book's WebAssembly
//! module, which readers download, a slow one takes its place.

/// The nearest `f64`, as `str::parse` reads it; none if the text is not a number.
pub fn parse_f64(text: &str) -> Option<f64> {
    #[cfg(not(target_family = "wasm"))]
    return text.parse().ok();
    #[cfg(target_family = "wasm")]
    digit_by_digit(text)
}

/// A power of ten; one that no `i64` holds is as good as the largest.
#[cfg(any(test, target_family = "wasm"))]
fn exponent_of(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let power = digits.parse::<i64>().unwrap_or(i64::MAX);
    Some(if negative { -power } else { power })
}

/// Halves or doubles the number, exactly, until its integer part has the 53 bits of a mantissa.
#[cfg(any(test, target_family = "wasm"))]
fn digit_by_digit(text: &str) -> Option<f64> {
    let (sign, unsigned) = match text.strip_prefix('-') {
        Some(unsigned) => (-1.0, unsigned),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    match unsigned.to_ascii_lowercase().as_str() {
        "inf" | "infinity" => return Some(sign * f64::INFINITY),
        "nan" => return Some(f64::NAN.copysign(sign)),
        _ => {}
    }
    let (number, power) = match unsigned.split_once(['e', 'E']) {
        Some((number, power)) => (number, exponent_of(power)?),
        None => (unsigned, 0),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = [whole, fraction].concat();
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let leading = digits.bytes().take_while(|digit| *digit == b'0').count();
    let mut number = Decimal {
        digits: digits
            .bytes()
            .skip(leading)
            .map(|digit| digit - b'0')
            .collect(),
        point: (whole.len() as i64 - leading as i64).saturating_add(power),
    };
    if number.digits.is_empty() || number.point < -330 {
        return Some(sign * 0.0);
    }
    if number.point > 310 {
        return Some(sign * f64::INFINITY);
    }
    let mut exponent = 0;
    while number.point > 17 || number.whole() >= 1 << 53 {
        number.halve();
        exponent += 1;
    }
    while number.whole() < 1 << 52 && exponent > -1074 {
        number.double();
        exponent -= 1;
    }
    let mantissa = number.rounded();
    Some(
        sign * match exponent {
            972.. => f64::INFINITY,
            -1022.. => mantissa as f64 * f64::from_bits(((exponent + 1023) as u64) << 52),
            -1073.. => mantissa as f64 * f64::from_bits(1 << (exponent + 1074)),
            _ => f64::from_bits(mantissa),
        },
    )
}

/// `0.d0 d1 d2 …` times a power of ten.
#[cfg(any(test, target_family = "wasm"))]
struct Decimal {
    digits: Vec<u8>,
    /// Digits before the decimal point.
    point: i64,
}

#[cfg(any(test, target_family = "wasm"))]
impl Decimal {
    /// The integer part, which has at most 18 digits.
    fn whole(&self) -> u64 {
        (0..self.point).fold(0, |whole, at| {
            10 * whole + u64::from(self.digits.get(at as usize).copied().unwrap_or(0))
        })
    }

    /// The nearest integer, or the even one of two.
    fn rounded(&self) -> u64 {
        let whole = self.whole();
        let after = usize::try_from(self.point)
            .ok()
            .and_then(|point| self.digits.get(point..));
        let up = match after {
            Some([5, rest @ ..]) => whole % 2 == 1 || rest.iter().any(|digit| *digit > 0),
            Some([first, ..]) => *first > 5,
            _ => false,
        };
        whole + u64::from(up)
    }

    fn halve(&mut self) {
        let mut carry = 0;
        for digit in &mut self.digits {
            let value = 10 * carry + *digit;
            (*digit, carry) = (value / 2, value % 2);
        }
        if carry > 0 {
            self.digits.push(5);
        }
        if self.digits[0] == 0 {
            self.digits.remove(0);
            self.point -= 1;
        }
    }

    fn double(&mut self) {
        let mut carry = 0;
        for digit in self.digits.iter_mut().rev() {
            let value = 2 * *digit + carry;
            (*digit, carry) = (value % 10, value / 10);
        }
        if carry > 0 {
            self.digits.insert(0, carry);
            self.point += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::digit_by_digit;

    #[test]
    fn every_number_is_the_one_of_the_standard_library() {
        let mut texts: Vec<String> = [
            "",
            ".",
            "1",
            "-0",
            "+.5",
            "5.",
            "0.1",
            "1e5",
            "1E-5",
            "1e",
            "e1",
            "1.5.5",
            "0x10",
            "inf",
            "-Infinity",
            "NaN",
            "1 ",
            "9007199254740993",
            "9007199254740992.5",
            "9007199254740995",
            "1.7976931348623157e308",
            "1.7976931348623159e308",
            "1e309",
            "4.9e-324",
            "2.4703282292062327e-324",
            "2.4703282292062328e-324",
            "2.2250738585072011e-308",
            "2.2250738585072014e-308",
            "1e-400",
            "1e400",
            "1e99999999999999999999",
            "1e-99999999999999999999",
            "-nan",
            "0e999",
            "179769313486231570000000000000000000000",
        ]
        .map(String::from)
        .into();
        let mut state = 1u64;
        for _ in 0..2000 {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let bits = state ^ state >> 29;
            texts.push(format!("{:e}", f64::from_bits(bits)));
            texts.push(format!("{}.{}", bits >> 40, bits & 0xffff_ffff));
        }
        for text in texts {
            let [ours, theirs] = [digit_by_digit(&text), text.parse().ok()]
                .map(|found: Option<f64>| found.map(f64::to_bits));
            assert_eq!(ours, theirs, "{text}");
        }
    }
}
