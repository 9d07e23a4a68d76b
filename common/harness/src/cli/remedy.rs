//! The flag or command that helps: a library's error names the remedy in words, and this module how to type it.
use gpu::GpuError;

use crate::Error;

/// The message of an error with the flags that help.
pub fn explained(error: &Error) -> String {
    let text = error.to_string();
    match flags(error) {
        Some(flags) => format!("{text} ({flags})"),
        None => text,
    }
}

fn flags(error: &Error) -> Option<&'static str> {
    Some(match error {
        Error::BenchOnEmulator => "omit `--device emulator` and `--emulate`",
        Error::EmulatorOnly => "omit `--device gpu`",
        Error::OwnKernelsOnly => "omit `--kernel`",
        Error::Unsteady { .. } => "`sanitize` shows where",
        Error::Fault(_) => "`sanitize` looks for more",
        Error::Ceilings(..) => "`cargo ladder ceilings` writes it on a GPU",
        Error::WrongGpu { .. } => "`--device emulator`",
        Error::EmulatedOnGpu(_) => "omit `--device gpu` or `--emulate`",
        Error::WrongCard { .. } => "omit `--emulate`, or `--arch sm_80`",
        Error::NoTile { has, .. } if has.is_empty() => "omit `--tile`",
        Error::ArchOfPtx { .. } => "omit `--arch`",
        Error::TooLarge(_) => "`--size`",
        Error::Memory { .. } => "`--max-memory`, `--size`",
        Error::Emulator(emulator::Error::BlockLimit { .. }) => "`--max-blocks`",
        Error::Emulator(emulator::Error::InstructionLimit { .. }) => "`--max-instructions`",
        Error::Emulator(
            emulator::Error::MemoryLimit { .. } | emulator::Error::OutOfMemory { .. },
        ) => "`--max-memory`",
        Error::Gpu(GpuError::NoDriver | GpuError::OldDriver { .. } | GpuError::NoDevice) => {
            "`--device emulator`"
        }
        Error::Gpu(GpuError::NoSuchDevice { .. }) => "`--device gpu:N`",
        Error::Gpu(GpuError::Dimension { .. } | GpuError::Driver { code: 2, .. }) => "`--size`",
        Error::Gpu(GpuError::Load { code: 209, .. }) => "`--arch`",
        _ => return None,
    })
}
