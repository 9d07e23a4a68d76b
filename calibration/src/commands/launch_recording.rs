//! `cargo ladder launch-recording`, hidden: launches the kernels of one recording under Nsight Compute.
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::record;

#[derive(clap::Args)]
pub struct Arguments {
    /// The recording
    file: PathBuf,
    /// Which GPU: gpu or gpu:N
    #[arg(long, default_value = "gpu", value_parser = ordinal)]
    device: usize,
}

pub fn run(arguments: &Arguments) -> Result<bool> {
    record::launch(&arguments.file, arguments.device).map(|()| true)
}

/// The command that runs this program's `launch-recording`.
pub fn command(file: &Path, gpu: usize) -> Result<Command> {
    let this = std::env::current_exe().context("cannot find the path of this program")?;
    let mut command = Command::new(this);
    command.arg("launch-recording").arg(file);
    command.args(["--device", &format!("gpu:{gpu}")]);
    Ok(command)
}

/// A GPU as on the command line: `gpu` or `gpu:1`.
pub fn ordinal(text: &str) -> Result<usize, &'static str> {
    let number = match text.strip_prefix("gpu") {
        Some("") => Some(0),
        Some(rest) => rest.strip_prefix(':').and_then(|n| n.parse().ok()),
        None => None,
    };
    number.ok_or("expected gpu or gpu:N")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_are_numbered() {
        assert_eq!(ordinal("gpu"), Ok(0));
        assert_eq!(ordinal("gpu:3"), Ok(3));
        for text in ["", "3", "gpu:", "gpu:x", "gpu3", "emulator"] {
            assert!(ordinal(text).is_err(), "{text}");
        }
    }
}
