//! TMA and `wgmma` in all four swizzle modes.
use emulator::Swizzle;
use half::f16;

use super::swizzles::{ALL, Mode, SIDE, map};
use super::{kernel, multiplications, named, same_words, table_of, ways};
use crate::expected::Expected;
use crate::lab::{Argument, CompletedLaunch, Lab, Launch, Scale};

pub const LAB: Lab = Lab {
    name: "modes",
    about: "TMA and wgmma in all four swizzle modes; the tile read back by ordinary loads, with and without",
    kernels: &[kernel!("modes", "kernel_hopper", "sm_90a")],
    launches,
    remarks,
    time: None,
};

const BLOCKS: u32 = 1056;

fn launches(scale: Scale) -> Vec<Launch> {
    // On a GPU, once with a tile loaded for each multiplication, and once with one tile multiplied many times.
    let sizes: &[(&str, Size)] = match scale {
        Scale::Small => &[("", size(1, 1, 128, 1))],
        Scale::Full => &[
            ("load and multiply: ", size(BLOCKS, 64, 2048, 1)),
            ("multiply: ", size(BLOCKS, 64, 64, 512)),
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

/// The size of the multiplication.
#[derive(Clone, Copy)]
struct Size {
    blocks: u32,
    tiles: u32,
    k: u32,
    repeat: u32,
}

const fn size(blocks: u32, tiles: u32, k: u32, repeat: u32) -> Size {
    Size {
        blocks,
        tiles,
        k,
        repeat,
    }
}

/// Small integers, whose sums are exact, and their products.
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
        let map = |bytes: &[u8], rows: u64| map(bytes, [k.into(), rows], mode.width, mode.swizzle);
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
                * [blocks, k, repeat].map(f64::from).iter().product::<f64>(),
            ..Launch::of_a_warp(name, "multiply", arguments, self.expected.clone())
        }
    }
}

/// Reads back a tile that TMA stored in rows of this mode, swizzled and unswizzled.
fn read_back(mode: &Mode) -> Vec<Launch> {
    let matrix: Vec<f16> = (0..SIDE * SIDE)
        .map(|i| named(i / SIDE % 32, i % SIDE, SIDE))
        .collect();
    let bytes = harness::to_bytes(&matrix);
    let expected = Expected::Words(same_words(&bytes).repeat(2));
    let launch = |name: String, swizzle, mask| {
        let arguments = vec![
            map(&bytes, [SIDE as u64; 2], mode.width, swizzle),
            Argument::Output(2 * bytes.len()),
            Argument::Int(mode.width),
            Argument::Int(mask),
        ];
        let launch = Launch::of_a_warp(name, "read_back", arguments, expected.clone());
        launch.in_file("kernel_hopper.cu")
    };
    let rows = format!("read back: rows of {} bytes", mode.width);
    let mut launches = vec![launch(rows, Swizzle::None, 0)];
    if mode.swizzle != Swizzle::None {
        let name = format!("read back: {}", mode.name);
        launches.push(launch(name, mode.swizzle, mode.mask));
    }
    launches
}

/// Copies and wavefronts of the multiplication; the degree of conflict of reading the tile by row and by column.
fn remarks(done: &[CompletedLaunch]) -> Vec<Vec<String>> {
    let (multiplied, read): (Vec<_>, Vec<_>) = done
        .iter()
        .partition(|done| done.launch.entry == "multiply");
    let read_back = |done: &CompletedLaunch| {
        let ways = ["By rows", "By columns"].map(|name| ways(&done.section(name).sum()));
        [vec![done.launch.name.clone()], ways.concat()].concat()
    };
    let of_read = ["", "by rows / ideal", "ways", "by columns / ideal", "ways"];
    vec![
        multiplications(multiplied),
        table_of(&of_read, read, read_back),
    ]
}
