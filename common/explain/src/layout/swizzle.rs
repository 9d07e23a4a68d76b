//! `cargo ladder layout swizzle B M S`.
use anyhow::Result;
use layout::show::Sheet;
use layout::swizzle::Swizzle;

#[derive(clap::Args)]
pub struct Arguments {
    /// How many bits are XORed
    b: u32,
    /// How many low bits stay: a unit of 2^M bytes moves as a whole
    m: u32,
    /// How far the bits travel; negative: upwards
    #[arg(allow_negative_numbers = true)]
    s: i32,
}

pub fn sheet(arguments: &Arguments) -> Result<Sheet> {
    let swizzle = Swizzle::new(arguments.b, arguments.m, arguments.s)?;
    Ok(layout::sheets::swizzle(&swizzle))
}
