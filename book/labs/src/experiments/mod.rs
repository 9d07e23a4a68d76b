//! The experiments, in the book's order.
mod attention;
pub mod bf16_tn;
mod broadcast;
mod double_buffer;
mod exponential;
mod fragment_store;
mod fragments;
mod half_masks;
mod mismatch;
mod modes;
mod padding_ldmatrix;
mod swizzles;
mod transpose;
mod vectors;

use emulator::{Counters, InstructionKind};
use half::f16;
use harness::table::{factor, table, thousands};

use crate::lab::{CompletedLaunch, Lab};

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
    exponential::LAB,
    modes::LAB,
    mismatch::LAB,
    bf16_tn::LAB,
];

/// A kernel file of a lab's folder with its committed PTX, for this tile if the file has several.
macro_rules! kernel {
    ($lab:literal, $stem:literal, $arch:literal $(, $tile:literal)?) => {
        harness::KernelFile {
            file: concat!($stem, ".cu"),
            source: harness::committed_text!("../../", $lab, "/", $stem, ".cu"),
            configuration: concat!($($tile)?),
            ptx: harness::committed_text!("../../", $lab, "/", $stem, $(".", $tile,)? ".ptx"),
            sass: "",
            arch: $arch,
        }
    };
}
use kernel;

/// A table with a row for each of these launches that was emulated; a GPU has no counters.
fn table_of<'a>(
    head: &[&str],
    done: impl IntoIterator<Item = &'a CompletedLaunch>,
    row: impl Fn(&CompletedLaunch) -> Vec<String>,
) -> Vec<String> {
    let emulated = done.into_iter().filter(|done| done.emulated.is_some());
    let rows: Vec<_> = emulated.map(row).collect();
    table(head, &rows)
}

/// A row for each matrix multiplication by `wgmma`: copies, instructions and wavefronts.
fn multiplications<'a>(done: impl IntoIterator<Item = &'a CompletedLaunch>) -> Vec<String> {
    let row = |done: &CompletedLaunch| {
        let counted = done.counted();
        let copies =
            counted.sum_of(|one| matches!(one, InstructionKind::BulkCopy { tensor: true }));
        let multiply = counted.sum_of(|one| matches!(one, InstructionKind::Wgmma(_)));
        vec![
            done.launch.name.clone(),
            thousands(copies.executions),
            thousands(multiply.executions),
            thousands(multiply.shared.wavefronts),
            thousands(multiply.shared.conflicts),
        ]
    };
    let head = ["", "TMA copies", "wgmma", "wavefronts", "conflicts"];
    table_of(&head, done, row)
}

/// Wavefronts with their ideal number, and the degree of conflict.
fn ways(counters: &Counters) -> [String; 2] {
    let [measured, ideal] = [counters.shared.wavefronts, counters.shared.ideal];
    let pair = format!("{} / {}", thousands(measured), thousands(ideal));
    [pair, factor(measured, ideal)]
}

/// Words as bytes.
fn words(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Expected bytes, as words.
fn same_words(bytes: &[u8]) -> Vec<u32> {
    let (words, _) = bytes.as_chunks();
    words.iter().copied().map(u32::from_le_bytes).collect()
}

/// The number that identifies element (row, col) in a matrix of f16, in which integers up to 2048 are exact.
fn named(row: usize, col: usize, columns: usize) -> f16 {
    f16::from_f32((row * columns + col) as f32)
}

/// Sixteen rows of elements that [`named`] identifies.
fn sixteen_rows(columns: usize) -> Vec<u8> {
    let elements = (0..16 * columns).map(|i| named(i / columns, i % columns, columns));
    harness::to_bytes(&elements.collect::<Vec<_>>())
}

/// The expected registers of each lane, for these rows as operands A of `mma.m16n8k16`, one for each 16 columns: two
/// neighboring elements, the lower column in the lower half (PTX ISA, "Matrix Fragments for mma.m16n8k16").
fn fragments_a(columns: usize) -> Vec<u32> {
    let mut registers = Vec::new();
    for k in (0..columns).step_by(16) {
        for (lane, register) in (0..32 * 4).map(|i| (i / 4, i % 4)) {
            let row = lane / 4 + register % 2 * 8;
            let col = k + lane % 4 * 2 + register / 2 * 8;
            let [low, high] = [col, col + 1].map(|col| named(row, col, columns).to_bits());
            registers.push(u32::from(low) | u32::from(high) << 16);
        }
    }
    registers
}
