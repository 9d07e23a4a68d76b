//! Rung 04: tensor cores, fed by `ldmatrix` from plain row-major tiles.
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
        name: "04_mma",
        kernels: KERNELS,
        switches: &[],
    })
}
