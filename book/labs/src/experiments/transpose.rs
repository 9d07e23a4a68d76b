//! A transpose through shared memory: plain, padded, swizzled; and with four wide banks.
use super::{kernel, words};
use crate::expected::Expected;
use crate::lab::{Argument, Lab, Launch, Purpose, Scale};

pub const LAB: Lab = Lab {
    name: "transpose",
    about: "A tile written by rows and read by columns: 32x32 plain, padded, swizzled; 4x4 under four maps",
    kernels: &[
        kernel!("transpose", "kernel", "sm_80"),
        kernel!("transpose", "kernel_4x4", "sm_80"),
    ],
    launches,
    remarks: |_| Vec::new(),
    time: None,
};

fn launches(_: Scale) -> Vec<Launch> {
    let whole = ["plain", "padded", "swizzled"].map(|name| {
        let (arguments, expected) = tile(32, 1);
        Launch::of_a_warp(name, name, arguments, expected)
    });
    let places: [(&str, Place); 4] = [
        ("4x4 plain", |_, col| col),
        ("4x4 XOR", |row, col| col ^ row),
        ("4x4 rotated", |row, col| (col + row) % 4),
        ("4x4 OR", |row, col| col | row),
    ];
    let small = places.map(|(name, place)| {
        let (mut arguments, expected) = tile(4, 8);
        let map = (0..16).map(|i| place(i / 4, i % 4));
        arguments.push(Argument::Input(words(map)));
        let launch = Launch::of_a_warp(name, "mapped", arguments, expected);
        let launch = launch.in_file("kernel_4x4.cu");
        match name {
            "4x4 OR" => launch.showing(Purpose::Wrong),
            _ => launch,
        }
    });
    whole.into_iter().chain(small).collect()
}

/// The place of a column in its row.
type Place = fn(u32, u32) -> u32;

/// A square tile whose elements have `part` floats, and its transpose.
fn tile(side: u32, part: u32) -> (Vec<Argument>, Expected) {
    let value = |row: u32, col: u32, i: u32| (((row * side + col) * part + i) as f32).to_bits();
    let all = |value: &dyn Fn(u32, u32, u32) -> u32| -> Vec<u32> {
        let elements = (0..side * side).map(|i| (i / side, i % side));
        elements
            .flat_map(|(row, col)| (0..part).map(move |i| value(row, col, i)))
            .collect()
    };
    let input = words(all(&value));
    let output = Argument::Output(input.len());
    let transposed = Expected::Words(all(&|row, col, i| value(col, row, i)));
    (vec![Argument::Input(input), output], transposed)
}
