//! Masks that move the chunks of a row, some only half as far as they should.
use half::f16;

use super::{fragment_a, kernel, named};
use crate::expected::Expected;
use crate::lab::{Argument, Lab, Launch, Meant, Scale};

pub const LAB: Lab = Lab {
    name: "half_masks",
    about: "ldmatrix from rows of 64 and 128 bytes under five XOR masks: how many ways, and which loses data",
    kernels: &[kernel!("half_masks", "kernel", "sm_80")],
    launches,
    remarks: |_| Vec::new(),
};

const ROWS: usize = 16;

/// The masks by their number in the kernel.
const MASKS: [&str; 6] = [
    "chunk",
    "chunk ^ (row & 3)",
    "chunk ^ (row >> 1 & 3)",
    "chunk ^ (row & 7)",
    "chunk ^ ((row & 0b1100) >> 2)",
    "element ^ ((row & 0b1100) >> 2)",
];

fn launches(_: Scale) -> Vec<Launch> {
    let of = |row_bytes: u32| {
        (0..)
            .zip(MASKS)
            .map(move |(mask, name)| launch(row_bytes, mask, name))
    };
    of(64).chain(of(128)).collect()
}

fn launch(row_bytes: u32, mask: u32, name: &str) -> Launch {
    let columns = row_bytes as usize / 2;
    let element = |row, col| named(row, col, columns);
    let matrix: Vec<f16> = (0..ROWS * columns)
        .map(|i| element(i / columns, i % columns))
        .collect();
    let input = harness::to_bytes(&matrix);
    let fragments =
        (0..columns / 16).flat_map(|k| fragment_a(|row, col| element(row, k * 16 + col)));
    let expected = Expected::Words(fragments.collect());
    let arguments = vec![
        Argument::Input(input.clone()),
        Argument::Output(input.len()),
        Argument::Int(row_bytes / 16),
        Argument::Int(mask),
    ];
    let launch = Launch::of_a_warp(
        &format!("{row_bytes}: {name}"),
        "masked",
        arguments,
        expected,
    );
    launch.meant(match (row_bytes, mask) {
        // Four chunks to a row, and three bits that move them: rows 4 to 7 land in the row behind.
        (64, 3) => Meant::Wrong,
        // An odd element is no place for 16 bytes.
        (_, 5) => Meant::Fault("misaligned"),
        _ => Meant::Right,
    })
}
