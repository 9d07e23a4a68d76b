//! The accumulator of `tcgen05.mma` in Blackwell's Tensor Memory, which has 128 lanes of 512 columns with
//! 32-bit cells.
//!
//! | layout | M | CTAs | which rows and columns |
//! | --- | --- | --- | --- |
//! | A | 256 | 2 | row r in CTA r / 128, lane r % 128 |
//! | B | 128 | 2 | row r in CTA r / 64; columns of the right half are 64 lanes further |
//! | D | 128 | 1 | row r in lane r |
//! | E | 64, `.ws` | 1 | columns of the right half are 64 lanes further |
//! | F | 64 | 1 | 16 rows in the first half of each 32 lanes |
//! | G | 32, `.ws` | 1 | columns of the i-th quarter are 32 i lanes further |
//!
//! Documented, not measured: PTX ISA, "Data Path Layout Organization", where the arrangement is a figure; CUTLASS
//! writes the same as layouts in `include/cute/atom/mma_traits_sm100.hpp` (`tmem_frg`, `tmem_frg_ws`).
use crate::axis::{AxisError, AxisLayout};

/// Lanes of Tensor Memory.
pub const LANES: u32 = 128;
/// Number of 32-bit columns.
pub const COLUMNS: u32 = 512;

/// An arrangement of the accumulator, by its letter in the PTX ISA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataPath {
    /// M = 256 over two CTAs.
    A,
    /// M = 128 over two CTAs.
    B,
    /// M = 128.
    D,
    /// M = 64, weight-stationary.
    E,
    /// M = 64: half of the lanes.
    F,
    /// M = 32, weight-stationary.
    G,
}

/// An accumulator: M x N, f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accumulator {
    path: DataPath,
    m: u32,
    n: u32,
    ctas: u32,
}

/// Where an element of the accumulator is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell {
    /// 0, or 1 for the second CTA of a pair.
    pub cta: u32,
    /// Lane, 0 to 127.
    pub lane: u32,
    /// Column, from the accumulator's first.
    pub column: u32,
}

/// Why an accumulator is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TmemError {
    /// An M that does not fit the number of CTAs.
    #[error(
        "there is no M = {m} for cta_group::{cta_group}{}: take 64 or 128 for cta_group::1 (32, \
         64 or 128 with .ws), \
         128 or 256 for cta_group::2",
        if *ws { " with .ws" } else { "" }
    )]
    Rows {
        /// M.
        m: u32,
        /// 1 or 2.
        cta_group: u32,
        /// Weight-stationary.
        ws: bool,
    },
    /// An N that is out of range.
    #[error("N is {0}; these tables take 16 to 256 in steps of 16")]
    Columns(u32),
}

impl Accumulator {
    /// The accumulator of a dense `tcgen05.mma`.
    ///
    /// # Errors
    /// If M, N and the number of CTAs do not fit each other.
    pub fn new(m: u32, n: u32, cta_group: u32, ws: bool) -> Result<Self, TmemError> {
        let path = match (m, cta_group, ws) {
            (256, 2, false) => DataPath::A,
            (128, 2, false) => DataPath::B,
            (128, 1, _) => DataPath::D,
            (64, 1, true) => DataPath::E,
            (64, 1, false) => DataPath::F,
            (32, 1, true) => DataPath::G,
            _ => return Err(TmemError::Rows { m, cta_group, ws }),
        };
        if !(16..=256).contains(&n) || !n.is_multiple_of(16) {
            return Err(TmemError::Columns(n));
        }
        let ctas = cta_group;
        Ok(Self { path, m, n, ctas })
    }

    /// The arrangement.
    pub fn path(&self) -> DataPath {
        self.path
    }

    /// M and N.
    pub fn shape(&self) -> (u32, u32) {
        (self.m, self.n)
    }

    /// Number of CTAs that hold it.
    pub fn ctas(&self) -> u32 {
        self.ctas
    }

    /// Number of columns of Tensor Memory that it takes in each CTA.
    pub fn columns(&self) -> u32 {
        match self.path {
            DataPath::B | DataPath::E => self.n / 2,
            DataPath::G => self.n / 4,
            DataPath::A | DataPath::D | DataPath::F => self.n,
        }
    }

    /// The cell of an element; rows and columns beyond the last wrap around.
    pub fn at(&self, row: u32, column: u32) -> Cell {
        let (m, n) = self.shape();
        let (row, column, wide) = (row % m, column % n, self.columns());
        let right = column / wide;
        let (cta, lane) = match self.path {
            DataPath::A => (row / 128, row % 128),
            DataPath::B => (row / 64, row % 64 + 64 * right),
            DataPath::D => (0, row),
            DataPath::E => (0, row + 64 * right),
            DataPath::F => (0, row / 16 * 32 + row % 16),
            DataPath::G => (0, row + 32 * right),
        };
        let column = column % wide;
        Cell { cta, lane, column }
    }

    /// The element in a cell; `None` in an unused cell.
    pub fn element(&self, cell: Cell) -> Option<(u32, u32)> {
        let Cell { cta, lane, column } = cell;
        let wide = self.columns();
        if cta >= self.ctas() || lane >= LANES || column >= wide {
            return None;
        }
        Some(match self.path {
            DataPath::A => (cta * 128 + lane, column),
            DataPath::B => (cta * 64 + lane % 64, lane / 64 * wide + column),
            DataPath::D => (lane, column),
            DataPath::E => (lane % 64, lane / 64 * wide + column),
            DataPath::F if lane % 32 >= 16 => return None,
            DataPath::F => (lane / 32 * 16 + lane % 32, column),
            DataPath::G => (lane % 32, lane / 32 * wide + column),
        })
    }

    /// The same in the axis notation, written out by hand rather than derived.
    ///
    /// # Errors
    /// Never, for the accumulators that exist.
    pub fn axis(&self) -> Result<AxisLayout, AxisError> {
        let (n, wide) = (self.n, self.columns());
        AxisLayout::parse(&match self.path {
            DataPath::A => format!("S[(2, 128, {n}) : (1@cta, 1@TLane, 1@TCol)]"),
            DataPath::B => format!("S[(2, 64, 2, {wide}) : (1@cta, 1@TLane, 64@TLane, 1@TCol)]"),
            DataPath::D => format!("S[(128, {n}) : (1@TLane, 1@TCol)]"),
            DataPath::E => format!("S[(64, 2, {wide}) : (1@TLane, 64@TLane, 1@TCol)]"),
            DataPath::F => format!("S[(4, 16, {n}) : (32@TLane, 1@TLane, 1@TCol)]"),
            DataPath::G => format!("S[(32, 4, {wide}) : (1@TLane, 32@TLane, 1@TCol)]"),
        })
    }
}

/// All arrangements, for tests and tables: M, CTAs, weight-stationary.
pub const ALL: [(u32, u32, bool); 6] = [
    (256, 2, false),
    (128, 2, false),
    (128, 1, false),
    (64, 1, true),
    (64, 1, false),
    (32, 1, true),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::on;

    #[test]
    fn both_ways_and_the_axis_notation_agree() {
        for ((m, cta_group, ws), n) in ALL
            .into_iter()
            .flat_map(|path| [16, 64, 256].map(|n| (path, n)))
        {
            let accumulator = Accumulator::new(m, n, cta_group, ws).expect("an accumulator");
            let axis = accumulator.axis().expect("a layout");
            assert_eq!((axis.size(), axis.copies()), (m * n, 1));
            for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
                let cell = accumulator.at(row, column);
                assert!(
                    cell.cta < cta_group
                        && cell.lane < LANES
                        && cell.column < accumulator.columns()
                );
                assert_eq!(accumulator.element(cell), Some((row, column)));
                let place = &axis.positions(row * n + column)[0];
                assert_eq!(
                    (on(place, "cta"), on(place, "TLane"), on(place, "TCol")),
                    (cell.cta, cell.lane, cell.column)
                );
            }
            let cells = (0..2).flat_map(|cta| (0..128).map(move |lane| (cta, lane)));
            let used = cells
                .filter(|&(cta, lane)| {
                    accumulator
                        .element(Cell {
                            cta,
                            lane,
                            column: 0,
                        })
                        .is_some()
                })
                .count() as u32;
            assert_eq!(
                used * accumulator.columns(),
                m * n,
                "the cell holds no other element"
            );
        }
    }

    #[test]
    fn impossible_values_are_refused() {
        assert!(matches!(
            Accumulator::new(256, 64, 1, false),
            Err(TmemError::Rows { .. })
        ));
        assert!(matches!(
            Accumulator::new(64, 64, 2, false),
            Err(TmemError::Rows { .. })
        ));
        assert_eq!(
            Accumulator::new(128, 264, 1, false),
            Err(TmemError::Columns(264))
        );
        assert_eq!(
            Accumulator::new(128, 0, 1, false),
            Err(TmemError::Columns(0))
        );
    }
}
