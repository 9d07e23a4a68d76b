//! The four ways in which TMA writes a tile and `wgmma` reads it.
use emulator::Swizzle;

/// A mode: its name, the bytes of a row that TMA moves, and the same for TMA and for a descriptor.
pub struct Mode {
    pub name: &'static str,
    pub width: u32,
    pub swizzle: Swizzle,
    /// Bits 63 and 62 of the descriptor (PTX ISA, "Matrix Descriptor Format").
    pub descriptor: u32,
    /// Which address bits from 7 on are XORed into those from 4 on.
    pub mask: u32,
}

/// All four.
pub const ALL: [Mode; 4] = [
    Mode {
        name: "none",
        width: 16,
        swizzle: Swizzle::None,
        descriptor: 0,
        mask: 0,
    },
    Mode {
        name: "32B",
        width: 32,
        swizzle: Swizzle::B32,
        descriptor: 3,
        mask: 1,
    },
    Mode {
        name: "64B",
        width: 64,
        swizzle: Swizzle::B64,
        descriptor: 2,
        mask: 3,
    },
    Mode {
        name: "128B",
        width: 128,
        swizzle: Swizzle::B128,
        descriptor: 1,
        mask: 7,
    },
];
