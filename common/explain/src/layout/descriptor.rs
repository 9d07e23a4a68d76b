//! `cargo ladder layout descriptor decode|encode|canonical`.
use anyhow::{Context, Result};
use clap::Subcommand;
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
    /// Decode a descriptor's 64 bits
    Decode {
        /// The descriptor, such as 0x4000004000010040
        bits: String,
    },
    /// Encode a descriptor and explain its fields; addresses and offsets are in bytes
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
        swizzle: Mode,
        /// Base offset: 0 where the tile is aligned to 8 rows of the swizzle
        #[arg(long, value_parser = number, default_value = "0")]
        base_offset: u32,
    },
    /// Where the elements of an operand must be stored, and its descriptor
    Canonical {
        /// The dimension that is contiguous in memory
        #[arg(value_enum)]
        major: Major,
        /// Width of the swizzle in bytes
        #[arg(value_enum)]
        swizzle: Mode,
        /// Elements along M or N
        #[arg(long, default_value_t = 64)]
        mn: u32,
        /// Elements along K
        #[arg(long, default_value_t = 16)]
        k: u32,
        /// Bytes of an element
        #[arg(long = "element", value_name = "ELEMENT", default_value_t = 2)]
        element_bytes: u32,
        /// Address in shared memory
        #[arg(long, value_parser = number, default_value = "0")]
        start: u32,
    },
}

pub fn sheet(arguments: &Arguments) -> Result<Sheet> {
    match &arguments.what {
        What::Decode { bits } => {
            let digits = bits.trim_start_matches("0x").replace('_', "");
            let bits = u64::from_str_radix(&digits, 16).with_context(|| {
                format!("{bits} is not a descriptor: write up to 16 hexadecimal digits")
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
                mode: swizzle,
            };
            Ok(layout::sheets::descriptor(descriptor.encode()?))
        }
        &What::Canonical {
            major,
            swizzle,
            mn,
            k,
            element_bytes,
            start,
        } => {
            let layout = Canonical {
                major,
                mode: swizzle,
                element_bytes,
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
