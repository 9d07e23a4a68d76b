//! Rung 03: four unused floats after each row of As, so that the transposed store has no bank conflicts.
use std::process::ExitCode;

use harness::{KernelFile, Rung};

const KERNELS: &[KernelFile] = &[KernelFile {
    file: "kernel.cu",
    source: include_str!("../kernel.cu"),
    configuration: "",
    speed: 1.0,
    ptx: include_str!("../kernel.ptx"),
    arch: "sm_80",
}];

fn main() -> ExitCode {
    harness::main(&Rung {
        name: "03_padded",
        kernels: KERNELS,
        switches: &[],
    })
}
