//! `cargo ladder layout descriptor decode|encode|canonical`.
use anyhow::{Context, Result};
use clap::{Subcommand, ValueEnum};
use layout::canonical::{Canonical, Major};
use layout::descriptor::{Descriptor, Mode};
use layout::show::Sheet;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Explain 64 bits
    Decode {
        /// The descriptor, such as 0x4000004000010040
        bits: String,
    },
    /// Make the 64 bits and explain them; addresses and offsets in bytes
    Encode {
        /// Address in shared memory
        #[arg(long, value_parser = number, default_value = "0")]
        start: u32,
        /// Leading dimension byte offset
        #[arg(long, value_parser = number, default_value = "16")]
        leading: u32,
        /// Stride dimension byte offset
        #[arg(long, value_parser = number)]
        stride: u32,
        /// Width of the swizzle in bytes
        #[arg(long, value_enum, default_value = "none")]
        swizzle: Width,
        /// Base offset: 0 where the tile is aligned to 8 rows of the swizzle
        #[arg(long, value_parser = number, default_value = "0")]
        base_offset: u32,
    },
    /// Where the elements of an operand must lie, with its descriptor
    Canonical {
        /// What is contiguous in memory
        #[arg(value_enum)]
        major: Contiguous,
        /// Width of the swizzle in bytes
        #[arg(value_enum)]
        swizzle: Width,
        /// Elements along M or N
        #[arg(long, default_value_t = 64)]
        mn: u32,
        /// Elements along K
        #[arg(long, default_value_t = 16)]
        k: u32,
        /// Bytes of an element
        #[arg(long, default_value_t = 2)]
        element: u32,
        /// Address in shared memory
        #[arg(long, value_parser = number, default_value = "0")]
        start: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Contiguous {
    /// K: A row-major, B column-major
    K,
    /// M or N: A column-major, B row-major
    Mn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Width {
    /// No swizzle
    None,
    /// 32 bytes
    #[value(name = "32")]
    B32,
    /// 64 bytes
    #[value(name = "64")]
    B64,
    /// 128 bytes
    #[value(name = "128")]
    B128,
}

impl From<Width> for Mode {
    fn from(width: Width) -> Self {
        match width {
            Width::None => Mode::None,
            Width::B32 => Mode::B32,
            Width::B64 => Mode::B64,
            Width::B128 => Mode::B128,
        }
    }
}

pub fn sheet(arguments: &Arguments) -> Result<Sheet> {
    match &arguments.what {
        What::Decode { bits } => {
            let digits = bits.trim_start_matches("0x").replace('_', "");
            let bits = u64::from_str_radix(&digits, 16).with_context(|| {
                format!("{bits} is no descriptor: up to 16 hexadecimal digits are needed")
            })?;
            Ok(layout::sheets::descriptor(bits))
        }
        &What::Encode {
            start,
            leading,
            stride,
            swizzle,
            base_offset,
        } => {
            let descriptor = Descriptor {
                start,
                leading,
                stride,
                base_offset,
                mode: swizzle.into(),
            };
            Ok(layout::sheets::descriptor(descriptor.encode()?))
        }
        &What::Canonical {
            major,
            swizzle,
            mn,
            k,
            element,
            start,
        } => {
            let major = if major == Contiguous::K {
                Major::K
            } else {
                Major::Mn
            };
            let layout = Canonical {
                major,
                mode: swizzle.into(),
                element_bytes: element,
                mn,
                k,
            };
            Ok(layout::sheets::canonical(&layout, start)?)
        }
    }
}

/// A decimal or 0x number.
fn number(text: &str) -> Result<u32, std::num::ParseIntError> {
    text.strip_prefix("0x")
        .map_or_else(|| text.parse(), |digits| u32::from_str_radix(digits, 16))
}
