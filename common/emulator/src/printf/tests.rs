use super::*;

/// Arguments consecutive in memory, and texts by number.
struct Given {
    bytes: Vec<u8>,
    texts: Vec<&'static str>,
}

impl Arguments for Given {
    type Error = String;
    fn value(&mut self, offset: u64, bytes: u32) -> Result<u64, String> {
        let (at, bytes) = (offset as usize, bytes as usize);
        let found = self.bytes.get(at..at + bytes).ok_or("no argument left")?;
        let mut value = [0; 8];
        value[..bytes].copy_from_slice(found);
        Ok(u64::from_le_bytes(value))
    }
    fn text(&mut self, address: u64) -> Result<Vec<u8>, String> {
        let text = self
            .texts
            .get((address as usize).wrapping_sub(1))
            .ok_or("no text")?;
        Ok(text.as_bytes().to_vec())
    }
}

fn printed(text: &str, bytes: Vec<u8>) -> Result<(String, usize), String> {
    let texts = vec!["one", "two"];
    let (out, read) = format(text.as_bytes(), &mut Given { bytes, texts })?;
    Ok((String::from_utf8_lossy(&out).into_owned(), read))
}

/// Integers, one after the other.
fn ints(text: &str, values: &[i32]) -> String {
    let bytes = values.iter().flat_map(|value| value.to_le_bytes());
    printed(text, bytes.collect()).expect(text).0
}

/// Output of glibc on x86-64: format, bytes of the argument, its bits, the text.
#[test]
fn conversions_are_glibcs() {
    for row in include_str!("glibc.tsv").lines().skip(1) {
        let [text, bytes, value, expected] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{row}");
        };
        let value = u64::from_str_radix(value, 16).expect(row).to_le_bytes();
        let bytes: usize = bytes.parse().expect(row);
        let found = printed(text, value[..bytes].to_vec()).expect(row);
        assert_eq!(found, (expected.to_owned(), 1), "{row}");
    }
}

#[test]
fn arguments_are_aligned_to_their_size() {
    let mut bytes = 7i32.to_le_bytes().to_vec();
    bytes.resize(8, 0xee);
    bytes.extend(1.5f64.to_le_bytes());
    bytes.extend(2u64.to_le_bytes());
    bytes.extend([b'x', 0, 0, 0]);
    let (text, read) = printed("%d %g <%s> %c%%\n", bytes).expect("all are there");
    assert_eq!((text.as_str(), read), ("7 1.5 <two> x%\n", 4));
}

#[test]
fn widths_and_precisions_may_be_arguments() {
    assert_eq!(ints("%*d|", &[5, 42]), "   42|");
    assert_eq!(ints("%*d|", &[-5, 42]), "42   |");
    assert_eq!(ints("%.*d", &[3, 42]), "042");
    assert_eq!(ints("%.*d", &[-3, 42]), "42");
    let mut bytes = 2i32.to_le_bytes().to_vec();
    bytes.resize(8, 0);
    bytes.extend(1u64.to_le_bytes());
    assert_eq!(printed("%.*s|", bytes), Ok(("on|".into(), 2)));
    assert_eq!(printed("%s", vec![0; 8]), Ok(("(null)".into(), 1)));
}

#[test]
fn more_than_32_arguments_are_printed_as_they_are_written() {
    let values: Vec<i32> = (0..40).collect();
    let text = ints(&"%d,".repeat(34), &values);
    assert!(text.ends_with("30,31,%d,%d,"), "{text}");
    let text = ints(&("%d,".repeat(31) + "%*d."), &values);
    assert!(text.ends_with("29,30,%*d."), "{text}");
}

#[test]
fn an_invalid_specifier_is_printed() {
    for text in ["100%", "% ", "%y", "%-05", "%.q", "%lls%", "%n"] {
        let found = printed(text, vec![0; 64]).expect(text).0;
        let expected = match text {
            "%lls%" => "(null)%",
            other => other,
        };
        assert_eq!(found, expected);
    }
    assert_eq!(printed("%d", Vec::new()), Err("no argument left".into()));
}

#[test]
fn no_format_asks_for_much() {
    assert_eq!(ints("%999999999999d", &[1]).len(), spec::MOST_CHARACTERS);
    assert_eq!(ints("%.99999999d", &[1]).len(), spec::MOST_CHARACTERS);
    assert_eq!(ints("%*d", &[i32::MIN, 1]).len(), spec::MOST_CHARACTERS);
    let huge = printed("%.99999999f %.9999a", [1e308f64.to_le_bytes(); 2].concat());
    assert!(huge.expect("two numbers").0.len() < 9000);
}

/// Arbitrary bytes are formatted without a panic.
#[test]
fn no_format_panics() {
    let mut state = 7;
    let alphabet = b"%%%%.*-+ 0#123456789hlzdiuoxXcspfeEgGaA\x00\xff";
    for _ in 0..20_000 {
        let mut next = || crate::random::random(&mut state);
        let length = next() % 24;
        let text: Vec<u8> = (0..length)
            .map(|_| alphabet[next() as usize % alphabet.len()])
            .collect();
        let bytes = (0..64).map(|_| next() as u8).collect();
        let texts = vec!["text"];
        let _ = format(&text, &mut Given { bytes, texts });
    }
}
