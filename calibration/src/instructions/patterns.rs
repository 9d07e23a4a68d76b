//! The accesses of a warp to record: a list of patterns for every kind of access, the same on every machine. The
//! result columns of its rows are zero.
use std::collections::BTreeSet;

use emulator::LANES;

use super::access::{Shared, Space};
use super::random::random;

/// Bytes of memory that a pattern may access.
const WINDOW: u32 = 32 << 10;
/// A byte offset for each lane; `None` for an inactive one.
type Offsets = [Option<u32>; LANES];

/// The rows of `shared_memory_patterns.csv` or `global_memory_patterns.csv`.
pub(super) fn plan<S: Space>() -> String {
    let is_shared = S::NAME == Shared::NAME;
    let mut text = S::HEADER.to_owned() + "\n";
    for op in ["ld", "st"] {
        for bytes in [1, 2, 4, 8, 16] {
            let mut made = whole_warps(bytes);
            // Lanes that share an address, for which shared memory has special rules.
            if is_shared {
                made.extend(merging(bytes));
            }
            made.extend(partial_warps(bytes));
            made.extend(at_random(bytes, u64::from(bytes)));
            text += &rows(op, bytes, LANES, made);
        }
    }
    if is_shared {
        let ops = ["ldmatrix", "stmatrix"].into_iter();
        let ops = ops.flat_map(|op| ["", ".trans"].map(|trans| (op, trans)));
        let ops = ops.flat_map(|(op, trans)| [1, 2, 4].map(|count| (op, count, trans)));
        for (seed, (op, count, trans)) in (100..).zip(ops) {
            let op = format!("{op}.x{count}{trans}");
            let mut made = whole_warps(16);
            made.extend(at_random(16, seed));
            // The address of every row is needed.
            made.retain(|offsets| offsets.iter().all(Option::is_some));
            text += &rows(&op, 16, 8 * count, made);
        }
    }
    text
}

/// The rows, each pattern once.
fn rows(op: &str, bytes: u32, lanes: usize, patterns: Vec<Offsets>) -> String {
    let mut seen = BTreeSet::new();
    let mut text = String::new();
    for offsets in patterns {
        let field = |offset: &Option<u32>| offset.map_or("-".into(), |at| at.to_string());
        let fields: Vec<String> = offsets[..lanes].iter().map(field).collect();
        let fields = fields.join(" ");
        if seen.insert(fields.clone()) {
            text += &format!("{op},{bytes},{fields},0,0\n");
        }
    }
    text
}

/// Lane i at `index(i)` times its width, inside the window.
fn every(bytes: u32, index: impl Fn(u32) -> u32) -> Offsets {
    std::array::from_fn(|lane| Some(index(lane as u32) * bytes % WINDOW))
}

/// Strides, broadcasts, starts inside a sector, tiles with and without padding, and swizzled tiles.
fn whole_warps(bytes: u32) -> Vec<Offsets> {
    let mut made = Vec::new();
    for stride in [0, 1, 2, 3, 4, 5, 8, 9, 16, 17, 32, 33] {
        made.push(every(bytes, |lane| lane * stride));
    }
    // A first lane that is aligned to its width only, so that sectors and lines are crossed elsewhere.
    for start in [1, 3] {
        for stride in [1, 2] {
            made.push(every(bytes, |lane| start + lane * stride));
        }
    }
    made.push(every(bytes, |lane| 31 - lane));
    // A tile of rows: consecutive lanes go down a column, or along a row.
    for pitch in [128 + 16, 256] {
        let pitch = pitch / bytes;
        for across in [2, 8] {
            made.push(every(bytes, |lane| lane / across * pitch + lane % across));
            made.push(every(bytes, |lane| {
                lane % (32 / across) * pitch + lane / (32 / across)
            }));
        }
    }
    // Rows of 128 bytes whose units are permuted by an XOR with the row.
    for bits in [1, 7] {
        let units = 128 / bytes;
        made.push(every(bytes, |lane| lane * units + ((lane & bits) ^ 1)));
        made.push(every(bytes, |lane| {
            (lane % 8) * units + ((lane / 8) ^ (lane & bits))
        }));
    }
    made
}

/// Lanes that access the same word, in patterns for which phases merge and in near misses.
fn merging(bytes: u32) -> Vec<Offsets> {
    let mut made = Vec::new();
    for apart in [1, 32] {
        for same in [1, 2, 3, 4, 8, 16] {
            made.push(every(bytes, |lane| (lane & !same) * apart));
        }
        // One half in pairs of neighbors, the other in pairs two lanes apart.
        made.push(every(bytes, |lane| {
            apart * if lane < 16 { lane & !1 } else { lane & !2 }
        }));
        // All pairs but the last.
        made.push(every(bytes, |lane| {
            apart * if lane < 30 { lane & !1 } else { lane }
        }));
    }
    for count in [2, 4, 8, 16] {
        made.push(every(bytes, |lane| lane % count));
        made.push(every(bytes, |lane| lane / count * 33));
    }
    made
}

/// Inactive lanes: halves, every other one, single ones, and all but one.
fn partial_warps(bytes: u32) -> Vec<Offsets> {
    let masks = [
        1,
        1 << 31,
        1 << 13,
        0xff,
        0xffff,
        0xffff_0000,
        0x00ff_ff00,
        0x5555_5555,
        0xaaaa_aaaa,
        0x3333_3333,
        0x1111_1111,
        0xffff_fffe,
        0x7fff_ffff,
        0xff00_00ff,
    ];
    let mut made = Vec::new();
    for (i, mask) in masks.into_iter().enumerate() {
        let shapes = [
            every(bytes, |lane| lane),
            every(bytes, |lane| lane * 32),
            every(bytes, |lane| lane & !1),
        ];
        // Two of the three, in turn.
        made.extend([i, i + 1].map(|shape| only(shapes[shape % 3], mask)));
    }
    made
}

fn only(offsets: Offsets, mask: u32) -> Offsets {
    let mut offsets = offsets;
    for (lane, offset) in offsets.iter_mut().enumerate() {
        if mask >> lane & 1 == 0 {
            *offset = None;
        }
    }
    offsets
}

/// Random units of windows from one line to the whole memory, for whole and partial warps; the smaller the window,
/// the more lanes conflict.
fn at_random(bytes: u32, seed: u64) -> Vec<Offsets> {
    let mut state = seed;
    let mut made = Vec::new();
    for window in [128, 512, 4096, WINDOW] {
        for repeat in 0..5 {
            let units = u64::from(window / bytes);
            let offsets: Offsets =
                std::array::from_fn(|_| Some((random(&mut state) % units) as u32 * bytes));
            // At least one lane is active.
            let mask = random(&mut state) as u32 | 1 << (random(&mut state) % 32);
            made.push(if repeat % 2 == 1 {
                only(offsets, mask)
            } else {
                offsets
            });
        }
    }
    made
}
