//! `cargo ladder layout fragment m16n8k16 a`.
use anyhow::Result;
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
    operand: Option<Operand>,
}

pub fn sheet(arguments: &Arguments) -> Result<Sheet> {
    let Arguments { shape, operand } = arguments;
    let fragment = Fragment::named(shape, *operand)?;
    let name = operand.map_or(shape.clone(), |operand| format!("{shape} {operand:?}"));
    Ok(layout::sheets::fragment(&name, &fragment)?)
}
