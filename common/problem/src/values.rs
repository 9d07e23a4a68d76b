//! The values of the matrices: random numbers, distinct numbers that identify their element, or arbitrary bits.
use half::f16;

use crate::matrices::splitmix64;

/// The values of a problem's A and B, all from its seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Values {
    /// Roughly normal.
    #[default]
    Random,
    /// As [`Values::Random`], but some rows of A and columns of B have numbers so large or so small that sums are infinite or subnormal in
    /// f16.
    Extreme {
        /// Whether all numbers are finite. If not, some rows and columns hold a NaN or an infinity.
        finite: bool,
    },
    /// Zeros, for a launch that is only timed.
    Zero,
    /// No value occurs twice in A and B together, as long as there are enough ([`DISTINCT`]), so a value identifies
    /// its element.
    Distinct,
    /// As [`Values::Distinct`], and A is the identity matrix, as far as it is square: C is B then.
    IdentityA,
    /// The same with B: C is A.
    IdentityB,
    /// Any 16 bits, for kernels that only move data: every eighth of the first 8,192 values is a NaN, an infinity, a
    /// zero or a subnormal, and the others run through all patterns, so that 73,728 elements contain every one.
    Words,
}

/// Most elements that A and B may have together for [`Values::Distinct`]: the f16 from 2^-14 to 16, of either sign.
pub const DISTINCT: u64 = 2 * 18 * 1024;

/// Quiet and signaling NaNs with and without payload, infinities, zeros, and the ends of the subnormals.
const SPECIAL: [u16; 12] = [
    0x7e00, 0xfe00, 0x7c01, 0xfdff, 0x7e5a, 0x7c00, 0xfc00, 0x0000, 0x8000, 0x0001, 0x83ff, 0x03ff,
];

/// Among the first 8,192 elements every eighth is special; every pattern still occurs if there are that many more
/// elements.
const FIRST: u64 = 8192;

/// What memory may hold before anything is written: NaN, 0 and 1, as bits of f16.
const STALE: [u16; 3] = [0xffff, 0, 0x3c00];

/// The bytes of a matrix of stale values. Which of them an element holds has nothing to do with rows and tiles: a linear congruential
/// generator chooses.
pub fn stale_values(elements: usize) -> Vec<u8> {
    let mut state = 1u32;
    let mut bytes = vec![0; 2 * elements];
    for element in bytes.as_chunks_mut::<2>().0 {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *element = STALE[(state >> 16) as usize % STALE.len()].to_le_bytes();
    }
    bytes
}

/// The kinds of [`Values::Extreme`]: the power of two by which all numbers of a row or column are multiplied, and what one of them then is.
const KINDS: [(f32, Option<f16>); 6] = [
    (1.0, Some(f16::NAN)),
    (1.0, Some(f16::INFINITY)),
    (1.0, Some(f16::NEG_INFINITY)),
    (16_384.0, None),
    (1.0 / 16_384.0, None),
    (1.0 / 262_144.0, None),
];

/// Makes a row of A, or a column of B, extreme in each way. One of each, since the emulator takes several times as long for products that
/// overflow or are subnormal. The first row or column stays random.
fn make_extreme(
    (seed, finite): (u64, bool),
    matrix: &mut [f16],
    [rows, columns, padded]: [u32; 3],
    is_a: bool,
) {
    let (lines, depth) = if is_a {
        (rows, columns)
    } else {
        (columns, rows)
    };
    let mut random = splitmix64(seed ^ 0xe87e ^ u64::from(is_a));
    let mut below = |bound: u32| {
        random = splitmix64(random);
        (random >> 32) as u32 % bound.max(1)
    };
    // Each in a part of its own, so that none is changed twice.
    let parts = KINDS.len() as u32;
    for ((factor, one), part) in KINDS.iter().zip(0..) {
        let [first, end] = [part, part + 1].map(|part| 1 + (lines - 1) * part / parts);
        let (line, at) = (first + below(end - first), below(depth));
        if first == end || finite && one.is_some() {
            continue;
        }
        let place = |k: u32| {
            let (row, column) = if is_a { (line, k) } else { (k, line) };
            row as usize * padded as usize + column as usize
        };
        for element in (0..depth).map(place) {
            matrix[element] = f16::from_f32_const(matrix[element].to_f32_const() * factor);
        }
        if let Some(one) = one {
            matrix[place(at)] = *one;
        }
    }
}

/// Replaces the elements inside `rows` x `columns` of a matrix with rows of `padded`; `first` elements of the problem
/// precede it.
pub fn fill(
    values: Values,
    seed: u64,
    matrix: &mut [f16],
    [rows, columns, padded]: [u32; 3],
    first: u64,
) {
    let is_a = first == 0;
    let bits: Box<dyn Fn(u64) -> u16> = match values {
        Values::Random | Values::Zero => return,
        Values::Extreme { finite } => {
            return make_extreme((seed, finite), matrix, [rows, columns, padded], is_a);
        }
        Values::IdentityA if is_a => Box::new(move |number| one_on_the_diagonal(number, columns)),
        Values::IdentityB if !is_a => {
            Box::new(move |number| one_on_the_diagonal(number - first, columns))
        }
        Values::Distinct | Values::IdentityA | Values::IdentityB => {
            let order = shuffled(seed);
            Box::new(move |number| order[(number % DISTINCT) as usize])
        }
        Values::Words => Box::new(move |number| word(seed, number)),
    };
    let padded_rows = matrix.chunks_mut(padded.max(1) as usize);
    for (row, elements) in (0u64..).zip(padded_rows.take(rows as usize)) {
        for (column, element) in (0u64..).zip(elements.iter_mut().take(columns as usize)) {
            *element = f16::from_bits(bits(first + row * u64::from(columns) + column));
        }
    }
}

/// All of [`DISTINCT`], shuffled by the seed (Fisher and Yates).
fn shuffled(seed: u64) -> Vec<u16> {
    // The exponent of 2^-14 is 1.
    let magnitudes = 1024..1024 + (DISTINCT / 2) as u16;
    let mut all: Vec<u16> = magnitudes.flat_map(|bits| [bits, bits | 0x8000]).collect();
    let mut state = splitmix64(seed ^ 0x0d15_71c7);
    for last in (1..all.len()).rev() {
        state = splitmix64(state);
        all.swap(last, (state % (last as u64 + 1)) as usize);
    }
    all
}

fn one_on_the_diagonal(number: u64, columns: u32) -> u16 {
    let (row, column) = (number / u64::from(columns), number % u64::from(columns));
    f16::from_f32(f32::from(u8::from(row == column))).to_bits()
}

fn word(seed: u64, number: u64) -> u16 {
    let random = splitmix64(splitmix64(seed ^ 0xb175) ^ number);
    match random % 8 {
        0 if number < FIRST => SPECIAL[(random >> 8) as usize % SPECIAL.len()],
        // The factor is odd, so every pattern occurs once in 65,536.
        _ => (number as u16)
            .wrapping_mul(0x9e37)
            .wrapping_add(splitmix64(seed) as u16),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{Problem, Size, Tile};

    fn problem(size: Size, values: Values, seed: u64) -> Problem {
        let tile = Tile {
            bm: 64,
            bn: 32,
            bk: 16,
        };
        Problem::with_values(size, tile, seed, values).expect("a problem")
    }

    #[test]
    fn the_identity_matrix_is_the_one_or_the_other() {
        let size = Size { m: 3, n: 5, k: 4 };
        let made = |values| problem(size, values, 7);
        let (a, b, distinct) = (
            made(Values::IdentityA),
            made(Values::IdentityB),
            made(Values::Distinct),
        );
        assert_eq!((&a.b, &b.a), (&distinct.b, &distinct.a));
        let one = |row, column| f16::from_f32(f32::from(u8::from(row == column)));
        for row in 0..4 {
            let [padded_k, padded_n] = [a.padded.k as usize, a.padded.n as usize];
            for column in 0..4 {
                let of_a = a.a[row * padded_k + column];
                assert_eq!(of_a, if row < 3 { one(row, column) } else { f16::ZERO });
                assert_eq!(b.b[row * padded_n + column], one(row, column));
            }
            assert_eq!(b.b[row * padded_n + 4], f16::ZERO);
        }
    }

    #[test]
    fn distinct_numbers_identify_every_element() {
        let size = Size {
            m: 70,
            n: 40,
            k: 100,
        };
        let problem = problem(size, Values::Distinct, 7);
        let all = problem.a.iter().chain(&problem.b);
        let inside: Vec<u16> = all.map(|v| v.to_bits()).filter(|bits| *bits != 0).collect();
        assert_eq!(inside.len(), 70 * 100 + 100 * 40, "the padding is zero");
        assert_eq!(inside.iter().collect::<BTreeSet<_>>().len(), inside.len());
        let [low, high] = [2f32.powi(-14), 16.0];
        let magnitudes = inside
            .iter()
            .map(|bits| f16::from_bits(*bits).to_f32().abs());
        assert!(magnitudes.clone().all(|v| v >= low && v < high));
    }

    #[test]
    fn extreme_numbers_are_in_some_rows_and_columns() {
        let size = Size {
            m: 200,
            n: 100,
            k: 20,
        };
        let [random, extreme] =
            [Values::Random, Values::Extreme { finite: false }].map(|of| problem(size, of, 3));
        let finite = problem(size, Values::Extreme { finite: true }, 3);
        assert!(finite.a.iter().chain(&finite.b).all(|of| of.is_finite()));
        let [padded_n, padded_k] = [random.padded.n, random.padded.k].map(|side| side as usize);
        let rows = |of: &Problem| {
            of.a.chunks(padded_k)
                .map(<[f16]>::to_vec)
                .collect::<Vec<_>>()
        };
        let columns = |of: &Problem| {
            let column = |at: usize| of.b.iter().skip(at).step_by(padded_n).copied().collect();
            (0..padded_n).map(column).collect::<Vec<Vec<f16>>>()
        };
        for (plain, lines) in [
            (rows(&random), rows(&extreme)),
            (columns(&random), columns(&extreme)),
        ] {
            assert_eq!(plain[0], lines[0]);
            let same = plain.iter().zip(&lines).filter(|(one, other)| one == other);
            assert!(2 * same.count() > plain.len());
            let largest =
                |line: &&Vec<f16>| line.iter().map(|of| of.to_f32().abs()).fold(0.0, f32::max);
            let numbers = || {
                lines
                    .iter()
                    .filter(|line| line.iter().all(|of| of.is_finite()))
            };
            assert!(lines.iter().flatten().any(|of| of.is_nan()));
            assert!(lines.iter().flatten().any(|of| *of == f16::INFINITY));
            assert!(lines.iter().flatten().any(|of| *of == f16::NEG_INFINITY));
            assert!(numbers().any(|line| largest(&line) > 16384.0));
            assert!(numbers().any(|line| (1e-7..2e-5).contains(&largest(&line))));
        }
    }

    #[test]
    fn words_take_every_pattern() {
        let size = Size {
            m: 288,
            n: 1,
            k: 256,
        };
        let problem = problem(size, Values::Words, 3);
        let bits: BTreeSet<u16> = problem.a.iter().map(|v| v.to_bits()).collect();
        assert_eq!(bits.len(), 1 << 16);
        let small = self::problem(Size { m: 32, n: 1, k: 64 }, Values::Words, 3);
        for kind in [f16::is_nan, f16::is_infinite, |v: f16| {
            v.to_bits() == 0x8000
        }] {
            assert!(small.a.iter().any(|v| kind(*v)));
        }
    }
}
