//! `ldmatrix` from padded rows.
use super::{fragments_a, kernel, sixteen_rows};
use crate::expected::Expected;
use crate::lab::{Argument, Lab, Launch, Purpose, Scale};

pub const LAB: Lab = Lab {
    name: "padding_ldmatrix",
    about: "ldmatrix from rows of 128 bytes, padded by 0 to 32 bytes: 16 bytes end all conflicts, 4 and 8 are misaligned",
    kernels: &[kernel!("padding_ldmatrix", "kernel", "sm_80")],
    launches,
    remarks: |_| Vec::new(),
    time: None,
};

fn launches(_: Scale) -> Vec<Launch> {
    [0, 4, 8, 16, 32].map(launch).into()
}

fn launch(padding: u32) -> Launch {
    let input = sixteen_rows(64);
    let output = Argument::Output(input.len());
    let expected = Expected::Words(fragments_a(64));
    let arguments = vec![Argument::Input(input), output, Argument::Int(128 + padding)];
    let launch = Launch::of_a_warp(format!("{padding} bytes"), "padded", arguments, expected);
    // Each row of a matrix is 16 bytes at a multiple of 16 (PTX ISA, ldmatrix).
    launch.showing(Purpose::aligned(padding.is_multiple_of(16)))
}
