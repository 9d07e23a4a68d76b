//! Rung 01: one thread computes one element of C, straight from global memory.
use std::process::ExitCode;

use harness::{KernelFile, Rung, Switch};

const KERNELS: &[KernelFile] = &[KernelFile {
    file: "kernel.cu",
    source: include_str!("../kernel.cu"),
    configuration: "",
    speed: 1.0,
    ptx: include_str!("../kernel.ptx"),
    arch: "sm_80",
}];

const SWITCHES: &[Switch] = &[Switch {
    flag: "uncoalesced",
    help: "Let the lanes of a warp lie along columns of C instead of a row",
}];

fn main() -> ExitCode {
    harness::main(&Rung {
        name: "01_naive",
        kernels: KERNELS,
        switches: SWITCHES,
    })
}
