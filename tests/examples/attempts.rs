//! Applies the patches in `results/attempts/` to the rungs' kernels and writes the results into a folder, for
//! `--kernel` of the rungs' programs and for `results/record.sh`: `cargo run -p ladder-tests --example attempts --
//! DIR`.
use std::path::Path;

use anyhow::{Context, Result};
use ladder_tests::attempts;

fn main() -> Result<()> {
    let folder = std::env::args().nth(1).context("usage: attempts DIR")?;
    for attempt in attempts::all()? {
        println!("{}", attempt.write(Path::new(&folder))?.display());
    }
    Ok(())
}
