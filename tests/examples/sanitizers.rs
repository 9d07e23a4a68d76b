//! Runs the broken kernels under NVIDIA's compute-sanitizer, and compares its findings with those of the emulator's
//! `sanitize`. On a machine with a GPU and compute-sanitizer, in the workspace's folder, with the rungs' programs in
//! one folder: `sanitizers record DIR --programs target/release`; then, anywhere with NVRTC: `cargo run -p
//! ladder-tests --example sanitizers -- table DIR`.
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use ladder_tests::sanitizers::{Limits, TABLE, record, table};

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Launch every broken kernel on the GPU, alone and under each tool, and keep the output
    Record {
        /// The folder of the recording
        folder: PathBuf,
        /// The folder of the rungs' programs [default: that of this program]
        #[arg(long, value_name = "DIR")]
        programs: Option<PathBuf>,
        /// Kernels at a time
        #[arg(long, default_value_t = 16)]
        jobs: usize,
        /// Time limit in seconds of a kernel without a tool
        #[arg(long, default_value_t = 6)]
        alone: u64,
        /// Time limit in seconds of a kernel under a tool
        #[arg(long, default_value_t = 40)]
        watched: u64,
        /// Repeat only what had to be stopped in the existing recording
        #[arg(long)]
        again: bool,
    },
    /// Make the table of a recording
    Table {
        /// The folder of the recording
        folder: PathBuf,
    },
}

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Record {
            folder,
            programs,
            jobs,
            alone,
            watched,
            again,
        } => {
            let [alone, watched] = [alone, watched].map(Duration::from_secs);
            let limits = Limits {
                alone,
                watched,
                jobs,
                again,
            };
            let this = std::env::current_exe().unwrap_or_default();
            let beside = this.parent().map(Path::to_owned).unwrap_or_default();
            record(&folder, &programs.unwrap_or(beside), limits)
        }
        Command::Table { folder } => write_table(&folder),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn write_table(folder: &Path) -> std::io::Result<()> {
    let rows = table(folder)?;
    let mut writer = csv::Writer::from_path(folder.join(TABLE))?;
    for row in rows {
        writer.serialize(row)?;
    }
    writer.flush()
}
