//! The command line: each file is one command, which parses its arguments, calls the library and prints the result.
mod calibrate;
mod ceilings;
mod joules;
mod launch_recording;
mod sanitizers;
mod stalls;

use anyhow::Result;

/// The commands for the owner of a GPU.
#[derive(clap::Subcommand)]
pub enum Command {
    /// Measure the peak rate of each resource of this GPU per clock
    Ceilings(ceilings::Arguments),
    /// Measure the power and the energy of the tensor cores, for several values of the operands
    Joules(joules::Arguments),
    /// Compare the emulator with recordings of hardware, file by file
    Calibrate(calibrate::Arguments),
    /// Compare `sanitize` with compute-sanitizer, recorded on an H200, on broken kernels
    Sanitizers(sanitizers::Arguments),
    /// Run by `calibrate --record` under Nsight Compute
    #[command(hide = true)]
    LaunchRecording(launch_recording::Arguments),
    /// Stall reasons of a kernel's warps, as a table from Nsight Compute's output
    Stalls(stalls::Arguments),
}

impl Command {
    /// Carries out the command; returns whether everything is equal or succeeded.
    ///
    /// # Errors
    /// For bad usage, or a missing file or program.
    pub fn run(&self) -> Result<bool> {
        match self {
            Self::Ceilings(arguments) => ceilings::run(arguments),
            Self::Joules(arguments) => joules::run(arguments),
            Self::Calibrate(arguments) => calibrate::run(arguments),
            Self::Sanitizers(arguments) => sanitizers::run(arguments),
            Self::LaunchRecording(arguments) => launch_recording::run(arguments),
            Self::Stalls(arguments) => stalls::run(arguments),
        }
    }
}
