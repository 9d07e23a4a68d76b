//! `ldmatrix` from padded rows.
use super::{fragment_a, kernel, named};
use crate::expected::Expected;
use crate::lab::{Argument, Lab, Launch, Meant, Scale};

pub const LAB: Lab = Lab {
    name: "padding_ldmatrix",
    about: "ldmatrix from rows of 128 bytes, padded by 0 to 32 bytes: 16 bytes end all conflicts, 4 and 8 are misaligned",
    kernels: &[kernel!("padding_ldmatrix", "kernel", "sm_80")],
    launches,
    remarks: |_| Vec::new(),
};

fn launches(_: Scale) -> Vec<Launch> {
    [0, 4, 8, 16, 32].map(launch).into()
}

fn launch(padding: u32) -> Launch {
    let element = |row, col| named(row, col, 64);
    let matrix: Vec<_> = (0..16 * 64).map(|i| element(i / 64, i % 64)).collect();
    let input = harness::to_bytes(&matrix);
    let fragments = (0..4).flat_map(|k| fragment_a(|row, col| element(row, k * 16 + col)));
    let expected = Expected::Words(fragments.collect());
    let arguments = vec![
        Argument::Input(input.clone()),
        Argument::Output(input.len()),
        Argument::Int(128 + padding),
    ];
    let launch = Launch::of_a_warp(&format!("{padding} bytes"), "padded", arguments, expected);
    // Each row of a matrix is 16 bytes at a multiple of 16 (PTX ISA, ldmatrix).
    launch.meant(if padding.is_multiple_of(16) {
        Meant::Right
    } else {
        Meant::Fault("misaligned")
    })
}
