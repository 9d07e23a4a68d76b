//! A row-major tile in shared memory whose rows may be padded.

/// `rows` x `columns` elements, `leading_dimension` elements from one row to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Rows.
    pub rows: u32,
    /// Columns in use.
    pub columns: u32,
    /// Elements from the start of a row to the start of the next; more than `columns` if padded.
    pub leading_dimension: u32,
    /// Bytes of an element.
    pub element_bytes: u32,
}

impl Tile {
    /// The byte offset of an element.
    pub fn offset(&self, row: u32, column: u32) -> u32 {
        (row * self.leading_dimension + column) * self.element_bytes
    }

    /// Bytes of shared memory that the tile takes, padding included.
    pub fn bytes(&self) -> u32 {
        self.rows * self.leading_dimension * self.element_bytes
    }

    /// Whether every row starts where a vector access of `bytes` bytes may start: a vector access must
    /// be aligned to its size (PTX ISA, "Addresses as Operands").
    pub fn is_aligned_for(&self, bytes: u32) -> bool {
        (self.leading_dimension * self.element_bytes).is_multiple_of(bytes)
    }
}

/// How many rows of one column share a bank, for 4-byte elements: gcd of the leading dimension and the
/// 32 banks. Walking down a column steps through the banks by the leading dimension, and comes back to
/// the first after `32 / gcd` steps.
pub fn column_degree(leading_dimension: u32) -> u32 {
    let (mut a, mut b) = (crate::banks::BANKS, leading_dimension);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::banks::{Access, BankTable};

    #[test]
    fn one_formula_for_all_leading_dimensions() {
        for leading_dimension in 1..300 {
            let tile = Tile {
                rows: 32,
                columns: 32,
                leading_dimension,
                element_bytes: 4,
            };
            let table = BankTable::new(Access::Store, 4, |lane| Some(tile.offset(lane, 0)));
            assert_eq!(
                table.wavefronts(),
                column_degree(leading_dimension),
                "{leading_dimension}"
            );
        }
    }

    #[test]
    fn a_row_of_129_floats_is_misaligned_for_float4() {
        let tile = |leading_dimension| Tile {
            rows: 8,
            columns: 128,
            leading_dimension,
            element_bytes: 4,
        };
        assert!(tile(128).is_aligned_for(16));
        assert!(!tile(129).is_aligned_for(16));
        assert!(tile(132).is_aligned_for(16));
        assert_eq!(tile(132).bytes() - tile(128).bytes(), 8 * 4 * 4);
    }
}
