//! Number tokens (PTX ISA, "Constants").

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Int(u64),
    F32(u32),
    F64(u64),
}

pub(crate) fn parse(text: &str) -> Option<Number> {
    let lower = text.to_ascii_lowercase();
    if let Some(hex) = lower.strip_prefix("0f") {
        let bits = u32::from_str_radix(hex, 16).ok();
        return bits.filter(|_| hex.len() == 8).map(Number::F32);
    }
    if let Some(hex) = lower.strip_prefix("0d") {
        let bits = u64::from_str_radix(hex, 16).ok();
        return bits.filter(|_| hex.len() == 16).map(Number::F64);
    }
    if lower.contains('.') {
        let value = crate::parse_f64(&lower)?;
        return Some(Number::F64(value.to_bits()));
    }
    let digits = lower.strip_suffix('u').unwrap_or(&lower);
    let (digits, radix) = match digits {
        d if d.starts_with("0x") => (&d[2..], 16),
        d if d.starts_with("0b") => (&d[2..], 2),
        d if d.len() > 1 && d.starts_with('0') => (&d[1..], 8),
        d => (d, 10),
    };
    u64::from_str_radix(digits, radix).ok().map(Number::Int)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_notation() {
        assert_eq!(parse("12"), Some(Number::Int(12)));
        assert_eq!(parse("0x1fU"), Some(Number::Int(31)));
        assert_eq!(parse("010"), Some(Number::Int(8)));
        assert_eq!(parse("0b101"), Some(Number::Int(5)));
        assert_eq!(parse("0f3F800000"), Some(Number::F32(0x3f80_0000)));
        assert_eq!(
            parse("0d3FF0000000000000"),
            Some(Number::F64(0x3ff0_0000_0000_0000))
        );
        assert_eq!(parse("0f3F8"), None);
        assert_eq!(parse("99999999999999999999999"), None);
    }
}
