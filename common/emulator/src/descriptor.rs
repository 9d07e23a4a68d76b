//! The layout of a `wgmma` operand in shared memory: the matrix descriptor and the layouts that it can describe.
//!
//! Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions", "Matrix Descriptor Format",
//! "Strides" and "Canonical Layouts", for elements of 2 bytes. Where K is contiguous, as it must be for all other
//! element sizes, the layouts are the same in bytes: one element of 2 bytes then stands for several smaller elements or
//! a part of a larger one.

/// A decoded matrix descriptor. Offsets and addresses are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Descriptor {
    start: u32,
    leading: u32,
    stride: u32,
    base_offset: u32,
    /// Bytes of a row, within which the swizzle moves units of 16 bytes; 16 if there is no swizzle.
    width: u32,
}

/// Elements along K of one instruction.
pub(crate) const K: u32 = 16;
/// Elements in the 16-byte unit that a swizzle moves as a whole.
pub(crate) const UNIT: u32 = 8;
/// Bytes within which a swizzle moves units.
const LINE: u32 = 128;

impl Descriptor {
    /// Decodes 64 bits, or says what is wrong with them.
    pub fn decode(bits: u64) -> Result<Self, String> {
        let field = |at: u32| ((bits >> at & 0x3fff) << 4) as u32;
        let unused = bits & (3 << 14 | 3 << 30 | 7 << 46 | 0x3ff << 52);
        if unused != 0 {
            return Err(format!(
                "the descriptor 0x{bits:016x} has bits in no field (0x{unused:x}): encode addresses and offsets as \
                 (x & 0x3ffff) >> 4"
            ));
        }
        let width = match bits >> 62 {
            0 => 16,
            1 => 128,
            2 => 64,
            _ => 32,
        };
        let descriptor = Self {
            start: field(0),
            leading: field(16),
            stride: field(32),
            base_offset: (bits >> 49 & 7) as u32,
            width,
        };
        if width == 16 && descriptor.base_offset != 0 {
            return Err(format!(
                "the descriptor 0x{bits:016x} has the base offset {} but no swizzle: a base offset says where a \
                 swizzle's pattern starts",
                descriptor.base_offset
            ));
        }
        Ok(descriptor)
    }

    /// Width of the swizzle in bytes; 0 if there is none.
    pub fn swizzle_width(&self) -> u32 {
        if self.width == 16 { 0 } else { self.width }
    }

    /// Checks that an operand which starts inside a swizzled row also ends in it.
    pub fn check_row(&self, transposed: bool, mn: u32) -> Result<(), String> {
        if self.width == 16 {
            return Ok(());
        }
        let bytes = if transposed {
            (2 * mn).min(self.width)
        } else {
            2 * K
        };
        let at = self.start % self.width;
        if at + bytes <= self.width {
            return Ok(());
        }
        Err(format!(
            "the operand starts {at} bytes into a row of the {}-byte swizzle and takes {bytes} bytes of it: it would \
             run over the row's end",
            self.width
        ))
    }

    /// The address of the 16 bytes that hold element (mn, k): 8 elements along K, or along M or N for an
    /// operand that is transposed.
    #[inline(always)]
    pub fn unit(&self, transposed: bool, mn: u32, k: u32) -> u32 {
        self.swizzle(self.start + self.offset(transposed, mn, k))
    }

    /// The address that no unit of the operand is below.
    pub fn start(&self) -> u32 {
        self.start & !(LINE - 1)
    }

    /// An address that all units of the operand end below. The last unit has the largest multiples of both strides; a
    /// swizzle, and the place in its row, stay within a line.
    pub fn bound(&self, transposed: bool, mn: u32) -> u32 {
        let (mn, k) = match transposed {
            false => (mn - 1, K - UNIT),
            true => (mn - UNIT, K - 1),
        };
        self.start + self.offset(transposed, mn, k) + 2 * LINE + 2 * UNIT
    }

    #[inline(always)]
    fn offset(&self, transposed: bool, mn: u32, k: u32) -> u32 {
        let (width, leading, stride) = (self.width, self.leading, self.stride);
        match (transposed, width) {
            (false, 16) => mn % 8 * 16 + mn / 8 * stride + k / UNIT * leading,
            (false, _) => mn % 8 * width + mn / 8 * stride + k / UNIT * 16,
            (true, 16) => mn / UNIT * stride + k % 8 * 16 + k / 8 * leading,
            (true, _) => {
                let wide = width / 2;
                mn % wide / UNIT * 16 + mn / wide * leading + k % 8 * width + k / 8 * stride
            }
        }
    }

    /// Address bits 4 to 6 change with bits 7 to 9, relative to the start of the pattern, which is at a multiple
    /// of its size, or `base_offset` times 128 bytes after one.
    #[inline(always)]
    fn swizzle(&self, address: u32) -> u32 {
        let row = (address >> 7).wrapping_sub(self.base_offset);
        address ^ (row & (self.width / 16 - 1)) << 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_fields_are_named() {
        let error = |bits: u64| Descriptor::decode(bits).expect_err("wrong");
        assert!(error(1 << 14).contains("bits in no field (0x4000)"));
        assert!(error(1 << 52).contains("bits in no field"));
        assert!(error(3 << 49).contains("base offset 3 but no swizzle"));
        assert!(Descriptor::decode(3 << 49 | 1 << 62).is_ok());
    }

    #[test]
    fn every_unit_is_within_the_bounds() {
        for bits in 0..1u64 << 12 {
            // Start, both strides, base offset and swizzle: two or three bits of each.
            let field = |at: u64, count: u64| bits >> at & ((1 << count) - 1);
            let (start, leading, stride) =
                (0x40 + field(0, 3) * 3, field(3, 2) * 7, field(5, 2) * 9);
            let swizzle = field(7, 2);
            let base = if swizzle == 0 { 0 } else { field(9, 3) };
            let descriptor = start | leading << 16 | stride << 32 | base << 49 | swizzle << 62;
            let descriptor = Descriptor::decode(descriptor).expect("right");
            for (transposed, mn) in [(false, 64), (true, 64), (false, 8), (true, 8), (true, 96)] {
                let (step_mn, step_k) = if transposed { (8, 1) } else { (1, 8) };
                for mn_at in (0..mn).step_by(step_mn) {
                    for k in (0..16).step_by(step_k) {
                        let address = descriptor.unit(transposed, mn_at, k);
                        assert!(descriptor.start() <= address, "{descriptor:?}");
                        let bound = descriptor.bound(transposed, mn);
                        assert!(address + 16 <= bound, "{descriptor:?} {mn_at} {k}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_row_is_not_left() {
        let inside = Descriptor::decode(6 | 1 << 62).expect("right");
        assert_eq!(inside.check_row(false, 64), Ok(()));
        let beyond = Descriptor::decode(7 | 1 << 62).expect("right");
        assert!(
            beyond
                .check_row(false, 64)
                .is_err_and(|why| why.contains("112 bytes into a row of the 128-byte"))
        );
        assert_eq!(beyond.check_row(true, 8), Ok(()));
        assert!(beyond.check_row(true, 16).is_err());
    }
}
