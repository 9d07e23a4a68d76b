//! TMA and `wgmma` in all four swizzle modes.
use emulator::Swizzle;
use half::f16;
use harness::lines::sum;
use harness::table::{factor, table, thousands};

use super::swizzles::{ALL, Mode};
use super::{kernel, named};
use crate::expected::Expected;
use crate::lab::{Argument, Done, Lab, Launch, Map, Scale};

pub const LAB: Lab = Lab {
    name: "modes",
    about: "TMA and wgmma in all four swizzle modes; the tile read back by ordinary loads, with and without",
    kernels: &[kernel!("modes", "kernel_hopper", "sm_90a")],
    launches,
    remarks,
};

/// Rows of a tile, and its columns.
const SIDE: usize = 64;
const BLOCKS: u32 = 1056;

fn launches(scale: Scale) -> Vec<Launch> {
    // On a GPU, once with a tile loaded for each multiplication, and once with one tile multiplied many times.
    let sizes: &[(&str, Size)] = match scale {
        Scale::Small => &[(
            "",
            Size {
                blocks: 1,
                tiles: 1,
                k: 128,
                repeat: 1,
            },
        )],
        Scale::Full => &[
            (
                "load and multiply: ",
                Size {
                    blocks: BLOCKS,
                    tiles: 64,
                    k: 2048,
                    repeat: 1,
                },
            ),
            (
                "multiply: ",
                Size {
                    blocks: BLOCKS,
                    tiles: 64,
                    k: 64,
                    repeat: 512,
                },
            ),
        ],
    };
    let multiplied = sizes.iter().flat_map(|(label, size)| {
        let data = Data::new(*size);
        ALL.map(|mode| data.multiply(&format!("{label}{}", mode.name), &mode))
    });
    let read_back = match scale {
        Scale::Small => ALL.iter().flat_map(read_back).collect(),
        Scale::Full => Vec::new(),
    };
    multiplied.chain(read_back).collect()
}

/// How much is multiplied.
#[derive(Clone, Copy)]
struct Size {
    blocks: u32,
    tiles: u32,
    k: u32,
    repeat: u32,
}

/// Small whole numbers, whose sums are exact, and their products.
struct Data {
    size: Size,
    a: Vec<u8>,
    b: Vec<u8>,
    expected: Expected,
}

impl Data {
    fn new(size: Size) -> Self {
        let k = size.k as usize;
        let rows = size.tiles as usize * SIDE;
        let of_a = |i: usize| (i / k * 7 + i % k * 3) % 5;
        let of_b = |i: usize| (i / k * 5 + i % k * 11) % 7;
        let a: Vec<i32> = (0..rows * k).map(|i| of_a(i) as i32 - 2).collect();
        let b: Vec<i32> = (0..SIDE * k).map(|i| of_b(i) as i32 - 3).collect();
        let element = |row: usize, col: usize| -> i32 {
            let products = a[row * k..][..k].iter().zip(&b[col * k..][..k]);
            products.map(|(a, b)| a * b).sum::<i32>() * size.repeat as i32
        };
        let tiles: Vec<u32> = (0..rows * SIDE)
            .map(|i| (element(i / SIDE, i % SIDE) as f32).to_bits())
            .collect();
        let words = (0..size.blocks).flat_map(|block| {
            let tile = (block % size.tiles) as usize;
            tiles[tile * SIDE * SIDE..][..SIDE * SIDE].iter().copied()
        });
        let bytes = |numbers: &[i32]| {
            let halves: Vec<f16> = numbers.iter().map(|&n| f16::from_f32(n as f32)).collect();
            harness::to_bytes(&halves)
        };
        Self {
            size,
            a: bytes(&a),
            b: bytes(&b),
            expected: Expected::Words(words.collect()),
        }
    }

    fn multiply(&self, name: &str, mode: &Mode) -> Launch {
        let Size {
            blocks,
            tiles,
            k,
            repeat,
        } = self.size;
        let map = |bytes: &[u8], rows: u64| {
            Argument::Map(Map {
                bytes: bytes.to_vec(),
                dimensions: [k.into(), rows],
                tile: [mode.width / 2, SIDE as u32],
                swizzle: mode.swizzle,
            })
        };
        let numbers = [tiles, k, repeat, mode.width, mode.descriptor].map(Argument::Int);
        let maps = [
            map(&self.a, u64::from(tiles) * SIDE as u64),
            map(&self.b, SIDE as u64),
            Argument::Output(blocks as usize * SIDE * SIDE * 4),
        ];
        let arguments = maps.into_iter().chain(numbers).collect();
        Launch {
            file: "kernel_hopper.cu",
            grid: [blocks, 1],
            threads: 128,
            flops: 2.0
                * (SIDE * SIDE) as f64
                * f64::from(blocks)
                * f64::from(k)
                * f64::from(repeat),
            ..Launch::of_a_warp(name, "multiply", arguments, self.expected.clone())
        }
    }
}

/// Reads a tile back that came in this mode's rows, swizzled and not.
fn read_back(mode: &Mode) -> Vec<Launch> {
    let matrix: Vec<f16> = (0..SIDE * SIDE)
        .map(|i| named(i / SIDE % 32, i % SIDE, SIDE))
        .collect();
    let bytes = harness::to_bytes(&matrix);
    let (words, _) = bytes.as_chunks::<4>();
    let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let expected = Expected::Words([words.clone(), words].concat());
    let launch = |name: String, swizzle, mask| {
        let map = Map {
            bytes: bytes.clone(),
            dimensions: [SIDE as u64; 2],
            tile: [mode.width / 2, SIDE as u32],
            swizzle,
        };
        let arguments = vec![
            Argument::Map(map),
            Argument::Output(2 * bytes.len()),
            Argument::Int(mode.width),
            Argument::Int(mask),
        ];
        Launch {
            file: "kernel_hopper.cu",
            ..Launch::of_a_warp(&name, "read_back", arguments, expected.clone())
        }
    };
    let plain = launch(
        format!("read back: rows of {} bytes", mode.width),
        Swizzle::None,
        0,
    );
    match mode.swizzle {
        Swizzle::None => vec![plain],
        swizzle => vec![
            plain,
            launch(format!("read back: {}", mode.name), swizzle, mode.mask),
        ],
    }
}

/// Copies and wavefronts of the multiplication; how many ways a row and a column of the tile are read.
fn remarks(done: &[Done]) -> Vec<Vec<String>> {
    let multiplied = |done: &&Done| done.launch.entry == "multiply";
    let row = |done: &Done| {
        let (program, run) = done.emulated.as_ref()?;
        let counted = || program.instructions().iter().zip(&run.counters);
        let of = |begins: &str| {
            let of = counted().filter(|(one, _)| one.text.starts_with(begins));
            sum(of.map(|(_, counters)| counters))
        };
        let multiply = of("wgmma.mma_async");
        Some(vec![
            done.launch.name.clone(),
            thousands(of("cp.async.bulk.tensor").executions),
            thousands(multiply.executions),
            thousands(multiply.shared.wavefronts),
            thousands(multiply.shared.conflicts),
        ])
    };
    let rows: Vec<_> = done.iter().filter(multiplied).filter_map(row).collect();
    let multiply = table(
        &["", "TMA copies", "wgmma", "wavefronts", "conflicts"],
        &rows,
    );
    let row = |done: &Done| {
        done.emulated.as_ref()?;
        let ways = |name: &str| {
            let shared = sum(done.section(name).into_iter().map(|(_, counters)| counters)).shared;
            [
                format!(
                    "{} / {}",
                    thousands(shared.wavefronts),
                    thousands(shared.ideal)
                ),
                factor(shared.wavefronts, shared.ideal),
            ]
        };
        let [rows, columns] = [ways("By rows"), ways("By columns")];
        Some(
            [
                vec![done.launch.name.clone()],
                rows.to_vec(),
                columns.to_vec(),
            ]
            .concat(),
        )
    };
    let rows: Vec<_> = done
        .iter()
        .filter(|done| !multiplied(done))
        .filter_map(row)
        .collect();
    let read = table(
        &["", "by rows / ideal", "ways", "by columns / ideal", "ways"],
        &rows,
    );
    vec![multiply, read]
}
