//! Rung 02: a block shares tiles of A and B in shared memory; a thread computes 8x8 elements of C.
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
        name: "02_smem",
        kernels: KERNELS,
        switches: &[],
    })
}
