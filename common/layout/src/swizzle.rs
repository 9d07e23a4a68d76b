//! CuTe's `Swizzle<B, M, S>`: B bits of an address are XORed into B others, S places away.
//!
//! ```text
//! 0bxxxYYYxxxZZZxxxx    ZZZ ^= YYY      M low bits never change: a unit of 2^M moves as a whole
//!      |     |  `-- bit M                B bits, 2^B rows and columns of units until it repeats
//!      |     `----- S places             S > 0: high bits change low ones; S < 0: low change high
//! ```
//!
//! What it counts in, bytes or elements, is the caller's choice; the tables here count in bytes, as the
//! hardware's swizzles do. Source: CuTe, `include/cute/swizzle.hpp`, whose checks are [`Swizzle::new`]'s.
use serde::Serialize;

/// Bits of an address. Shared memory needs 18; more does no harm.
const ADDRESS_BITS: u32 = 32;

/// A swizzle of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Swizzle {
    bits: u32,
    base: u32,
    shift: i32,
}

/// Why there is no such swizzle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SwizzleError {
    /// YYY and ZZZ overlap.
    #[error(
        "{0} is refused, as in CuTe: |S| must be at least B, or the bits that are read overlap \
         the bits that are changed, so that doing it twice no longer undoes it; take S = {bits} \
         or -{bits}",
        bits = .0.bits
    )]
    Overlaps(Swizzle),
    /// S = 0: every bit would be XORed with itself.
    #[error(
        "{0} is refused, as in CuTe: each bit would be XORed with itself, so that all addresses \
         of a row become one: not even a bijection; take S = {bits} or -{bits}",
        bits = .0.bits
    )]
    Collapses(Swizzle),
    /// It needs bits that no address has.
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

    /// The swizzle that TMA and `wgmma` call by its width in bytes: 16 (none), 32, 64 or 128, which are
    /// `Swizzle<0,4,3>` to `<3,4,3>` on byte addresses. `None` for another width. Source: PTX ISA,
    /// "Asynchronous Warpgroup Level Matrix Instructions", "Canonical Layouts".
    pub fn of_width(bytes: u32) -> Option<Self> {
        let bits = [16, 32, 64, 128].iter().position(|&width| width == bytes)?;
        Some(Self {
            bits: bits as u32,
            base: 4,
            shift: 3,
        })
    }

    /// B: how many bits are XORed.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// M: how many low bits stay.
    pub fn base(&self) -> u32 {
        self.base
    }

    /// S: how far the bits travel; negative: upwards.
    pub fn shift(&self) -> i32 {
        self.shift
    }

    /// The bits that are read.
    pub fn y_mask(&self) -> u32 {
        self.mask(self.shift.max(0).unsigned_abs())
    }

    /// The bits that are changed.
    pub fn z_mask(&self) -> u32 {
        self.mask(self.shift.min(0).unsigned_abs())
    }

    fn mask(&self, up: u32) -> u32 {
        let ones = (1u64 << self.bits) - 1;
        (ones << (self.base + up)) as u32
    }

    /// Where an address goes. It is its own inverse. In rows and columns of units, the column of a unit
    /// becomes `col ^ (row mod 2^B)` for S > 0; for S < 0 the row becomes `row ^ (col mod 2^B)`.
    pub fn apply(&self, address: u32) -> u32 {
        // In 64 bits, for S may be 32 where B is 0.
        let y = u64::from(address & self.y_mask());
        let places = self.shift.unsigned_abs();
        let moved = match self.shift {
            0.. => y >> places,
            _ => y << places,
        };
        address ^ moved as u32
    }

    /// Bytes that always stay together.
    pub fn unit_bytes(&self) -> u64 {
        1 << self.base
    }

    /// Units from one value of the higher field to the next: the row of the picture in which the swizzle
    /// is `col ^ row`.
    pub fn units_per_row(&self) -> u64 {
        1 << self.shift.unsigned_abs()
    }

    /// Tiles of 2^B units side by side in a row: the XOR stays within each.
    pub fn tiles_per_row(&self) -> u64 {
        self.units_per_row() >> self.bits
    }

    /// After how many bytes the pattern repeats.
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

    /// What the refused ones would do, done by hand: why CuTe refuses them.
    #[test]
    fn the_refused_are_refused_for_a_reason() {
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
            assert_eq!(all.len(), 4096, "it is still a bijection");
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
