//! The experiments, in the order in which the book meets them.
mod attention;
mod broadcast;
mod double_buffer;
mod fragment_store;
mod fragments;
mod half_masks;
mod mismatch;
mod modes;
mod padding_ldmatrix;
mod swizzles;
mod transpose;
mod vectors;

use half::f16;
use harness::table::table;

use crate::lab::{Done, Lab};

/// All of them.
pub const ALL: &[Lab] = &[
    transpose::LAB,
    broadcast::LAB,
    vectors::LAB,
    fragments::LAB,
    padding_ldmatrix::LAB,
    half_masks::LAB,
    fragment_store::LAB,
    double_buffer::LAB,
    attention::LAB,
    modes::LAB,
    mismatch::LAB,
];

/// A kernel file of a lab's folder with its committed PTX.
macro_rules! kernel {
    ($lab:literal, $stem:literal, $arch:literal) => {
        harness::KernelFile {
            file: concat!($stem, ".cu"),
            source: include_str!(concat!("../../", $lab, "/", $stem, ".cu")),
            configuration: "",
            speed: 1.0,
            ptx: include_str!(concat!("../../", $lab, "/", $stem, ".ptx")),
            arch: $arch,
        }
    };
}
use kernel;

/// A table with a row for each of these launches that was emulated: the others have no counters.
fn table_of<'a>(
    head: &[&str],
    done: impl IntoIterator<Item = &'a Done>,
    row: impl Fn(&Done) -> Vec<String>,
) -> Vec<String> {
    let emulated = done.into_iter().filter(|done| done.emulated.is_some());
    let rows: Vec<_> = emulated.map(row).collect();
    table(head, &rows)
}

/// Words as bytes.
fn words(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// The number that names element (row, col) in a matrix of f16: integers up to 2048 are exact there.
fn named(row: usize, col: usize, columns: usize) -> f16 {
    f16::from_f32((row * columns + col) as f32)
}

/// What registers r of lane l hold of operand A of `mma.m16n8k16`, which begins at (row, col) of a matrix: two
/// neighbouring elements, the lower column in the lower half (PTX ISA, "Matrix Fragments for mma.m16n8k16").
fn fragment_a(element: impl Fn(usize, usize) -> f16) -> Vec<u32> {
    let mut registers = Vec::new();
    for lane in 0..32 {
        for register in 0..4 {
            let (row, col) = (lane / 4 + register % 2 * 8, lane % 4 * 2 + register / 2 * 8);
            let [low, high] = [element(row, col), element(row, col + 1)].map(f16::to_bits);
            registers.push(u32::from(low) | u32::from(high) << 16);
        }
    }
    registers
}
