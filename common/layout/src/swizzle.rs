//! CuTe's `Swizzle<B, M, S>`: B bits of an address are XORed into B others, S positions away.
//!
//! ```text
//! 0bxxxYYYxxxZZZxxxx    ZZZ ^= YYY      M low bits never change: a unit of 2^M moves as a whole
//!      |     |  `-- bit M                B bits, 2^B rows and columns of units until it repeats
//!      |     `----- S places             S > 0: high bits change low ones; S < 0: low change high
//! ```
//!
//! The caller chooses whether addresses count bytes or elements; the tables here count bytes, as the
//! hardware's swizzles do. Source: CuTe, `include/cute/swizzle.hpp`, whose assertions [`Swizzle::new`]
//! checks.
use serde::Serialize;

/// Bits of an address. Shared memory needs 18; more are harmless.
const ADDRESS_BITS: u32 = 32;

/// A swizzle of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Swizzle {
    bits: u32,
    base: u32,
    shift: i32,
}

/// Why a swizzle is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SwizzleError {
    /// YYY and ZZZ overlap.
    #[error(
        "{0} is refused, as in CuTe: with |S| below B the bits that are read overlap \
         the bits that are changed, so that applying it twice no longer undoes it; take S = {bits} \
         or -{bits}",
        bits = .0.bits
    )]
    Overlaps(Swizzle),
    /// S = 0: every bit would be XORed with itself.
    #[error(
        "{0} is refused, as in CuTe: each bit would be XORed with itself, so all addresses \
         of a row become the same one, and the map is not a bijection; take S = {bits} or -{bits}",
        bits = .0.bits
    )]
    Collapses(Swizzle),
    /// It needs bits beyond the last bit of an address.
    #[error(
        "{0} reaches past bit {last}, the last of an address: B + M + |S| must be at most \
         {ADDRESS_BITS}",
        last = ADDRESS_BITS - 1
    )]
    TooWide(Swizzle),
}

impl Swizzle {
    /// B = `bits`, M = `base`, S = `shift`.
    ///
    /// # Errors
    /// If |S| < B, or if B + M + |S| > 32.
    pub fn new(bits: u32, base: u32, shift: i32) -> Result<Self, SwizzleError> {
        let swizzle = Self { bits, base, shift };
        let top = u64::from(bits) + u64::from(base) + u64::from(shift.unsigned_abs());
        if top > u64::from(ADDRESS_BITS) {
            return Err(SwizzleError::TooWide(swizzle));
        }
        if shift == 0 && bits > 0 {
            return Err(SwizzleError::Collapses(swizzle));
        }
        if shift.unsigned_abs() < bits {
            return Err(SwizzleError::Overlaps(swizzle));
        }
        Ok(swizzle)
    }

    /// The swizzle that TMA and `wgmma` name by its width in bytes: 16 (none), 32, 64 or 128. On byte
    /// addresses these are `Swizzle<0,4,3>` to `<3,4,3>`. `None` for another width. Source: PTX ISA,
    /// "Asynchronous Warpgroup Level Matrix Instructions", "Canonical Layouts".
    pub fn of_width(bytes: u32) -> Option<Self> {
        let bits = [16, 32, 64, 128].iter().position(|&width| width == bytes)?;
        Some(Self {
            bits: bits as u32,
            base: 4,
            shift: 3,
        })
    }

    /// B: the number of XORed bits.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// M: the number of low bits that never change.
    pub fn base(&self) -> u32 {
        self.base
    }

    /// S: the distance from the bits that are read to those that are changed; negative if the changed bits
    /// are higher.
    pub fn shift(&self) -> i32 {
        self.shift
    }

    /// Mask of the bits that are read.
    pub fn y_mask(&self) -> u32 {
        self.mask(self.shift.max(0).unsigned_abs())
    }

    /// Mask of the bits that are changed.
    pub fn z_mask(&self) -> u32 {
        self.mask(self.shift.min(0).unsigned_abs())
    }

    fn mask(&self, up: u32) -> u32 {
        let ones = (1u64 << self.bits) - 1;
        (ones << (self.base + up)) as u32
    }

    /// Swizzles an address; the function is its own inverse. In rows and columns of units, the column of a
    /// unit becomes `col ^ (row mod 2^B)` for S > 0; for S < 0 the row becomes `row ^ (col mod 2^B)`.
    pub fn apply(&self, address: u32) -> u32 {
        // Computed in 64 bits, since S may be 32 where B is 0.
        let y = u64::from(address & self.y_mask());
        let places = self.shift.unsigned_abs();
        let moved = match self.shift {
            0.. => y >> places,
            _ => y << places,
        };
        address ^ moved as u32
    }

    /// Bytes of a unit, which always stay together.
    pub fn unit_bytes(&self) -> u64 {
        1 << self.base
    }

    /// Units from one value of the higher field to the next: the width of a row in the picture in which the
    /// swizzle is `col ^ row`.
    pub fn units_per_row(&self) -> u64 {
        1 << self.shift.unsigned_abs()
    }

    /// Tiles of 2^B units side by side in a row: the XOR stays within each tile.
    pub fn tiles_per_row(&self) -> u64 {
        self.units_per_row() >> self.bits
    }

    /// Bytes after which the pattern repeats.
    pub fn period_bytes(&self) -> u64 {
        match self.bits {
            0 => self.unit_bytes(),
            bits => 1 << (self.base + self.shift.unsigned_abs() + bits),
        }
    }
}

impl std::fmt::Display for Swizzle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Swizzle<{},{},{}>", self.bits, self.base, self.shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn swizzles() -> impl Strategy<Value = Swizzle> {
        (0u32..6, 0u32..9, 0i32..10, any::<bool>()).prop_map(|(bits, base, more, down)| {
            let shift = bits as i32 + more;
            Swizzle::new(bits, base, if down { -shift } else { shift }).expect("|S| >= B")
        })
    }

    proptest! {
        #[test]
        fn it_is_a_bijection_and_its_own_inverse(swizzle in swizzles(), address: u32) {
            prop_assert_eq!(swizzle.apply(swizzle.apply(address)), address);
            prop_assert_eq!(swizzle.apply(address) & !swizzle.z_mask(), address & !swizzle.z_mask());
        }

        #[test]
        fn it_is_col_xor_row_in_units(swizzle in swizzles(), row in 0u32..64, column: u32, byte: u32) {
            let (unit, per_row) = (swizzle.unit_bytes() as u32, swizzle.units_per_row() as u32);
            let (column, byte) = (column % per_row, byte % unit);
            let address = |(row, column): (u32, u32)| (row * per_row + column) * unit + byte;
            let mask = ((1u64 << swizzle.bits()) - 1) as u32;
            let moved = match swizzle.shift() {
                0.. => (row, column ^ (row & mask)),
                _ => (row ^ (column & mask), column),
            };
            prop_assert_eq!(swizzle.apply(address((row, column))), address(moved));
        }

        #[test]
        fn a_whole_period_is_permuted(bits in 0u32..4, base in 0u32..5, more in 0i32..3, down: bool) {
            let shift = bits as i32 + more;
            let swizzle = Swizzle::new(bits, base, if down { -shift } else { shift }).expect("|S| >= B");
            let mut seen: Vec<u32> = (0..swizzle.period_bytes() as u32).map(|a| swizzle.apply(a)).collect();
            seen.sort_unstable();
            prop_assert!(seen.iter().zip(0..).all(|(&found, wanted)| found == wanted));
        }
    }

    /// What the rejected swizzles would do, computed by hand: the reason why CuTe rejects them.
    #[test]
    fn each_rejected_swizzle_fails_in_its_way() {
        let raw = |bits: u32, base: u32, shift: u32, address: u32| {
            let y = address & (((1 << bits) - 1) << (base + shift));
            address ^ (y >> shift)
        };
        for (bits, shift) in [(2u32, 1u32), (3, 1), (3, 2), (4, 2)] {
            assert!(matches!(
                Swizzle::new(bits, 4, shift as i32),
                Err(SwizzleError::Overlaps { .. })
            ));
            assert!(matches!(
                Swizzle::new(bits, 4, -(shift as i32)),
                Err(SwizzleError::Overlaps { .. })
            ));
            let twice = |a| raw(bits, 4, shift, raw(bits, 4, shift, a));
            assert!(
                (0..4096).any(|a| twice(a) != a),
                "<{bits},4,{shift}> undoes itself after all"
            );
            let mut all: Vec<u32> = (0..4096).map(|a| raw(bits, 4, shift, a)).collect();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), 4096, "the map is still a bijection");
        }
        assert!(matches!(
            Swizzle::new(2, 4, 0),
            Err(SwizzleError::Collapses { .. })
        ));
        assert_eq!(
            raw(2, 4, 0, 0x30),
            raw(2, 4, 0, 0),
            "S = 0 sends different addresses to one"
        );
        assert!(matches!(
            Swizzle::new(3, 28, 3),
            Err(SwizzleError::TooWide { .. })
        ));
        assert!(Swizzle::new(0, 4, 0).is_ok(), "nothing is XORed");
        assert!(Swizzle::new(u32::MAX, u32::MAX, i32::MIN).is_err());
    }

    #[test]
    fn the_widths_of_the_hardware() {
        let by_width =
            [16, 32, 64, 128].map(|width| Swizzle::of_width(width).map(|s| s.to_string()));
        let names = [
            "Swizzle<0,4,3>",
            "Swizzle<1,4,3>",
            "Swizzle<2,4,3>",
            "Swizzle<3,4,3>",
        ];
        assert_eq!(by_width, names.map(|name| Some(name.to_string())));
        assert_eq!(Swizzle::of_width(48), None);
    }
}
