//! The 64-bit descriptor of an operand of `wgmma` in shared memory.
//!
//! | bits | field | unit |
//! | --- | --- | --- |
//! | 13-0 | start address | 16 bytes |
//! | 29-16 | leading dimension byte offset | 16 bytes |
//! | 45-32 | stride dimension byte offset | 16 bytes |
//! | 51-49 | base offset | 128 bytes, mod 8 |
//! | 63-62 | swizzle: 0 none, 1 128 bytes, 2 64 bytes, 3 32 bytes | |
//!
//! Source: PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions", "Matrix Descriptor Format".
use crate::swizzle::Swizzle;

/// Addresses and offsets are below this: they have 18 bits.
pub const LIMIT: u32 = 1 << 18;

/// How the operand's 16-byte units are swizzled; each mode permutes units within twice as many bytes as the
/// one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Mode {
    /// No swizzle
    None,
    /// 32 bytes
    #[cfg_attr(feature = "clap", value(name = "32"))]
    B32,
    /// 64 bytes
    #[cfg_attr(feature = "clap", value(name = "64"))]
    B64,
    /// 128 bytes
    #[cfg_attr(feature = "clap", value(name = "128"))]
    B128,
}

impl Mode {
    /// All of them.
    pub const ALL: [Mode; 4] = [Mode::None, Mode::B32, Mode::B64, Mode::B128];

    /// The mode with this width in bytes; 16 or 0 is no swizzle.
    pub fn of_bytes(bytes: u32) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|mode| mode.bytes() == bytes.max(16))
    }

    /// The width: units change places within this many bytes.
    pub fn bytes(self) -> u32 {
        16 << self as u32
    }

    /// The encoding in the descriptor's bits 63-62.
    pub fn code(self) -> u32 {
        match self {
            Mode::None => 0,
            Mode::B128 => 1,
            Mode::B64 => 2,
            Mode::B32 => 3,
        }
    }

    /// The encoding in TMA's `CUtensorMapSwizzle`, which counts the other way: 0 for none to 3 for 128 bytes.
    pub fn tma_code(self) -> u32 {
        self as u32
    }

    /// The same swizzle in CuTe's notation, on byte addresses: `Swizzle<0,4,3>` to `<3,4,3>`.
    pub fn swizzle(self) -> Option<Swizzle> {
        Swizzle::of_width(self.bytes())
    }

    /// Bytes after which the pattern repeats, 8 rows; align the operand to it.
    pub fn pattern_bytes(self) -> u32 {
        8 * self.bytes()
    }
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Mode::None => f.write_str("no swizzle"),
            mode => write!(f, "{}-byte swizzle", mode.bytes()),
        }
    }
}

/// The fields of a descriptor, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Address in shared memory.
    pub start: u32,
    /// Leading dimension byte offset; not used by swizzled K-major operands.
    pub leading: u32,
    /// Stride dimension byte offset.
    pub stride: u32,
    /// 0 where the swizzle's pattern starts at a multiple of its size, else (pattern start / 128) mod 8.
    pub base_offset: u32,
    /// The swizzle.
    pub mode: Mode,
}

/// Why a descriptor cannot be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DescriptorError {
    /// A field is not a multiple of 16, or too large.
    #[error("the {field} is {value}; it must be a multiple of 16 below {LIMIT}")]
    Field {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u32,
    },
    /// The base offset has three bits.
    #[error(
        "the base offset is {0}; it has 3 bits: 0 to 7, and is 0 where the tile is aligned to 8 \
         rows of the swizzle"
    )]
    BaseOffset(u32),
}

impl Descriptor {
    /// Encodes the 64 bits.
    ///
    /// # Errors
    /// If an address or offset is not a multiple of 16 below 2^18, or the base offset exceeds 7.
    pub fn encode(&self) -> Result<u64, DescriptorError> {
        let field = |field, value: u32| {
            let fits = value.is_multiple_of(16) && value < LIMIT;
            if fits {
                Ok(u64::from(value >> 4))
            } else {
                Err(DescriptorError::Field { field, value })
            }
        };
        if self.base_offset > 7 {
            return Err(DescriptorError::BaseOffset(self.base_offset));
        }
        Ok(field("start address", self.start)?
            | field("leading dimension byte offset", self.leading)? << 16
            | field("stride dimension byte offset", self.stride)? << 32
            | u64::from(self.base_offset) << 49
            | u64::from(self.mode.code()) << 62)
    }

    /// Decodes 64 bits. Bits outside every field are ignored: see [`unused_bits`].
    pub fn decode(bits: u64) -> Self {
        let field = |at: u32| ((bits >> at & 0x3fff) << 4) as u32;
        let code = (bits >> 62) as u32;
        let mode = Mode::ALL
            .into_iter()
            .find(|mode| mode.code() == code)
            .unwrap_or(Mode::None);
        let base_offset = (bits >> 49 & 7) as u32;
        Self {
            start: field(0),
            leading: field(16),
            stride: field(32),
            base_offset,
            mode,
        }
    }

    /// The base offset for a pattern that starts at this address. Source: PTX ISA, "Matrix Descriptor
    /// Format".
    pub fn base_offset_of(pattern_start: u32) -> u32 {
        pattern_start >> 7 & 7
    }
}

/// The set bits outside every field; they should be 0.
pub fn unused_bits(bits: u64) -> u64 {
    let used = 0x3fff | 0x3fff << 16 | 0x3fff << 32 | 7 << 49 | 3 << 62;
    bits & !used
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn decode_undoes_encode(fields in [0u32..1 << 14, 0..1 << 14, 0..1 << 14], base_offset in 0u32..8, mode in 0usize..4) {
            let [start, leading, stride] = fields.map(|field| field * 16);
            let descriptor = Descriptor { start, leading, stride, base_offset, mode: Mode::ALL[mode] };
            let bits = descriptor.encode().expect("fits");
            prop_assert_eq!(Descriptor::decode(bits), descriptor);
            prop_assert_eq!(unused_bits(bits), 0);
        }

        #[test]
        fn encode_undoes_decode(bits: u64) {
            prop_assert_eq!(Descriptor::decode(bits).encode(), Ok(bits & !unused_bits(bits)));
        }
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let good = Descriptor {
            start: 1024,
            leading: 16,
            stride: 1024,
            base_offset: 0,
            mode: Mode::B128,
        };
        assert_eq!(good.encode(), Ok(0x4000_0040_0001_0040));
        let error =
            |descriptor: Descriptor| descriptor.encode().expect_err("does not fit").to_string();
        assert!(error(Descriptor { start: 8, ..good }).contains("start address is 8"));
        assert!(
            error(Descriptor {
                stride: LIMIT,
                ..good
            })
            .contains("stride")
        );
        assert!(
            error(Descriptor {
                base_offset: 8,
                ..good
            })
            .contains("0 to 7")
        );
    }

    #[test]
    fn the_two_enumerations_run_opposite_ways() {
        assert_eq!(Mode::ALL.map(Mode::code), [0, 3, 2, 1]);
        assert_eq!(Mode::ALL.map(Mode::tma_code), [0, 1, 2, 3]);
        assert_eq!(Mode::of_bytes(0), Some(Mode::None));
        assert_eq!(Mode::of_bytes(48), None);
    }
}
