//! `cargo ladder layout swizzle B M S`.
use anyhow::Result;
use layout::show::Sheet;
use layout::swizzle::Swizzle;

#[derive(clap::Args)]
pub struct Arguments {
    /// Number of XORed bits
    b: u32,
    /// Number of low bits that never change: a unit of 2^M bytes moves as a whole
    m: u32,
    /// Distance from the bits that are read to those that are changed; negative if the changed bits are higher
    #[arg(allow_negative_numbers = true)]
    s: i32,
}

pub fn sheet(arguments: &Arguments) -> Result<Sheet> {
    let swizzle = Swizzle::new(arguments.b, arguments.m, arguments.s)?;
    Ok(layout::sheets::swizzle(&swizzle))
}
