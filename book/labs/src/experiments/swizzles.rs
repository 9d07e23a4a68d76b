//! The four swizzle modes in which TMA writes a tile and `wgmma` reads it.
use emulator::Swizzle;
use harness::Tiling;

use crate::lab::Argument;

/// Rows and columns of a tile.
pub const SIDE: usize = 64;

/// A mode: its name, the bytes of a row that TMA moves, and its encodings for TMA and for a descriptor.
pub struct Mode {
    pub name: &'static str,
    pub width: u32,
    pub swizzle: Swizzle,
    /// Bits 63 and 62 of the descriptor (PTX ISA, "Matrix Descriptor Format").
    pub descriptor: u32,
    /// Mask of the address bits from bit 7 on that are XORed into those from bit 4 on.
    pub mask: u32,
}

/// All four modes.
pub const ALL: [Mode; 4] = [
    mode("none", 16, Swizzle::None, 0, 0),
    mode("32B", 32, Swizzle::B32, 3, 1),
    mode("64B", 64, Swizzle::B64, 2, 3),
    mode("128B", 128, Swizzle::B128, 1, 7),
];

const fn mode(
    name: &'static str,
    width: u32,
    swizzle: Swizzle,
    descriptor: u32,
    mask: u32,
) -> Mode {
    Mode {
        name,
        width,
        swizzle,
        descriptor,
        mask,
    }
}

/// The tensor map of a matrix with these columns and rows, whose boxes are `width` bytes of all rows of a tile.
pub fn map(matrix: &[u8], dimensions: [u64; 2], width: u32, swizzle: Swizzle) -> Argument {
    let tiling = Tiling {
        dimensions,
        row_bytes: 2 * dimensions[0],
        tile: [width / 2, SIDE as u32],
        swizzle,
    };
    Argument::Map(matrix.to_vec(), tiling)
}
