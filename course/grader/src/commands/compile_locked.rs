//! `ladder compile-locked`, hidden: what `grade --untrusted` starts for each kernel that it compiles.
use std::path::Path;

use anyhow::Result;
use harness::Error;

use crate::sandbox::{self, Limits, Sandboxed};

#[derive(clap::Args)]
pub struct Arguments {
    /// CPU seconds; the wall-clock limit is twice as many plus two
    #[arg(long)]
    seconds: u32,
    /// MiB of memory
    #[arg(long)]
    mebibytes: u32,
    /// Assemble the PTX instead
    #[arg(long)]
    assemble: bool,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    let &Arguments {
        seconds,
        mebibytes,
        assemble,
    } = arguments;
    let limits = Limits { seconds, mebibytes };
    match assemble {
        true => sandbox::assembler::serve(limits)?,
        false => sandbox::child::serve(limits)?,
    }
    Ok(true)
}

/// A compiler that runs this ladder's hidden command for each kernel.
///
/// # Errors
/// See [`Sandboxed::new`].
pub fn sandboxed(ladder: &Path, limits: Limits) -> Result<Sandboxed, Error> {
    let arguments = vec![
        "compile-locked".into(),
        format!("--seconds={}", limits.seconds),
        format!("--mebibytes={}", limits.mebibytes),
    ];
    Sandboxed::new(ladder, arguments, limits)
}
