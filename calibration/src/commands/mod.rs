//! The command line: each file is one command, which turns its arguments into a call and prints what comes back.
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
    /// Measure what each resource of this GPU can do in a clock
    Ceilings(ceilings::Arguments),
    /// Measure the power and the energy of the tensor cores, for several values of the operands
    Joules(joules::Arguments),
    /// Hold the emulator against recorded hardware, file by file
    Calibrate(calibrate::Arguments),
    /// Compare `sanitize` with compute-sanitizer, recorded on an H200, on broken kernels
    Sanitizers(sanitizers::Arguments),
    /// What `calibrate --record` has Nsight Compute watch
    #[command(hide = true)]
    LaunchRecording(launch_recording::Arguments),
    /// What a kernel's warps waited for, as a table from what Nsight Compute printed
    Stalls(stalls::Arguments),
}

impl Command {
    /// Does it; whether all was well.
    ///
    /// # Errors
    /// For bad usage, or if something is missing.
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
