//! Flags: one thread writes data, and another reads it once a flag is set (PTX ISA, "Memory Consistency Model").
mod cluster;
mod global;
mod grid;
mod shared;

use crate::common::pairs::Pair;

/// Replaced in both kernels of a pair, one line by one line to keep line numbers.
fn expand(pairs: &[(&'static str, &'static str, [&'static str; 2])]) -> Vec<Pair> {
    let expanded = pairs.iter().map(|&(name, declarations, [wrong, right])| {
        assert_eq!(wrong.lines().count(), right.lines().count(), "{name}");
        Pair {
            name,
            declarations,
            wrong,
            right,
        }
    });
    expanded.collect()
}

const SHARED: &str = ".shared .u32 data[32]; .shared .u32 flag;";
