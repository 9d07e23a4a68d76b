//! Families of questions. Each draws its numbers and explains the cost of the access: which lanes conflict, but never
//! how many wavefronts that makes.
//!
//! | file | accesses |
//! | --- | --- |
//! | `strides` | constant strides; columns of tiles, plain and padded |
//! | `runs` | some neighboring words in each of several rows: fragments, transposed stores |
//! | `chunks` | 16 bytes of each row: `ldmatrix`, swizzles right and wrong |
//! | `shared_words` | lanes that read the same: broadcasts, narrow elements, merged phases |
//! | `global` | sectors: contiguous, strided, rows of a matrix |
mod chunks;
mod global;
mod runs;
mod shared_words;
mod strides;

use super::access::WarpAccess;
use super::random::SeededRandom;

/// A question without its number.
#[derive(Debug, PartialEq, Eq)]
pub struct Draft {
    /// The purpose of the access.
    pub story: String,
    pub access: WarpAccess,
    /// Explains the cost of the access.
    pub reason: String,
}

pub type Family = fn(&mut SeededRandom) -> Draft;

/// Easy and hard families. Their order matters: another one gives a different exam for each seed.
pub const FAMILIES: [Family; 17] = [
    strides::words,
    strides::pairs,
    strides::chunks,
    strides::column,
    strides::padded_column,
    runs::fragment,
    runs::transposed_store,
    chunks::matrix_rows,
    chunks::swizzled_column,
    chunks::swizzled_rows,
    shared_words::broadcast,
    shared_words::narrow,
    shared_words::merged,
    global::side_by_side,
    global::strided,
    global::rows,
    global::ragged_rows,
];

/// The number of steps of this size after which a position modulo `places` repeats.
fn period(step: u32, places: u32) -> u32 {
    let (mut a, mut b) = (places, step % places);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    places / a
}

#[cfg(test)]
mod tests {
    use super::period;

    #[test]
    fn periods() {
        assert_eq!(
            [1, 2, 6, 8, 12].map(|step| period(step, 8)),
            [8, 4, 4, 1, 2]
        );
    }
}
