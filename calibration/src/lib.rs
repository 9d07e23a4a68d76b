//! For the owner of a GPU: recordings of real cards (`h100/`, `h200/`), the recorder, and the comparison of the emulator with them.
//!
//! | module | what it answers |
//! | --- | --- |
//! | [`instructions`] | does the emulator do what hardware does, instruction by instruction? |
//! | `kernels` | and whole kernels, line by line? |
//! | `recordings` | which recordings are there? |
//! | `compare`, `record` | all of them: compared with the emulator, made on a GPU |
//! | `ncu`, `stalls` | how Nsight Compute is called and read; why warps stalled, as a table |
//! | `ceilings` | what can each resource of a GPU do in a clock? |
//! | `joules` | what does a FLOP of the tensor cores cost, at the power limit? |
//! | `sanitizers` | what do compute-sanitizer and the emulator find in broken kernels? |
//! | `commands` | the command line over all of these; nothing else prints or knows its arguments |
mod ceilings;
mod commands;
mod compare;
pub mod instructions;
mod joules;
mod kernels;
mod microbenchmarks;
mod ncu;
mod record;
mod recordings;
mod sanitizers;
mod stalls;

pub use commands::Command;
pub use kernels::{Counts, SIZE_OF_COUNTERS};
pub use ncu::RawPage;
pub use sanitizers::SOUND;

/// What a kernel's loads and stores ask of the memory at [`SIZE_OF_COUNTERS`], on the emulator and on the recorded H200;
/// none if it is not recorded. The label is its rung, architecture and tile.
///
/// # Errors
/// If the recording or the rung's program is missing.
pub fn counters(label: [&str; 3]) -> anyhow::Result<Option<[Counts; 2]>> {
    kernels::counters(&recordings::Recordings::of_h200(), &label)
}
