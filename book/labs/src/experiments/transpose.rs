//! A transpose through shared memory: plain, padded, swizzled.

use super::{kernel, words};
use crate::expected::Expected;
use crate::lab::{Argument, Lab, Launch, Scale};

const TILE: u32 = 32;

pub const LAB: Lab = Lab {
    name: "transpose",
    about: "A 32x32 tile of floats, written by rows and read by columns: plain, padded, swizzled",
    kernels: &[kernel!("transpose", "kernel", "sm_80")],
    launches,
    remarks: |_| Vec::new(),
};

fn launches(_: Scale) -> Vec<Launch> {
    let value = |row: u32, col: u32| ((row * TILE + col) as f32).to_bits();
    let tile = |value: &dyn Fn(u32, u32) -> u32| -> Vec<u32> {
        (0..TILE * TILE)
            .map(|i| value(i / TILE, i % TILE))
            .collect()
    };
    let input = words(tile(&value));
    let transposed = tile(&|row, col| value(col, row));
    let launch = |name| {
        let arguments = vec![
            Argument::Input(input.clone()),
            Argument::Output(input.len()),
        ];
        Launch::of_a_warp(name, name, arguments, Expected::Words(transposed.clone()))
    };
    ["plain", "padded", "swizzled"].map(launch).into()
}
