//! Products of integers and of single bits, which are exact.
use super::{M, N};

/// A format of integer factors, packed into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Integer {
    /// 8 or 4.
    pub bits: u32,
    pub signed: bool,
}

impl Integer {
    /// The factors in a word, lowest bits first.
    #[inline(always)]
    fn of_word(self, word: u32) -> impl Iterator<Item = i64> {
        let unused = 32 - self.bits;
        (0..32 / self.bits).map(move |i| {
            let top = word << (unused - i * self.bits);
            match self.signed {
                true => i64::from(top as i32 >> unused),
                false => i64::from(top >> unused),
            }
        })
    }
}

/// The operation on each pair of bits before they are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BitOp {
    And,
    Xor,
}

/// A is given by rows of words, B by columns. The sum with C is exact and then wraps to 32 bits, or
/// saturates (`.satfinite`; recorded: only the final sum saturates).
pub(super) fn products<const W: usize>(
    [a, b]: [Integer; 2],
    saturate: bool,
    (rows, columns): (&[[u32; W]; M], &[[u32; W]; N]),
    c: &[u32; M * N],
) -> [u32; M * N] {
    std::array::from_fn(|i| {
        let words = rows[i / N].iter().zip(&columns[i % N]);
        let products = words.flat_map(|(&x, &y)| a.of_word(x).zip(b.of_word(y)));
        let sum: i64 = products.map(|(x, y)| x * y).sum();
        let sum = sum + i64::from(c[i] as i32);
        match saturate {
            true => sum.clamp(i32::MIN.into(), i32::MAX.into()) as u32,
            false => sum as u32,
        }
    })
}

/// Counts the bits that are set after the operation, and adds C.
pub(super) fn bits<const W: usize>(
    op: BitOp,
    (rows, columns): (&[[u32; W]; M], &[[u32; W]; N]),
    c: &[u32; M * N],
) -> [u32; M * N] {
    std::array::from_fn(|i| {
        let words = rows[i / N].iter().zip(&columns[i % N]);
        let set = words.map(|(x, y)| match op {
            BitOp::And => (x & y).count_ones(),
            BitOp::Xor => (x ^ y).count_ones(),
        });
        c[i].wrapping_add(set.sum())
    })
}
