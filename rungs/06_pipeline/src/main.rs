//! Rung 06: the loads are hidden, as Ampere does it and as Hopper does.
use std::process::ExitCode;

use harness::{KernelFile, Rung};

const HOPPER: KernelFile = KernelFile {
    file: "kernel_hopper.cu",
    source: include_str!("../kernel_hopper.cu"),
    configuration: "128x256",
    speed: 1.0,
    ptx: include_str!("../kernel_hopper.128x256.ptx"),
    arch: "sm_90a",
};

const AMPERE: KernelFile = KernelFile {
    file: "kernel.cu",
    source: include_str!("../kernel.cu"),
    configuration: "",
    speed: 1.0,
    ptx: include_str!("../kernel.ptx"),
    arch: "sm_80",
};

const KERNELS: &[KernelFile] = &[
    AMPERE,
    KernelFile {
        configuration: "128x128",
        speed: 0.9,
        ptx: include_str!("../kernel.128x128.ptx"),
        ..AMPERE
    },
    HOPPER,
    KernelFile {
        configuration: "192x128",
        speed: 0.95,
        ptx: include_str!("../kernel_hopper.192x128.ptx"),
        ..HOPPER
    },
    KernelFile {
        configuration: "128x128",
        speed: 0.92,
        ptx: include_str!("../kernel_hopper.128x128.ptx"),
        ..HOPPER
    },
    KernelFile {
        configuration: "64x128",
        speed: 0.6,
        ptx: include_str!("../kernel_hopper.64x128.ptx"),
        ..HOPPER
    },
];

fn main() -> ExitCode {
    harness::main(&Rung {
        name: "06_pipeline",
        kernels: KERNELS,
        switches: &[],
    })
}
