//! The coefficients, parsed from `coefficients.csv` at compile time.
//!
//! They were derived from an H200's results for all 2^23 mantissas of each function, which determine the coefficients
//! of every segment uniquely.
use super::interpolator::Segment;

const FILE: &[u8] = include_bytes!("coefficients.csv");

/// The segments of a function, in order.
pub(super) const fn of<const N: usize>(function: &str) -> [Segment; N] {
    let mut segments = [Segment::ZERO; N];
    let (mut at, mut count) = (0, 0);
    while at < FILE.len() {
        if starts_with(at, function.as_bytes()) {
            let (segment, after) = number(at + function.len() + 1);
            let (c0, after) = number(after);
            let (c1, after) = number(after);
            let (c2, _) = number(after);
            assert!(segment as usize == count, "segments are in their order");
            segments[count] = Segment { c0, c1, c2 };
            count += 1;
        }
        while FILE[at] != b'\n' {
            at += 1;
        }
        at += 1;
    }
    assert!(count == N, "a function has all of its segments");
    segments
}

/// Whether the line at this offset is of this function.
const fn starts_with(at: usize, function: &[u8]) -> bool {
    let mut i = 0;
    while i < function.len() && FILE[at + i] == function[i] {
        i += 1;
    }
    i == function.len() && FILE[at + i] == b','
}

/// The integer at this offset, and where the next field begins.
const fn number(mut at: usize) -> (i32, usize) {
    let negative = FILE[at] == b'-';
    if negative {
        at += 1;
    }
    let mut value = 0;
    while FILE[at].is_ascii_digit() {
        value = 10 * value + (FILE[at] - b'0') as i32;
        at += 1;
    }
    (if negative { -value } else { value }, at + 1)
}
