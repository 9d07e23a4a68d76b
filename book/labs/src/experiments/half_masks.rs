//! XOR masks that permute the chunks of a row, some of them incompletely.
use super::{fragments_a, kernel, sixteen_rows};
use crate::expected::Expected;
use crate::lab::{Argument, Lab, Launch, Purpose, Scale};

pub const LAB: Lab = Lab {
    name: "half_masks",
    about: "ldmatrix from rows of 64 and 128 bytes under five XOR masks: how many ways, and which loses data",
    kernels: &[kernel!("half_masks", "kernel", "sm_80")],
    launches,
    remarks: |_| Vec::new(),
    time: None,
};

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
    let masks = (0..).zip(MASKS);
    let of = |row_bytes| {
        masks
            .clone()
            .map(move |(mask, name)| launch(row_bytes, mask, name))
    };
    [64, 128].into_iter().flat_map(of).collect()
}

fn launch(row_bytes: u32, mask: u32, name: &str) -> Launch {
    let columns = row_bytes as usize / 2;
    let input = sixteen_rows(columns);
    let output = Argument::Output(input.len());
    let arguments = vec![
        Argument::Input(input),
        output,
        Argument::Int(row_bytes / 16),
        Argument::Int(mask),
    ];
    let expected = Expected::Words(fragments_a(columns));
    let name = format!("{row_bytes}: {name}");
    let launch = Launch::of_a_warp(name, "masked", arguments, expected);
    launch.showing(match (row_bytes, mask) {
        // Four chunks in a row, and three bits that are XORed: rows 4 to 7 are stored in the next row.
        (64, 3) => Purpose::Wrong,
        // An odd element is not aligned for 16 bytes.
        (_, 5) => Purpose::Fault("misaligned"),
        _ => Purpose::Right,
    })
}
