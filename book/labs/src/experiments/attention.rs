//! One attention forward kernel, whose three copies through shared memory are plain or swizzled.
use emulator::{InstructionKind, Space};
use half::f16;
use harness::table::table;
use harness::{random_matrix, to_bytes};

use super::{kernel, ways};
use crate::expected::{Expected, Near};
use crate::lab::{Argument, CompletedLaunch, Lab, Launch, Scale};

pub const LAB: Lab = Lab {
    name: "attention",
    about: "An attention forward tile, f16, d = 128: global to shared to registers and back, plain and swizzled",
    kernels: &[kernel!("attention", "kernel", "sm_80")],
    launches,
    remarks,
    time: None,
};

/// Rows of Q in a block.
const BR: u32 = 64;
const THREADS: u32 = 128;
/// Elements of a row.
const D: usize = 128;

/// Attention's operands, each (heads, rows, D).
struct Operands {
    heads: u32,
    rows: u32,
    q: Vec<f16>,
    k: Vec<f16>,
    v: Vec<f16>,
}

fn launches(scale: Scale) -> Vec<Launch> {
    let (heads, rows) = match scale {
        Scale::Small => (2, 128),
        Scale::Full => (16, 4096),
    };
    let matrix = |which| random_matrix(0, which, heads * rows, D as u32);
    let operands = Operands {
        heads,
        rows,
        q: matrix(0),
        k: matrix(1),
        v: matrix(2),
    };
    let expected = operands.expected(scale);
    let [q, k, v] = [&operands.q, &operands.k, &operands.v].map(|matrix| to_bytes(matrix));
    let (h, n) = (f64::from(heads), f64::from(rows));
    let launch = |(name, mask): (&str, u32)| {
        let arguments = vec![
            Argument::Input(q.clone()),
            Argument::Input(k.clone()),
            Argument::Input(v.clone()),
            Argument::Output(q.len()),
            Argument::Int(rows),
            Argument::Int(mask),
        ];
        Launch {
            grid: [rows / BR, heads],
            threads: THREADS,
            // Q K^T and P V.
            flops: 4.0 * h * n * n * D as f64,
            ..Launch::of_a_warp(name, "attention", arguments, expected.clone())
        }
    };
    [("plain", 0), ("swizzled", 7)].map(launch).into()
}

impl Operands {
    /// The expected rows of O in f64: all, or for a large problem a sample.
    ///
    /// The kernel rounds each weight to f16, an error of at most 2^-11, and O as well. The errors of the weights are
    /// as good as random, so their squares add up; the tolerance is four times that.
    fn expected(&self, scale: Scale) -> Expected {
        let all = self.heads as usize * self.rows as usize;
        let step = match scale {
            Scale::Small => 1,
            // A prime, so that every position in a tile occurs.
            Scale::Full => 1021,
        };
        let rows = (0..all).step_by(step);
        Expected::Near(rows.flat_map(|row| self.row(row)).collect())
    }

    fn row(&self, row: usize) -> Vec<Near> {
        let rows = self.rows as usize;
        let keys = row / rows * rows..(row / rows + 1) * rows;
        let vector = |matrix: &[f16], row: usize| -> [f64; D] {
            std::array::from_fn(|i| matrix[row * D + i].to_f64())
        };
        let q = vector(&self.q, row);
        let score = |key| -> f64 {
            let k = vector(&self.k, key);
            q.iter().zip(k).map(|(q, k)| q * k).sum::<f64>() / (D as f64).sqrt()
        };
        let scores: Vec<f64> = keys.clone().map(score).collect();
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
        let all: f64 = weights.iter().sum();
        let (mut sums, mut squares) = ([0.0; D], [0.0; D]);
        for (key, weight) in keys.zip(weights) {
            for (i, v) in vector(&self.v, key).into_iter().enumerate() {
                let part = weight / all * v;
                sums[i] += part;
                squares[i] += part * part;
            }
        }
        let near = |i: usize| Near {
            place: row * D + i,
            value: sums[i],
            bound: sums[i].abs() / 1024.0 + squares[i].sqrt() / 512.0,
        };
        (0..D).map(near).collect()
    }
}

/// The three copies, to registers and back, by the instructions that make them.
fn remarks(done: &[CompletedLaunch]) -> Vec<Vec<String>> {
    type Is = fn(&InstructionKind) -> bool;
    const COPIES: [(&str, Is); 5] = [
        ("global to shared, Q, K, V: cp.async", |operation| {
            matches!(operation, InstructionKind::AsyncCopy { .. })
        }),
        (
            "shared to registers, Q, K: ldmatrix",
            |operation| matches!(operation, InstructionKind::LoadMatrix { transposed, .. } if !transposed),
        ),
        (
            "shared to registers, V: ldmatrix.trans",
            |operation| matches!(operation, InstructionKind::LoadMatrix { transposed, .. } if *transposed),
        ),
        ("registers to shared, O: 4-byte stores", |operation| {
            operation.is_store() && operation.accesses(Space::Shared)
        }),
        ("shared to global, O: 16-byte loads", |operation| {
            operation.is_load() && operation.accesses(Space::Shared)
        }),
    ];
    let row = |(name, is): (&str, Is)| {
        let mut row = vec![name.to_owned()];
        for done in done {
            done.emulated.as_ref()?;
            row.extend(ways(&done.counted().sum_of(is)));
        }
        Some(row)
    };
    let rows: Vec<_> = COPIES.into_iter().filter_map(row).collect();
    let mut head = vec!["wavefronts / ideal"];
    let launches = done.iter().map(|done| done.launch.name.as_str());
    head.extend(launches.flat_map(|name| [name, "ways"]));
    vec![table(&head, &rows)]
}
