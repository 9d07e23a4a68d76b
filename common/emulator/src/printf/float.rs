//! Formats finite, non-negative floating-point numbers as C's `printf` does.

/// Digits after the decimal point without an explicit precision (C17, 7.21.6.1).
const DIGITS: usize = 6;

/// `%f`
pub(super) fn fixed(value: f64, precision: Option<usize>, alternate: bool) -> String {
    let precision = precision.unwrap_or(DIGITS);
    let point = match alternate && precision == 0 {
        true => ".",
        false => "",
    };
    format!("{value:.precision$}{point}")
}

/// `%e`
pub(super) fn exponent(value: f64, precision: Option<usize>, alternate: bool) -> String {
    let precision = precision.unwrap_or(DIGITS);
    let (digits, exponent) = scientific(value, precision);
    let point = match alternate && precision == 0 {
        true => ".",
        false => "",
    };
    format!("{digits}{point}{}", signed(exponent))
}

/// `%g`: `%f` or `%e`, without trailing zeros.
pub(super) fn general(value: f64, precision: Option<usize>, alternate: bool) -> String {
    let significant = precision.unwrap_or(DIGITS).max(1);
    let (digits, exponent) = scientific(value, significant - 1);
    let fits = exponent >= -4 && exponent < i32::try_from(significant).unwrap_or(i32::MAX);
    let (digits, exponent) = match fits {
        true => {
            let behind = significant as i64 - 1 - i64::from(exponent);
            let behind = usize::try_from(behind).unwrap_or(0);
            (format!("{value:.behind$}"), String::new())
        }
        false => (digits, signed(exponent)),
    };
    let digits = match (digits.contains('.'), alternate) {
        (true, true) => digits,
        (false, true) => digits + ".",
        (true, false) => digits.trim_end_matches('0').trim_end_matches('.').into(),
        (false, false) => digits,
    };
    digits + &exponent
}

/// `%a` without its `0x`.
pub(super) fn hexadecimal(value: f64, precision: Option<usize>, alternate: bool) -> String {
    const FRACTION: u32 = 52;
    let bits = value.to_bits();
    let (field, fraction) = ((bits >> FRACTION) as i32, bits & ((1 << FRACTION) - 1));
    let (mut significand, exponent) = match (field, fraction) {
        (0, 0) => (0, 0),
        (0, fraction) => (fraction, -1022),
        (field, fraction) => (fraction | 1 << FRACTION, field - 1023),
    };
    let digits = match precision {
        Some(digits) if digits < 13 => {
            // Rounds to nearest, ties to even, as glibc does.
            let cut = FRACTION - 4 * digits as u32;
            let (half, rest) = (1u64 << (cut - 1), significand & ((1 << cut) - 1));
            significand >>= cut;
            significand += u64::from(rest > half || rest == half && significand & 1 == 1);
            significand <<= cut;
            digits
        }
        Some(digits) => digits,
        None => {
            let zeros = (significand | 1 << FRACTION).trailing_zeros();
            13 - (zeros.min(FRACTION) / 4) as usize
        }
    };
    let whole = significand >> FRACTION;
    let fraction = format!("{:013x}", significand & ((1 << FRACTION) - 1));
    let shown = match digits > fraction.len() {
        true => fraction.clone() + &"0".repeat(digits - fraction.len()),
        false => fraction[..digits].to_owned(),
    };
    let point = match digits > 0 || alternate {
        true => ".",
        false => "",
    };
    format!("{whole}{point}{shown}p{exponent:+}")
}

/// The digits of scientific notation with `precision` digits after the point, and the exponent.
fn scientific(value: f64, precision: usize) -> (String, i32) {
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (digits.into(), exponent.parse().unwrap_or(0))
}

/// An exponent of at least two digits.
fn signed(exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("e{sign}{:02}", exponent.unsigned_abs())
}
