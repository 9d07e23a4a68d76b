//! A mapping of columns to places within the rows of a tile, given in any form: is it bijective, and what do
//! accesses cost?
//!
//! A tile consists of rows of units; a mapping gives, for each logical column, the unit of its row that
//! stores it. The checks visit every unit, so the mapping need not be an XOR, nor have a formula.
use crate::banks::{Access, BankTable, Banks, Phase};
use crate::expression::{EvalError, Expression};
use crate::swizzle::Swizzle;

/// Most units of a tile: the checks visit every one, several times.
const MAX_UNITS: u64 = 1 << 14;
/// Most bytes of a tile: more than any shared memory.
const MAX_BYTES: u64 = 1 << 18;

/// The shape of a tile: rows of units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows.
    pub rows: u32,
    /// Bytes from one row to the next.
    pub row_bytes: u32,
    /// Bytes of a unit: what the mapping moves as a whole.
    pub unit_bytes: u32,
}

/// The place of each logical unit of a tile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    shape: Shape,
    banks: Banks,
    /// For each row and logical column: the number of the physical unit, counted through the whole tile;
    /// outside the tile if the mapping leads there.
    places: Vec<Vec<i64>>,
}

/// Why a mapping is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MappingError {
    /// The rows are not a whole number of units.
    #[error(
        "rows of {} bytes are not a whole number of units of {}: the unit must be a power of two and the \
         row a multiple of it",
        .0.row_bytes,
        .0.unit_bytes
    )]
    Shape(Shape),
    /// Too few or too many units.
    #[error(
        "a tile needs from 1 to {MAX_UNITS} units and at most {MAX_BYTES} bytes; take fewer rows or \
         larger units"
    )]
    Size,
    /// The expression has no value somewhere.
    #[error("at row {row}, column {column} the expression {why}")]
    Value {
        /// Row.
        row: u32,
        /// Column.
        column: u32,
        /// Why.
        why: EvalError,
    },
    /// A table with rows of different lengths, or with a column that does not exist.
    #[error("row {row} of the table must hold {columns} columns, each a number below {columns}")]
    Table {
        /// Row.
        row: usize,
        /// Columns of the first row.
        columns: usize,
    },
}

impl Shape {
    fn checked(self) -> Result<Self, MappingError> {
        let is_whole = self.row_bytes != 0 && self.row_bytes.is_multiple_of(self.unit_bytes);
        if !self.unit_bytes.is_power_of_two() || !is_whole {
            return Err(MappingError::Shape(self));
        }
        let bytes = u64::from(self.rows) * u64::from(self.row_bytes);
        let units = bytes / u64::from(self.unit_bytes);
        match (1..=MAX_UNITS).contains(&units) && bytes <= MAX_BYTES {
            true => Ok(self),
            false => Err(MappingError::Size),
        }
    }

    /// Units in a row.
    pub fn columns(&self) -> u32 {
        self.row_bytes / self.unit_bytes
    }

    /// The widest access that a unit's alignment allows: at most 16 bytes.
    pub fn widest_access(&self) -> u32 {
        // The lowest set bit.
        1 << self.row_bytes.trailing_zeros().min(4)
    }
}

impl Mapping {
    fn new(
        shape: Shape,
        place: impl Fn(u32, u32) -> Result<i64, MappingError>,
    ) -> Result<Self, MappingError> {
        let columns = 0..shape.columns();
        let row = |row| columns.clone().map(|column| place(row, column)).collect();
        Ok(Self {
            shape,
            banks: Banks::H100,
            places: (0..shape.rows).map(row).collect::<Result<_, _>>()?,
        })
    }

    /// Column c of row r is stored in the unit of row r that the expression gives.
    ///
    /// # Errors
    /// If the shape is invalid, or the expression has no value somewhere.
    pub fn of_expression(expression: &Expression, shape: Shape) -> Result<Self, MappingError> {
        let shape = shape.checked()?;
        let columns = shape.columns();
        Self::new(shape, |row, column| {
            let value = expression
                .value(row, column)
                .map_err(|why| MappingError::Value { row, column, why })?;
            Ok(i64::from(row * columns).saturating_add(value))
        })
    }

    /// A table of logical columns, in memory order: `table[row][unit]` is the column stored there. A row is
    /// 128 bytes, one wavefront over all banks, whatever the number of its units.
    ///
    /// # Errors
    /// If rows differ in length or a column does not exist, or the number of columns is not a power of two.
    pub fn of_table(table: &[Vec<u32>]) -> Result<Self, MappingError> {
        let columns = table.first().map_or(0, Vec::len);
        for (row, line) in table.iter().enumerate() {
            if line.len() != columns || line.iter().any(|&column| column as usize >= columns) {
                return Err(MappingError::Table { row, columns });
            }
        }
        let unit_bytes = 128 / (columns as u32).clamp(1, 128);
        let shape = Shape {
            rows: table.len() as u32,
            row_bytes: unit_bytes * columns as u32,
            unit_bytes,
        }
        .checked()?;
        Self::new(shape, |row, column| {
            // A column that is not in its row: outside the tile.
            let mut units = table[row as usize].iter();
            let unit = units.position(|&found| found == column);
            Ok(unit.map_or(-1, |unit| (row as usize * columns + unit) as i64))
        })
    }

    /// A swizzle of byte addresses, over a tile of `rows` of its own rows.
    ///
    /// # Errors
    /// If the tile is too large to check.
    pub fn of_swizzle(swizzle: &Swizzle, rows: u32) -> Result<Self, MappingError> {
        let (unit, columns) = (swizzle.unit_bytes(), swizzle.units_per_row());
        let bytes = |bytes: u64| u32::try_from(bytes).map_err(|_| MappingError::Size);
        let shape = Shape {
            rows,
            row_bytes: bytes(unit * columns)?,
            unit_bytes: bytes(unit)?,
        }
        .checked()?;
        Self::new(shape, |row, column| {
            let address = row * shape.row_bytes + column * shape.unit_bytes;
            Ok(i64::from(swizzle.apply(address) / shape.unit_bytes))
        })
    }

    /// The same mapping over other banks than an H100's.
    pub fn with_banks(self, banks: Banks) -> Self {
        Self { banks, ..self }
    }

    /// The banks over which the tile is stored.
    pub fn banks(&self) -> Banks {
        self.banks
    }

    /// Its tile.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The physical unit of a logical one, counted through the tile; `None` outside the tile.
    pub fn place(&self, row: u32, column: u32) -> Option<u32> {
        let place = *self.places.get(row as usize)?.get(column as usize)?;
        let place = u32::try_from(place).ok()?;
        (place < self.shape.rows * self.shape.columns()).then_some(place)
    }

    /// The first logical unit that is mapped out of its row, and where to.
    pub fn leaves_its_row(&self) -> Option<(u32, u32, i64)> {
        let columns = i64::from(self.shape.columns());
        self.all().find_map(|(row, column, place)| {
            let unit = place - i64::from(row) * columns;
            (!(0..columns).contains(&unit)).then_some((row, column, unit))
        })
    }

    /// The first two logical units that are mapped to the same place: (row, column) twice.
    pub fn collision(&self) -> Option<((u32, u32), (u32, u32))> {
        let mut first = std::collections::HashMap::new();
        self.all().find_map(|(row, column, place)| {
            let earlier = first.insert(place, (row, column))?;
            Some((earlier, (row, column)))
        })
    }

    /// Whether every unit has a place of its own, within the tile.
    pub fn is_bijective(&self) -> bool {
        let mut all = self.all();
        self.collision().is_none() && all.all(|(row, column, _)| self.place(row, column).is_some())
    }

    fn all(&self) -> impl Iterator<Item = (u32, u32, i64)> + '_ {
        (0..).zip(&self.places).flat_map(|(row, places)| {
            let places = (0..).zip(places);
            places.map(move |(column, place)| (row, column, *place))
        })
    }

    /// The widest vector access, in bytes, whose bytes are contiguous and aligned wherever it reads: 16, 8,
    /// 4, 2 or 1.
    pub fn widest_access(&self) -> u32 {
        let Shape { unit_bytes, .. } = self.shape;
        let is_whole = |&bytes: &u32| {
            let units = (bytes / unit_bytes).max(1);
            self.all().all(|(row, column, place)| {
                let first = self.places[row as usize][(column - column % units) as usize];
                first.rem_euclid(units.into()) == 0 && place == first + i64::from(column % units)
            })
        };
        let possible = self.shape.widest_access();
        [16, 8, 4, 2]
            .into_iter()
            .filter(|&bytes| bytes <= possible)
            .find(is_whole)
            .unwrap_or(1)
    }

    /// The bank table of a warp whose lane i reads `bytes` bytes at logical (row, byte of the row) `at(i)`.
    fn access(
        &self,
        access: Access,
        bytes: u32,
        at: impl Fn(u32) -> Option<(u32, u32)>,
    ) -> BankTable {
        BankTable::with(self.banks, access, bytes, |lane| {
            let (row, byte) = at(lane)?;
            let place = self.place(row, byte / self.shape.unit_bytes)?;
            Some(place * self.shape.unit_bytes + byte % self.shape.unit_bytes)
        })
    }

    /// The degree of conflict of a read along the rows, in which each lane reads the next `bytes` bytes.
    pub fn row_degree(&self, bytes: u32) -> u32 {
        let chunks = self.shape.row_bytes / bytes;
        let starts = (0..self.shape.rows * chunks).step_by(32);
        let at = |chunk: u32| Some((chunk / chunks, chunk % chunks * bytes));
        let read = |first| self.access(Access::Load, bytes, |lane| at(first + lane));
        starts.map(|first| degree(&read(first))).max().unwrap_or(0)
    }

    /// The bank table of a read down a column: lane i reads `bytes` bytes of row i at this byte of the row,
    /// for at most 32 rows.
    pub fn column_read(&self, bytes: u32, byte: u32) -> BankTable {
        self.access(Access::Load, bytes, |lane| {
            (lane < self.shape.rows).then_some((lane, byte))
        })
    }

    /// The worst degree of conflict of a read down any column, and the first byte of the row that has it.
    pub fn column_degree(&self, bytes: u32) -> (u32, u32) {
        let starts = (0..self.shape.row_bytes).step_by(bytes as usize);
        let degrees = starts.map(|byte| (degree(&self.column_read(bytes, byte)), byte));
        degrees
            .max_by_key(|&(degree, byte)| (degree, std::cmp::Reverse(byte)))
            .unwrap_or((0, 0))
    }

    /// The worst degree of conflict of an `ldmatrix` over all of the tile's 8x8 matrices of 16-byte rows.
    /// `None` if the rows of a matrix are split or misaligned, or if there are fewer than 8 rows.
    pub fn matrix_degree(&self) -> Option<u32> {
        if self.widest_access() < 16 || self.shape.rows < 8 {
            return None;
        }
        let matrix = |m: u32, c: u32| {
            let at = |lane| (lane < 8).then_some((m * 8 + lane, c * 16));
            degree(&self.access(Access::Matrix, 16, at))
        };
        (0..self.shape.rows / 8)
            .flat_map(|m| (0..self.shape.row_bytes / 16).map(move |c| matrix(m, c)))
            .max()
    }

    /// The units in which a column is stored, each with the rows that use it.
    pub fn spread(&self, column: u32) -> Vec<(u32, Vec<u32>)> {
        let mut spread = std::collections::BTreeMap::<u32, Vec<u32>>::new();
        for row in 0..self.shape.rows {
            if let Some(place) = self.place(row, column) {
                let unit = place % self.shape.columns();
                spread.entry(unit).or_default().push(row);
            }
        }
        spread.into_iter().collect()
    }
}

/// The degree of conflict of the worst phase.
pub fn degree(table: &BankTable) -> u32 {
    table.phases().iter().map(Phase::degree).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TILE: Shape = Shape {
        rows: 8,
        row_bytes: 128,
        unit_bytes: 16,
    };

    fn map(text: &str, shape: Shape) -> Mapping {
        Mapping::of_expression(&Expression::parse(text).expect(text), shape).expect(text)
    }

    #[test]
    fn plain_half_working_and_working() {
        for (text, column) in [
            ("col", 8),
            ("col ^ ((row & 0b1100) >> 2)", 4),
            ("col ^ (row & 7)", 1),
            ("(col + row) % 8", 1),
        ] {
            let mapping = map(text, TILE);
            assert!(
                mapping.is_bijective() && mapping.leaves_its_row().is_none(),
                "{text}"
            );
            assert_eq!(
                (mapping.row_degree(16), mapping.column_degree(16)),
                (1, (column, 0)),
                "{text}"
            );
            assert_eq!(mapping.matrix_degree(), Some(column), "{text}");
        }
        let half = map("col ^ ((row & 0b1100) >> 2)", TILE);
        assert_eq!(
            half.spread(0),
            [(0, vec![0, 1, 2, 3]), (1, vec![4, 5, 6, 7])]
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        let shifted = map("col + row", TILE);
        assert_eq!(shifted.leaves_its_row(), Some((1, 7, 8)));
        let merged = map("col & 6", TILE);
        assert_eq!(merged.collision(), Some(((0, 0), (0, 1))));
        assert!(!merged.is_bijective());
        assert!(!map("col - 1", TILE).is_bijective());
        let zero = Mapping::of_expression(
            &Expression::parse("col % row").expect("an expression"),
            TILE,
        );
        assert!(matches!(
            zero,
            Err(MappingError::Value {
                row: 0,
                column: 0,
                why: EvalError::DivisionByZero
            })
        ));
        for shape in [
            Shape {
                unit_bytes: 0,
                ..TILE
            },
            Shape {
                unit_bytes: 24,
                ..TILE
            },
            Shape {
                row_bytes: 0,
                ..TILE
            },
        ] {
            let identity = Expression::parse("col").expect("an expression");
            assert!(matches!(
                Mapping::of_expression(&identity, shape),
                Err(MappingError::Shape { .. })
            ));
        }
    }

    #[test]
    fn small_units_may_tear_vectors() {
        let floats = Shape {
            rows: 32,
            row_bytes: 128,
            unit_bytes: 4,
        };
        assert_eq!(map("col ^ row", floats).widest_access(), 4);
        assert_eq!(map("col ^ row", floats).column_degree(4).0, 1);
        assert_eq!(map("col ^ ((row & 7) * 4)", floats).widest_access(), 16);
        assert_eq!(map("col ^ row", floats).matrix_degree(), None);
        assert_eq!(
            map(
                "col",
                Shape {
                    row_bytes: 132,
                    ..floats
                }
            )
            .widest_access(),
            4
        );
    }

    #[test]
    fn a_latin_square_that_is_not_an_xor() {
        let sudoku = [[2, 3, 1, 0], [0, 1, 2, 3], [1, 0, 3, 2], [3, 2, 0, 1]].map(Vec::from);
        let mapping = Mapping::of_table(&sudoku).expect("a table");
        assert!(mapping.is_bijective());
        assert_eq!(mapping.column_degree(16).0, 1);
        let is_xor =
            (0..4).any(|mask| (0..4).all(|column| mapping.place(0, column) == Some(column ^ mask)));
        assert!(!is_xor, "no mask gives its first row");
        let twice = [[0, 0], [0, 1]].map(Vec::from);
        assert!(!Mapping::of_table(&twice).expect("a table").is_bijective());
        assert!(Mapping::of_table(&[vec![0, 1], vec![0]]).is_err());
        assert!(Mapping::of_table(&[]).is_err());
    }

    #[test]
    fn a_transpose_of_four_by_four() {
        let shape = Shape {
            rows: 4,
            row_bytes: 16,
            unit_bytes: 4,
        };
        let four = Banks::new(4, 4).expect("powers of two");
        for (text, degree) in [("col", 4), ("col ^ row", 1), ("col ^ (row & 1)", 2)] {
            let mapping = map(text, shape);
            assert_eq!(mapping.column_degree(4).0, 1, "{text}: in 32 banks it fits");
            let mapping = mapping.with_banks(four);
            assert_eq!(mapping.column_degree(4).0, degree, "{text}");
            assert_eq!(mapping.row_degree(4), 1, "{text}");
        }
    }

    #[test]
    fn a_swizzle_is_a_mapping_too() {
        for (bits, degree) in [(0, 8), (1, 4), (2, 2), (3, 1)] {
            let swizzle = Swizzle::new(bits, 4, 3).expect("|S| >= B");
            let mapping = Mapping::of_swizzle(&swizzle, 8).expect("small");
            assert_eq!(mapping.column_degree(16).0, degree);
            assert_eq!(mapping.matrix_degree(), Some(degree));
        }
    }
}
