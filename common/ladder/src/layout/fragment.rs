//! `cargo ladder layout fragment m16n8k16 a`.
use anyhow::Result;
use clap::ValueEnum;
use layout::fragment::{Fragment, Operand};
use layout::show::Sheet;

#[derive(clap::Args)]
#[command(
    after_help = "For example: fragment m16n8k16 a | fragment m64n128k16 c | fragment ldmatrix.x4.trans"
)]
pub struct Arguments {
    /// m16n8k8, m16n8k16, m64nNk16 (wgmma), ldmatrix or stmatrix .x1, .x2 or .x4, also .trans
    shape: String,
    /// Which operand of a multiplication
    operand: Option<Which>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Which {
    /// M x K
    A,
    /// K x N
    B,
    /// M x N; D lies likewise
    C,
}

pub fn sheet(arguments: &Arguments) -> Result<Sheet> {
    let operand = arguments.operand.map(|which| match which {
        Which::A => Operand::A,
        Which::B => Operand::B,
        Which::C => Operand::C,
    });
    let fragment = Fragment::named(&arguments.shape, operand)?;
    let name = operand.map_or(arguments.shape.clone(), |operand| {
        format!("{} {operand:?}", arguments.shape)
    });
    Ok(layout::sheets::fragment(&name, &fragment)?)
}
