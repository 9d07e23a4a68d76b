//! Tensor maps, which describe the tensor and the tiles of bulk tensor copies.
//!
//! The rules are those of `cuTensorMapEncodeTiled` (CUDA driver API, "Tensor Map Object Management"). The 128
//! bytes are in a format of the emulator's own, as a driver's are in NVIDIA's: neither can read the other's.
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

/// How TMA permutes the 16-byte chunks of a tile over the banks of shared memory: within each pattern, bits 4
/// and up of the shared address are XORed with bits 7 and up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Swizzle {
    /// No swizzle.
    #[default]
    None,
    /// One bit, in rows of 32 bytes; the pattern repeats every 256 bytes.
    B32,
    /// Two bits, in rows of 64 bytes; the pattern repeats every 512 bytes.
    B64,
    /// Three bits, in rows of 128 bytes; the pattern repeats every 1024 bytes.
    B128,
}

impl Swizzle {
    /// The swizzle of this width in bytes, 0 for none.
    pub fn of_width(bytes: u32) -> Option<Self> {
        let all = [Self::None, Self::B32, Self::B64, Self::B128];
        all.into_iter().find(|swizzle| swizzle.bytes() == bytes)
    }

    /// The longest row of a tile, in bytes.
    pub(crate) fn width(self) -> Option<u32> {
        match self {
            Swizzle::None => None,
            Swizzle::B32 => Some(32),
            Swizzle::B64 => Some(64),
            Swizzle::B128 => Some(128),
        }
    }

    /// Its width in bytes; 0 if there is none.
    pub(crate) fn bytes(self) -> u32 {
        self.width().unwrap_or(0)
    }

    /// The swizzled address of the byte at this unswizzled shared address.
    pub(crate) fn apply(self, address: u32) -> u32 {
        let mask = match self {
            Swizzle::None => 0,
            Swizzle::B32 => 1,
            Swizzle::B64 => 3,
            Swizzle::B128 => 7,
        };
        address ^ (address >> 7 & mask) << 4
    }
}

/// The type of an element. A copy moves bits; the type matters only for its size and for [`Fill::Nan`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Element {
    /// 8 bits.
    U8,
    /// 16 bits.
    U16,
    /// 32 bits.
    U32,
    /// 32 bits.
    I32,
    /// 64 bits.
    U64,
    /// 64 bits.
    I64,
    /// Half precision.
    #[default]
    F16,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
    /// Brain floating point.
    Bf16,
}

impl Element {
    pub(crate) const ALL: [Element; 10] = [
        Element::U8,
        Element::U16,
        Element::U32,
        Element::I32,
        Element::U64,
        Element::I64,
        Element::F16,
        Element::F32,
        Element::F64,
        Element::Bf16,
    ];

    /// Its size in bytes.
    pub fn bytes(self) -> u32 {
        match self {
            Element::U8 => 1,
            Element::U16 | Element::F16 | Element::Bf16 => 2,
            Element::U32 | Element::I32 | Element::F32 => 4,
            Element::U64 | Element::I64 | Element::F64 => 8,
        }
    }

    fn is_float(self) -> bool {
        matches!(
            self,
            Element::F16 | Element::F32 | Element::F64 | Element::Bf16
        )
    }

    /// The NaN that is read for elements outside the tensor.
    fn nan(self) -> u64 {
        match self {
            Element::F16 | Element::Bf16 => 0x7fff,
            Element::F32 => 0x7fff_ffff,
            Element::F64 => 0x7fff_ffff_ffff_ffff,
            Element::U8
            | Element::U16
            | Element::U32
            | Element::I32
            | Element::U64
            | Element::I64 => 0,
        }
    }
}

/// What a load writes for elements outside the tensor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fill {
    /// Zeros.
    #[default]
    Zeros,
    /// A NaN; floating-point elements only. Which NaN is not documented: here it is all bits but the sign.
    Nan,
}

/// A tensor that starts at the first byte of a buffer, and the tile that one copy moves. All lists begin with the
/// innermost dimension.
#[derive(Clone, Copy, Debug)]
pub struct TensorMap<'a> {
    /// What the tensor holds.
    pub element: Element,
    /// Elements in each dimension, 1 to 2^32; 1 to 5 dimensions.
    pub dimensions: &'a [u64],
    /// Bytes from one element to the next in each dimension except the innermost: multiples of 16 below 2^40.
    pub strides: &'a [u64],
    /// Elements of the tile in each dimension, 1 to 256; a row of it is a multiple of 16 bytes, and at most
    /// the width of the swizzle.
    pub tile: &'a [u32],
    /// The stride between the elements that are copied in each dimension, 1 to 8; empty for all 1. The innermost is
    /// ignored.
    pub element_strides: &'a [u32],
    /// The order in shared memory.
    pub swizzle: Swizzle,
    /// The value of elements outside the tensor.
    pub fill: Fill,
}

/// A rule of `cuTensorMapEncodeTiled` that a map breaks. Dimensions are numbered from 0, the innermost.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorMapError {
    /// The number of dimensions.
    #[error("a tensor of {0} dimensions; TMA takes 1 to 5")]
    Rank(usize),
    /// The lengths of the lists do not match.
    #[error(
        "{dimensions} dimensions need {dimensions} tile sides and one stride fewer (the innermost has none); given: tile sides {tile}, strides {strides}"
    )]
    Lists {
        /// Length of the list of dimensions.
        dimensions: usize,
        /// Length of the list of strides.
        strides: usize,
        /// Length of the list of the tile's sides.
        tile: usize,
    },
    /// The tensor's address.
    #[error("the tensor starts at 0x{0:x}, which is not a multiple of 16 bytes")]
    Address(u64),
    /// A dimension's size.
    #[error("dimension {dimension} has {size} elements; TMA takes 1 to 2^32")]
    Size {
        /// Which.
        dimension: usize,
        /// Its size in elements.
        size: u64,
    },
    /// A stride.
    #[error(
        "the stride of dimension {dimension} is {bytes} bytes; it must be a multiple of 16 below 2^40"
    )]
    Stride {
        /// Which.
        dimension: usize,
        /// The stride in bytes.
        bytes: u64,
    },
    /// A side of the tile.
    #[error("side {dimension} of the tile is {elements} elements; TMA takes 1 to 256")]
    Tile {
        /// Which.
        dimension: usize,
        /// Its length.
        elements: u32,
    },
    /// The tile's rows.
    #[error("a row of the tile is {0} bytes; it must be a multiple of 16")]
    Row(u64),
    /// The tile's rows and the swizzle.
    #[error(
        "a row of the tile is {row} bytes, and the swizzle is {width} bytes wide: split the tile"
    )]
    SwizzleWidth {
        /// Bytes of a row.
        row: u64,
        /// Bytes of the swizzle.
        width: u64,
    },
    /// The stride between elements.
    #[error("element stride {stride} in dimension {dimension}; TMA takes 1 to 8")]
    ElementStride {
        /// Which dimension.
        dimension: usize,
        /// The stride in elements.
        stride: u32,
    },
    /// NaN for integers.
    #[error("integers have no NaN to fill with")]
    Fill,
}

impl TensorMap<'_> {
    /// The map of a tensor at this device address, which need not be the start of a buffer; see
    /// [`crate::Context::tensor_map`].
    ///
    /// # Errors
    /// The first rule that the map breaks.
    pub fn encode(&self, address: u64) -> Result<[u8; 128], TensorMapError> {
        Ok(self.check(address)?.encode())
    }

    fn check(&self, address: u64) -> Result<Tile, TensorMapError> {
        let rank = self.dimensions.len();
        if !(1..=5).contains(&rank) {
            return Err(TensorMapError::Rank(rank));
        }
        let strided = self.element_strides.is_empty() || self.element_strides.len() == rank;
        if self.strides.len() + 1 != rank || self.tile.len() != rank || !strided {
            return Err(TensorMapError::Lists {
                dimensions: rank,
                strides: self.strides.len(),
                tile: self.tile.len(),
            });
        }
        if !address.is_multiple_of(16) {
            return Err(TensorMapError::Address(address));
        }
        let size = u64::from(self.element.bytes());
        let mut tile = Tile {
            rank,
            element: self.element,
            swizzle: self.swizzle,
            nan: self.fill == Fill::Nan,
            address,
            dimensions: [1; 5],
            strides: [0; 5],
            sides: [1; 5],
            steps: [1; 5],
        };
        tile.strides[0] = size;
        for (dimension, &size) in self.dimensions.iter().enumerate() {
            if !(1..=1 << 32).contains(&size) {
                return Err(TensorMapError::Size { dimension, size });
            }
            tile.dimensions[dimension] = size;
        }
        for (dimension, &bytes) in (1..).zip(self.strides) {
            if bytes % 16 != 0 || bytes >= 1 << 40 {
                return Err(TensorMapError::Stride { dimension, bytes });
            }
            tile.strides[dimension] = bytes;
        }
        for (dimension, &elements) in self.tile.iter().enumerate() {
            if !(1..=256).contains(&elements) {
                return Err(TensorMapError::Tile {
                    dimension,
                    elements,
                });
            }
            tile.sides[dimension] = elements;
        }
        let row = u64::from(self.tile[0]) * size;
        if row % 16 != 0 {
            return Err(TensorMapError::Row(row));
        }
        if let Some(width) = self.swizzle.width().map(u64::from)
            && row > width
        {
            return Err(TensorMapError::SwizzleWidth { row, width });
        }
        for (dimension, &stride) in self.element_strides.iter().enumerate() {
            if !(1..=8).contains(&stride) {
                return Err(TensorMapError::ElementStride { dimension, stride });
            }
            // "The first element of this array is ignored" without interleave.
            if dimension > 0 {
                tile.steps[dimension] = stride;
            }
        }
        if self.fill == Fill::Nan && !self.element.is_float() {
            return Err(TensorMapError::Fill);
        }
        Ok(tile)
    }
}

/// A decoded map; unused dimensions have one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tile {
    pub rank: usize,
    pub element: Element,
    pub swizzle: Swizzle,
    nan: bool,
    pub address: u64,
    pub dimensions: [u64; 5],
    pub strides: [u64; 5],
    sides: [u32; 5],
    steps: [u32; 5],
}

/// The first bytes of the emulator's maps.
const MAGIC: [u8; 8] = *b"TMA tile";

impl Tile {
    /// Elements that a copy moves in each dimension.
    pub fn counts(&self) -> [u32; 5] {
        std::array::from_fn(|d| self.sides[d].div_ceil(self.steps[d]))
    }
    /// The stride between the elements that are copied.
    pub fn step(&self, dimension: usize) -> u32 {
        self.steps[dimension]
    }
    /// Bytes of a row of the tile.
    pub fn row_bytes(&self) -> u32 {
        self.counts()[0] * self.element.bytes()
    }
    /// Bytes of the whole tile: the tx-count of its completion.
    pub fn bytes(&self) -> u64 {
        let elements: u64 = self.counts().map(u64::from).iter().product();
        elements * u64::from(self.element.bytes())
    }
    /// The value that is read for an element outside the tensor.
    pub fn outside(&self) -> u64 {
        if self.nan { self.element.nan() } else { 0 }
    }

    fn encode(&self) -> [u8; 128] {
        let mut out = [0; 128];
        out[..8].copy_from_slice(&MAGIC);
        let element = Element::ALL.iter().position(|&e| e == self.element);
        let swizzle = self.swizzle.width().map_or(0, |w| w / 32);
        out[8..12].copy_from_slice(&[
            self.rank as u8,
            element.unwrap_or(0) as u8,
            swizzle as u8,
            self.nan.into(),
        ]);
        out[16..24].copy_from_slice(&self.address.to_le_bytes());
        for d in 0..5 {
            let size = (self.dimensions[d] - 1) as u32;
            out[24 + 4 * d..28 + 4 * d].copy_from_slice(&size.to_le_bytes());
            let stride = self.strides[d].to_le_bytes();
            out[48 + 8 * d..56 + 8 * d].copy_from_slice(&stride);
            out[88 + 2 * d..90 + 2 * d].copy_from_slice(&(self.sides[d] as u16).to_le_bytes());
            out[98 + d] = self.steps[d] as u8;
        }
        let sum = checksum(&out[..120]);
        out[120..].copy_from_slice(&sum.to_le_bytes());
        out
    }

    /// Decodes a map from these bytes, if it is one of the emulator's.
    pub fn decode(bytes: &[u8; 128]) -> Option<Self> {
        let number = |at: usize, len: usize| {
            let mut raw = [0; 8];
            raw[..len].copy_from_slice(&bytes[at..at + len]);
            u64::from_le_bytes(raw)
        };
        if bytes[..8] != MAGIC || number(120, 8) != checksum(&bytes[..120]) {
            return None;
        }
        let swizzle = match bytes[10] {
            0 => Swizzle::None,
            1 => Swizzle::B32,
            2 => Swizzle::B64,
            4 => Swizzle::B128,
            _ => return None,
        };
        let tile = Self {
            rank: bytes[8].into(),
            element: *Element::ALL.get(usize::from(bytes[9]))?,
            swizzle,
            nan: bytes[11] != 0,
            address: number(16, 8),
            dimensions: std::array::from_fn(|d| number(24 + 4 * d, 4) + 1),
            strides: std::array::from_fn(|d| number(48 + 8 * d, 8)),
            sides: std::array::from_fn(|d| number(88 + 2 * d, 2) as u32),
            steps: std::array::from_fn(|d| number(98 + d, 1) as u32),
        };
        let sound = (1..=5).contains(&tile.rank)
            && tile.sides.iter().all(|side| (1..=256).contains(side))
            && tile.steps.iter().all(|step| (1..=8).contains(step))
            && tile.strides.iter().all(|&stride| stride < 1 << 40);
        sound.then_some(tile)
    }
}

/// Detects a map that was overwritten. The key is random in each process, so that a kernel cannot compute the checksum.
fn checksum(bytes: &[u8]) -> u64 {
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    KEY.hash_one(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map() -> TensorMap<'static> {
        TensorMap {
            element: Element::F16,
            dimensions: &[264, 328],
            strides: &[528],
            tile: &[64, 128],
            element_strides: &[],
            swizzle: Swizzle::B128,
            fill: Fill::Zeros,
        }
    }

    #[test]
    fn an_encoded_map_is_decoded_and_other_bytes_are_refused() {
        let mut bytes = map().encode(1 << 40).expect("a map");
        let tile = Tile::decode(&bytes).expect("decoded");
        assert_eq!(tile.encode(), bytes);
        assert_eq!((tile.bytes(), tile.rank), (64 * 128 * 2, 2));
        bytes[30] ^= 1;
        assert_eq!(Tile::decode(&bytes), None);
        assert_eq!(Tile::decode(&[0; 128]), None);
    }

    #[test]
    fn every_rule_is_checked_with_its_reason() {
        let says = |map: TensorMap<'_>, what: &str| {
            let error = map.encode(1 << 40).expect_err(what).to_string();
            assert!(error.contains(what), "{error}");
        };
        says(
            TensorMap {
                dimensions: &[],
                ..map()
            },
            "0 dimensions",
        );
        says(
            TensorMap {
                strides: &[],
                ..map()
            },
            "2 dimensions need 2 tile sides and one stride fewer",
        );
        says(
            TensorMap {
                element_strides: &[1],
                ..map()
            },
            "2 dimensions need 2 tile sides and one stride fewer",
        );
        assert_eq!(map().encode(8), Err(TensorMapError::Address(8)));
        says(
            TensorMap {
                dimensions: &[264, 0],
                ..map()
            },
            "dimension 1 has 0 elements",
        );
        says(
            TensorMap {
                dimensions: &[264, 1 << 33],
                ..map()
            },
            "TMA takes 1 to 2^32",
        );
        says(
            TensorMap {
                strides: &[520],
                ..map()
            },
            "stride of dimension 1 is 520 bytes",
        );
        says(
            TensorMap {
                strides: &[1 << 40],
                ..map()
            },
            "below 2^40",
        );
        says(
            TensorMap {
                tile: &[64, 257],
                ..map()
            },
            "side 1 of the tile is 257",
        );
        says(
            TensorMap {
                tile: &[64, 0],
                ..map()
            },
            "side 1 of the tile is 0",
        );
        says(
            TensorMap {
                tile: &[60, 128],
                ..map()
            },
            "a row of the tile is 120 bytes",
        );
        says(
            TensorMap {
                tile: &[128, 64],
                ..map()
            },
            "256 bytes, and the swizzle is 128",
        );
        says(
            TensorMap {
                element_strides: &[1, 9],
                ..map()
            },
            "element stride 9",
        );
        says(
            TensorMap {
                element: Element::U16,
                fill: Fill::Nan,
                ..map()
            },
            "no NaN",
        );
    }
}
