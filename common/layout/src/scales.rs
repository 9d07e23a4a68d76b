//! Blackwell's scale factors: where block-scaled `tcgen05.mma` expects them in Tensor Memory.
//!
//! A factor is one byte. The factors of row r of A (or column r of B) are in lane r % 32, in the 32-bit
//! column r / 32, byte by byte. They are stored four times, once in each group of 32 lanes, since each
//! quarter of the data path reads its own lanes. So 128 rows with up to four factors take 32 lanes x 4
//! columns, four times:
//!
//! ```text
//! S[(4, 32, 4) : (1@TCol, 1@TLane, 1@byte)] + R[4 : 32@TLane]
//! ```
//!
//! `scale_vec::1X` uses one byte of the 32-bit cell, 2X two and 4X all four. The instruction descriptor's
//! SFA_ID (or SFB_ID) selects them: 0 to 3 for 1X, 0 or 2 for 2X, and 0 for 4X. The other bytes hold factors
//! of other steps along K: no factor is replicated within a cell.
//!
//! Documented, not measured: PTX ISA, "Block Scaling", "Scale Factor A ID", "Scale Factor B ID"; for rows above 32 and for
//! two CTAs CUTLASS, `include/cute/atom/mma_traits_sm100.hpp` (`tmem_sf_frg`), since the PTX ISA shows them
//! only as figures.
use crate::axis::{AxisError, AxisLayout};

/// Which operand is scaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Scaled {
    /// SFA
    ///
    /// A factor for each row of A and K block.
    A,
    /// SFB
    ///
    /// A factor for each column of B and K block.
    B,
}

/// The scale factors of one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scales {
    of: Scaled,
    rows: u32,
    vector: u32,
    id: u32,
    cta_group: u32,
}

/// Where one copy of a factor is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// CTA of the pair.
    pub cta: u32,
    /// Lane, 0 to 127.
    pub lane: u32,
    /// 32-bit column, from the first.
    pub column: u32,
    /// Byte of the column.
    pub byte: u32,
}

/// Why a layout is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScalesError {
    /// A vector size that the tables do not have.
    #[error(
        "scale_vec::{0}X is not in these tables: there are 1X, 2X and 4X (the forms for K = 96 \
         are shown by the PTX ISA only as figures)"
    )]
    Vector(u32),
    /// An ID that this vector size does not have.
    #[error("scale_vec::{vector}X has no ID {id}: 1X takes 0 to 3, 2X takes 0 or 2, 4X takes 0")]
    Id {
        /// 1, 2 or 4.
        vector: u32,
        /// The ID.
        id: u32,
    },
    /// A number of rows of A that does not fit the number of CTAs.
    #[error(
        "block-scaled A has 128 rows for cta_group::1 and 256 for cta_group::2, not {rows} for \
         cta_group::{cta_group}; how \
         128 rows over two CTAs have their factors, neither the PTX ISA's text nor CUTLASS \
         settles, so it is left out"
    )]
    RowsOfA {
        /// Rows.
        rows: u32,
        /// 1 or 2.
        cta_group: u32,
    },
    /// A number of columns of B that is out of range.
    #[error("B has from 32 to 256 columns here, in steps of 32, not {0}: round up")]
    ColumnsOfB(u32),
    /// A number of CTAs other than 1 or 2.
    #[error("cta_group::{0}: there are 1 and 2")]
    CtaGroup(u32),
}

impl Scales {
    /// The factors of A (M x vector) or B (N x vector), with an ID.
    ///
    /// # Errors
    /// If these values do not fit each other.
    pub fn new(
        of: Scaled,
        rows: u32,
        vector: u32,
        id: u32,
        cta_group: u32,
    ) -> Result<Self, ScalesError> {
        if ![1, 2].contains(&cta_group) {
            return Err(ScalesError::CtaGroup(cta_group));
        }
        let ids: &[u32] = match vector {
            1 => &[0, 1, 2, 3],
            2 => &[0, 2],
            4 => &[0],
            _ => return Err(ScalesError::Vector(vector)),
        };
        if !ids.contains(&id) {
            return Err(ScalesError::Id { vector, id });
        }
        match of {
            Scaled::A if rows != 128 * cta_group => {
                return Err(ScalesError::RowsOfA { rows, cta_group });
            }
            Scaled::B if !(32..=256).contains(&rows) || !rows.is_multiple_of(32) => {
                return Err(ScalesError::ColumnsOfB(rows));
            }
            _ => {}
        }
        Ok(Self {
            of,
            rows,
            vector,
            id,
            cta_group,
        })
    }

    /// Rows (of A) or columns (of B), and factors of each.
    pub fn shape(&self) -> (u32, u32) {
        (self.rows, self.vector)
    }

    /// 32-bit columns of Tensor Memory in each CTA.
    pub fn columns(&self) -> u32 {
        match self.of {
            Scaled::A => 4,
            Scaled::B => self.rows / 32,
        }
    }

    /// Every place of a factor: four copies in a CTA, and B's in both CTAs of a pair. Empty for a factor that
    /// does not exist.
    pub fn places(&self, row: u32, factor: u32) -> Vec<Place> {
        if row >= self.rows || factor >= self.vector {
            return Vec::new();
        }
        let (ctas, row) = match self.of {
            Scaled::A => (row / 128..row / 128 + 1, row % 128),
            Scaled::B => (0..self.cta_group, row),
        };
        let copies = ctas.flat_map(|cta| (0..4u32).map(move |copy| (cta, copy)));
        let place = |(cta, copy)| Place {
            cta,
            lane: row % 32 + 32 * copy,
            column: row / 32,
            byte: self.id + factor,
        };
        copies.map(place).collect()
    }

    /// The factor at a place; `None` where this instruction reads none.
    pub fn factor(&self, place: Place) -> Option<(u32, u32)> {
        let factor = place.byte.checked_sub(self.id)?;
        let exists =
            place.cta < self.cta_group && place.lane < 128 && place.column < self.columns();
        let row = place.column * 32 + place.lane % 32;
        let row = match self.of {
            Scaled::A => place.cta * 128 + row,
            Scaled::B => row,
        };
        (exists && factor < self.vector).then_some((row, factor))
    }

    /// The same in the axis notation, written out by hand rather than derived.
    ///
    /// # Errors
    /// Never, for the layouts that exist.
    pub fn axis(&self) -> Result<AxisLayout, AxisError> {
        let (sf, id, groups) = (self.vector, self.id, self.columns());
        let body = format!("({groups}, 32, {sf}) : (1@TCol, 1@TLane, 1@byte)");
        AxisLayout::parse(&match (self.of, self.cta_group) {
            (Scaled::A, 2) => format!(
                "S[(2, 4, 32, {sf}) : (1@cta, 1@TCol, 1@TLane, 1@byte)] + R[4 : 32@TLane] + \
                 {id}@byte"
            ),
            (Scaled::B, 2) => format!("S[{body}] + R[(2, 4) : (1@cta, 32@TLane)] + {id}@byte"),
            _ => format!("S[{body}] + R[4 : 32@TLane] + {id}@byte"),
        })
    }

    /// The notation that other texts often print for 128 rows; it omits all rows but the first 32.
    pub fn often_printed(&self) -> String {
        format!(
            "S[(32, {}) : (1@TLane, 1@TCol)] + R[4 : 32@TLane]",
            self.vector
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::on;

    fn all() -> Vec<Scales> {
        let vectors = [(1, 0), (1, 1), (1, 2), (1, 3), (2, 0), (2, 2), (4, 0)];
        let rows = [
            (Scaled::A, 128, 1),
            (Scaled::A, 256, 2),
            (Scaled::B, 96, 1),
            (Scaled::B, 256, 1),
            (Scaled::B, 256, 2),
        ];
        let both = vectors
            .into_iter()
            .flat_map(|vector| rows.map(|row| (vector, row)));
        both.map(|((vector, id), (of, rows, ctas))| {
            Scales::new(of, rows, vector, id, ctas).expect("a layout")
        })
        .collect()
    }

    #[test]
    fn both_ways_and_the_axis_notation_agree() {
        for scales in all() {
            let (rows, vector) = scales.shape();
            let axis = scales.axis().expect("a layout");
            assert_eq!(axis.size(), rows * vector);
            let mut seen = std::collections::HashSet::new();
            for (row, factor) in
                (0..rows).flat_map(|row| (0..vector).map(move |factor| (row, factor)))
            {
                let places = scales.places(row, factor);
                let found = axis.positions(row * vector + factor).into_iter();
                let found = found.map(|at| Place {
                    cta: on(&at, "cta"),
                    lane: on(&at, "TLane"),
                    column: on(&at, "TCol"),
                    byte: on(&at, "byte"),
                });
                assert_eq!(found.collect::<Vec<_>>(), places, "{scales:?}");
                for place in places {
                    assert!(
                        place.lane < 128 && place.byte < 4 && seen.insert(place),
                        "{scales:?}"
                    );
                    assert_eq!(scales.factor(place), Some((row, factor)));
                }
            }
        }
    }

    /// The notation that other texts often print holds 32 rows; 96 of 128 rows would have no factor.
    #[test]
    fn the_often_printed_layout_is_too_small() {
        let scales = Scales::new(Scaled::A, 128, 4, 0, 1).expect("a layout");
        let printed = AxisLayout::parse(&scales.often_printed()).expect("a layout");
        assert_eq!(printed.size(), 32 * 4);
        assert_eq!(scales.axis().expect("a layout").size(), 128 * 4);
    }

    #[test]
    fn two_ctas() {
        let a = Scales::new(Scaled::A, 256, 4, 0, 2).expect("a layout");
        assert!(
            a.places(130, 1).iter().all(|place| place.cta == 1),
            "A's factors follow A's rows"
        );
        let b = Scales::new(Scaled::B, 256, 4, 0, 2).expect("a layout");
        assert_eq!(b.places(130, 1).len(), 8, "both CTAs hold B's factors");
    }

    #[test]
    fn impossible_values_are_refused() {
        assert_eq!(
            Scales::new(Scaled::A, 128, 3, 0, 1),
            Err(ScalesError::Vector(3))
        );
        assert_eq!(
            Scales::new(Scaled::A, 128, 2, 1, 1),
            Err(ScalesError::Id { vector: 2, id: 1 })
        );
        assert!(matches!(
            Scales::new(Scaled::A, 128, 4, 0, 2),
            Err(ScalesError::RowsOfA { .. })
        ));
        assert_eq!(
            Scales::new(Scaled::B, 48, 4, 0, 1),
            Err(ScalesError::ColumnsOfB(48))
        );
        assert_eq!(
            Scales::new(Scaled::B, 64, 4, 0, 3),
            Err(ScalesError::CtaGroup(3))
        );
    }
}
