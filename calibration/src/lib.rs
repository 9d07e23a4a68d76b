//! For the owner of a GPU: recordings of real cards (`h100/`, `h200/`), the recorder, and the comparison with the
//! emulator.
//!
//! | module | what it answers |
//! | --- | --- |
//! | [`instructions`] | does the emulator do what hardware does, instruction by instruction? |
//! | `kernels` | does the emulator reproduce whole kernels, line by line? |
//! | `recordings` | which recordings are there? |
//! | `compare`, `record` | how are all recordings compared with the emulator, or made on a GPU? |
//! | `ncu`, `stalls` | how is Nsight Compute called and its output parsed; why did warps stall? |
//! | `ceilings` | what is the peak rate of each resource of a GPU per clock? |
//! | `joules` | what does a FLOP of the tensor cores cost, at the power limit? |
//! | `sanitizers` | what do compute-sanitizer and the emulator find in broken kernels? |
//! | `commands` | the command line; no other module prints or knows its arguments |
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

/// The accesses of a kernel's loads and stores at [`SIZE_OF_COUNTERS`], on the emulator and on the recorded H200;
/// `None` if it is not recorded. The label is its rung, architecture and tile.
///
/// # Errors
/// If the recording or the rung's program is missing.
pub fn counters(label: [&str; 3]) -> anyhow::Result<Option<[Counts; 2]>> {
    kernels::counters(&recordings::Recordings::of_h200(), &label)
}
