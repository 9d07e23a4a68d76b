//! A tensor map and a descriptor with different swizzles.
use emulator::Swizzle;
use half::f16;
use harness::table::table;

use super::kernel;
use super::swizzles::{ALL, Mode, SIDE, map};
use crate::expected::Expected;
use crate::lab::{Argument, CompletedLaunch, Lab, Launch, Purpose, Scale};

pub const LAB: Lab = Lab {
    name: "mismatch",
    about: "The tensor map says one swizzle, wgmma's descriptor another: no fault, and each element from elsewhere",
    kernels: &[kernel!("mismatch", "kernel_hopper", "sm_90a")],
    launches,
    remarks: |done| done.iter().map(origins).collect(),
    time: None,
};

/// Elements in 16 bytes.
const CHUNK: usize = 8;
/// The bits of the first element of A; each next element has the next bits. All are normal numbers, and so exact when
/// multiplied by 1 and added to zeros.
const FIRST: u16 = 0x0400;

fn launches(_: Scale) -> Vec<Launch> {
    let [none, b32, b64, b128] = &ALL;
    let rows_of_128 = Mode {
        width: 128,
        ..*none
    };
    vec![
        launch("128B, read as 128B", b128, b128),
        launch("rows of 128 bytes, read as 128B", &rows_of_128, b128),
        launch("128B, read as 64B", b128, b64),
        launch("64B, read as 128B", b64, b128),
        launch("32B, read as 64B", b32, b64),
        launch("128B, read as none", b128, none),
    ]
}

fn launch(name: &str, loaded: &Mode, read: &Mode) -> Launch {
    let a: Vec<f16> = (0..SIDE * SIDE)
        .map(|i| f16::from_bits(FIRST + i as u16))
        .collect();
    let one = |i: usize| f16::from(u8::from(i / SIDE == i % SIDE));
    let identity: Vec<f16> = (0..SIDE * SIDE).map(one).collect();
    let map = |matrix: &[f16], width, swizzle| {
        let sides = [SIDE as u64; 2];
        map(&harness::to_bytes(matrix), sides, width, swizzle)
    };
    let arguments = vec![
        map(&a, loaded.width, loaded.swizzle),
        map(&identity, 128, Swizzle::B128),
        Argument::Output(SIDE * SIDE * 4),
        Argument::Int(loaded.width),
        Argument::Int(read.width),
        Argument::Int(read.descriptor),
    ];
    let expected = a.iter().map(|value| value.to_f32().to_bits()).collect();
    let agree = (loaded.width, loaded.swizzle) == (read.width, read.swizzle);
    Launch {
        file: "kernel_hopper.cu",
        threads: 128,
        purpose: if agree {
            Purpose::Right
        } else {
            Purpose::Wrong
        },
        ..Launch::of_a_warp(name, "mismatch", arguments, Expected::Words(expected))
    }
}

/// For the first eight rows of C, the row and chunk of A that each chunk came from.
fn origins(done: &CompletedLaunch) -> Vec<String> {
    let (found, _) = done.output.as_chunks::<4>();
    let origin = |row: usize, col: usize| {
        let value = f32::from_le_bytes(*found.get(row * SIDE + col)?);
        let index = f16::from_f32(value).to_bits().checked_sub(FIRST)?;
        (usize::from(index) < SIDE * SIDE).then_some(usize::from(index))
    };
    let cell = |row: usize, chunk: usize| {
        let first = origin(row, chunk * CHUNK)?;
        let whole = (0..CHUNK).all(|i| origin(row, chunk * CHUNK + i) == Some(first + i));
        whole.then(|| format!("{}.{}", first / SIDE, first % SIDE / CHUNK))
    };
    let row = |row: usize| {
        let cells = (0..SIDE / CHUNK).map(|chunk| cell(row, chunk).unwrap_or("?".into()));
        [row.to_string()].into_iter().chain(cells).collect()
    };
    let rows: Vec<Vec<String>> = (0..CHUNK).map(row).collect();
    let mut lines = vec![format!(
        "{}: row.chunk of A that wgmma read for each chunk",
        done.launch.name
    )];
    lines.extend(table(
        &["row", "0", "1", "2", "3", "4", "5", "6", "7"],
        &rows,
    ));
    lines
}
