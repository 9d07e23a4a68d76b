//! The axis notation: which element of a logical array is stored where, on named axes of the machine.
//!
//! ```text
//! S[(8, 4, 2) : (4@laneid, 1@laneid, 1@m)] + R[4 : 32@TLane] + 1@byte
//!    |           `- strides, each on an axis   |               `- an offset
//!    `- extents of the logical index           `- copies, at every multiple of the stride
//! ```
//!
//! The logical index is row-major: of `(8, 4, 2)` the last extent varies fastest, so an 8 x 8 matrix is
//! indexed by `(row, column / 2, column % 2)`. Each part of the index moves its stride along the stride's
//! axis; a stride that names no axis is on `m`: the offset in memory, or for a register its index within the
//! thread. Each step of `R` stores another copy of the whole array. Source: Apache TVM, "Tensor Layout"
//! (TIRx).
mod parse;

use std::collections::{BTreeMap, HashMap};

pub use parse::AxisError;

use crate::show::list;

/// Most elements, copies included, that a layout may have.
pub const MAX_ELEMENTS: u64 = 1 << 20;

/// The axis of a stride that names none.
pub const MEMORY: &str = "m";

/// `extent` steps of `stride` along `axis`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iter {
    /// The number of steps.
    pub extent: u32,
    /// How far each step moves.
    pub stride: u32,
    /// The axis along which it moves.
    pub axis: String,
}

/// The position of an element: a value on each axis.
pub type Position = BTreeMap<String, u32>;

/// A layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AxisLayout {
    shard: Vec<Iter>,
    replica: Vec<Iter>,
    offset: Vec<(u32, String)>,
}

impl AxisLayout {
    /// Makes a layout of these parts.
    ///
    /// # Errors
    /// If it has no element, more than [`MAX_ELEMENTS`], or a coordinate that needs more than 31 bits.
    pub fn new(
        shard: Vec<Iter>,
        replica: Vec<Iter>,
        offset: Vec<(u32, String)>,
    ) -> Result<Self, AxisError> {
        let iters = || shard.iter().chain(&replica);
        let size = iters().try_fold(1u64, |size, iter| size.checked_mul(iter.extent.into()));
        let reach = iters().try_fold(0u64, |reach, iter| {
            reach.checked_add(u64::from(iter.extent) * u64::from(iter.stride))
        });
        let offsets: u64 = offset.iter().map(|(by, _)| u64::from(*by)).sum();
        let fits = size.is_some_and(|size| (1..=MAX_ELEMENTS).contains(&size))
            && reach.is_some_and(|reach| reach.saturating_add(offsets) < 1 << 31);
        if fits && !shard.is_empty() {
            Ok(Self {
                shard,
                replica,
                offset,
            })
        } else {
            Err(AxisError::Size)
        }
    }

    /// Parses the notation.
    ///
    /// # Errors
    /// If the text is not a layout, or the layout is too large.
    pub fn parse(text: &str) -> Result<Self, AxisError> {
        parse::parse(text)
    }

    /// The parts of the logical index.
    pub fn shard(&self) -> &[Iter] {
        &self.shard
    }

    /// Number of elements of the logical array.
    pub fn size(&self) -> u32 {
        self.shard.iter().map(|iter| iter.extent).product()
    }

    /// Number of copies of each element.
    pub fn copies(&self) -> u32 {
        self.replica.iter().map(|iter| iter.extent).product()
    }

    /// All positions of the element with this row-major index, the first copy first; empty if there is no
    /// such element.
    pub fn positions(&self, index: u32) -> Vec<Position> {
        if index >= self.size() {
            return Vec::new();
        }
        let iters = self.shard.iter().chain(&self.replica);
        let mut base: Position = iters.map(|iter| (iter.axis.clone(), 0)).collect();
        for (by, axis) in &self.offset {
            *base.entry(axis.clone()).or_default() += by;
        }
        step(&mut base, &self.shard, index);
        let copy = |copy| {
            let mut position = base.clone();
            step(&mut position, &self.replica, copy);
            position
        };
        (0..self.copies()).map(copy).collect()
    }

    /// The inverse map: the elements at each position in use. Several elements at one position mean that the
    /// layout loses data.
    pub fn inverse(&self) -> HashMap<Position, Vec<u32>> {
        let mut inverse = HashMap::<Position, Vec<u32>>::new();
        for index in 0..self.size() {
            for position in self.positions(index) {
                inverse.entry(position).or_default().push(index);
            }
        }
        inverse
    }
}

/// Adds the contribution of a row-major index over these iters.
fn step(position: &mut Position, iters: &[Iter], mut index: u32) {
    for iter in iters.iter().rev() {
        *position.entry(iter.axis.clone()).or_default() += index % iter.extent * iter.stride;
        index /= iter.extent;
    }
}

impl std::fmt::Display for AxisLayout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "S[{}]", Iters(&self.shard))?;
        if !self.replica.is_empty() {
            write!(f, " + R[{}]", Iters(&self.replica))?;
        }
        self.offset
            .iter()
            .try_for_each(|(by, axis)| write!(f, " + {by}@{axis}"))
    }
}

struct Iters<'a>(&'a [Iter]);

impl std::fmt::Display for Iters<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let stride = |Iter { stride, axis, .. }: &Iter| format!("{stride}@{axis}");
        let extents = list(self.0.iter().map(|iter| iter.extent));
        let strides = list(self.0.iter().map(stride));
        match self.0.len() {
            1 => write!(f, "{extents} : {strides}"),
            _ => write!(f, "({extents}) : ({strides})"),
        }
    }
}

/// The value on an axis; 0 where the layout does not have it.
pub fn on(position: &Position, axis: &str) -> u32 {
    position.get(axis).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn iters(most: usize) -> impl Strategy<Value = Vec<Iter>> {
        let axis = prop_oneof!["laneid", "m", "TLane", "TCol", "warpid"];
        let iter = (1u32..5, 0u32..40, axis).prop_map(|(extent, stride, axis)| Iter {
            extent,
            stride,
            axis,
        });
        prop::collection::vec(iter, 0..most)
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_again(shard in iters(5), replica in iters(3), by in 0u32..9) {
            prop_assume!(!shard.is_empty());
            let layout = AxisLayout::new(shard, replica, vec![(by, "byte".into())]).expect("small");
            prop_assert_eq!(AxisLayout::parse(&layout.to_string()), Ok(layout));
        }

        #[test]
        fn both_ways_agree(shard in iters(5), replica in iters(3)) {
            prop_assume!(!shard.is_empty());
            let layout = AxisLayout::new(shard, replica, Vec::new()).expect("small");
            let inverse = layout.inverse();
            for index in 0..layout.size() {
                prop_assert_eq!(layout.positions(index).len(), layout.copies() as usize);
                let positions = layout.positions(index);
                prop_assert!(positions.iter().all(|position| inverse[position].contains(&index)));
            }
            let places: usize = inverse.values().map(Vec::len).sum();
            prop_assert_eq!(places as u32, layout.size() * layout.copies());
        }

        #[test]
        fn no_text_panics(text in "[SR@m0-9()\\[\\]:,+ ]{0,40}|.{0,20}") {
            let _ = AxisLayout::parse(&text);
        }
    }

    #[test]
    fn an_element_has_one_place_per_copy() {
        let layout = AxisLayout::parse("S[(32, 4) : (1@TLane, 1@TCol)] + R[4 : 32@TLane]")
            .expect("a layout");
        let places = layout.positions(5 * 4 + 3);
        let seen: Vec<_> = places
            .iter()
            .map(|place| (on(place, "TLane"), on(place, "TCol")))
            .collect();
        assert_eq!(seen, [(5, 3), (37, 3), (69, 3), (101, 3)]);
        assert!(layout.positions(128).is_empty());
    }
}
