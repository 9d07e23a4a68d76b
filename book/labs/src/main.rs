//! The command `labs`: one of the book's experiments, on the emulator or a GPU.
use std::process::ExitCode;

fn main() -> ExitCode {
    labs::main()
}
