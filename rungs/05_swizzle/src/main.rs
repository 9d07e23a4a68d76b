//! Rung 05: one XOR in the address, and every wavefront is used.
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
        name: "05_swizzle",
        kernels: KERNELS,
        switches: &[],
    })
}
