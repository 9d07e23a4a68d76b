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

/// How the lanes of a warp are distributed over a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Pattern {
    /// Lane i takes the next elements of row 0
    ///
    /// Lanes beyond the end of the row are inactive.
    Row,
    /// Lane i takes column 0 of row i
    Column,
    /// Two lanes to a column, 4 rows each: how rungs 02 and 03 store their tile of A
    ///
    /// Lane i stores row `i % 2 * 4` of column `i / 2`: these rungs load 4 neighbors of a row of A and store
    /// them one below the other.
    Transposed,
}

impl Pattern {
    /// The byte offset of a lane that accesses `bytes` bytes; `None` if it is outside the tile.
    pub fn offset(self, tile: &Tile, bytes: u32, lane: u32) -> Option<u32> {
        let (row, column) = match self {
            Pattern::Row => (0, lane * bytes / tile.element_bytes),
            Pattern::Column => (lane, 0),
            Pattern::Transposed => (lane % 2 * 4, lane / 2),
        };
        (row < tile.rows && column < tile.columns).then(|| tile.offset(row, column))
    }
}

impl std::fmt::Display for Pattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Pattern::Row => "along row 0",
            Pattern::Column => "down column 0",
            Pattern::Transposed => "transposed: lane i at row i % 2 * 4, column i / 2",
        })
    }
}

/// Why an access to a tile is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TileError {
    /// Rows whose first byte is not aligned for the vector access.
    #[error(
        "misaligned: rows of {} elements of {} bytes do not all start at a multiple of {bytes} \
         bytes, as an access of that width must; a leading dimension of {better} does",
        tile.leading_dimension,
        tile.element_bytes
    )]
    Misaligned {
        /// The tile.
        tile: Tile,
        /// Bytes of a lane's access.
        bytes: u32,
        /// The next leading dimension that is aligned.
        better: u32,
    },
    /// A width that no access has.
    #[error(
        "a lane accesses 1, 2, 4, 8 or 16 bytes, at least an element, and elements have 1, 2, 4, \
         8 or 16 bytes"
    )]
    Bytes,
    /// An empty or too large tile, or rows that overlap.
    #[error(
        "a tile needs rows, columns and a leading dimension of at least its columns, and at most \
         2^24 bytes"
    )]
    Size,
}

impl Tile {
    /// Checks that a lane may access `bytes` bytes at the start of any row.
    ///
    /// # Errors
    /// If it may not, or if the tile is invalid.
    pub fn check(&self, bytes: u32) -> Result<(), TileError> {
        let tile = *self;
        let (columns, element_bytes) = (tile.columns, tile.element_bytes);
        let is_width = |bytes: u32| bytes.is_power_of_two() && bytes <= 16;
        if !is_width(bytes) || !is_width(element_bytes) || bytes < element_bytes {
            return Err(TileError::Bytes);
        }
        let size = u64::from(tile.rows) * u64::from(tile.leading_dimension);
        let size = size.saturating_mul(element_bytes.into());
        let overlaps = columns > tile.leading_dimension;
        if tile.rows == 0 || columns == 0 || overlaps || size > 1 << 24 {
            return Err(TileError::Size);
        }
        if !self.is_aligned_for(bytes) {
            let better = tile
                .leading_dimension
                .next_multiple_of(bytes / element_bytes);
            return Err(TileError::Misaligned {
                tile,
                bytes,
                better,
            });
        }
        Ok(())
    }

    /// Bytes of shared memory that are padding.
    pub fn padding_bytes(&self) -> u32 {
        self.rows * (self.leading_dimension - self.columns) * self.element_bytes
    }

    /// The byte offset of an element.
    pub fn offset(&self, row: u32, column: u32) -> u32 {
        (row * self.leading_dimension + column) * self.element_bytes
    }

    /// Bytes of shared memory that the tile takes, padding included.
    pub fn bytes(&self) -> u32 {
        self.rows * self.leading_dimension * self.element_bytes
    }

    /// Whether every row is aligned for a vector access of `bytes` bytes: an access must be aligned to its
    /// size (PTX ISA, "Addresses as Operands").
    pub fn is_aligned_for(&self, bytes: u32) -> bool {
        (self.leading_dimension * self.element_bytes).is_multiple_of(bytes)
    }
}

/// How many rows of one column share a bank, for 4-byte elements: gcd of the leading dimension and the 32
/// banks. A walk down a column steps through the banks by the leading dimension, and returns to the first
/// after `32 / gcd` steps.
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
        assert_eq!(tile(132).padding_bytes(), 8 * 4 * 4);
        assert_eq!(tile(128).check(16), Ok(()));
        assert!(matches!(
            tile(129).check(16),
            Err(TileError::Misaligned { better: 132, .. })
        ));
        assert_eq!(tile(0).check(4), Err(TileError::Size));
        assert_eq!(tile(128).check(12), Err(TileError::Bytes));
        let huge = Tile {
            rows: u32::MAX,
            leading_dimension: u32::MAX,
            ..tile(128)
        };
        assert_eq!(huge.check(4), Err(TileError::Size));
    }
}
