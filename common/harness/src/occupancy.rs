//! What a block takes of a multiprocessor, and what therefore limits how many fit.
use serde::Serialize;

use crate::table::{plural, thousands};

/// What the driver says of a loaded kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Resources {
    /// Threads of a block.
    pub threads: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Static and dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Bytes that a thread keeps in local memory, such as spilled registers.
    pub local_bytes: u32,
    /// Blocks that fit onto a multiprocessor.
    pub blocks_per_multiprocessor: u32,
    /// What keeps more from fitting.
    pub limited_by: Vec<&'static str>,
}

/// What one multiprocessor has (CUDA C++ Programming Guide, "Technical Specifications per Compute
/// Capability").
struct Multiprocessor {
    threads: u32,
    blocks: u32,
    registers: u32,
    shared_bytes: u32,
}

/// 1 KiB of shared memory a block is the system's own.
const RESERVED: u32 = 1024;

impl Multiprocessor {
    fn new(sm: (u32, u32), shared_per_block: u32) -> Self {
        let (threads, blocks) = match sm {
            (8, 0) | (9 | 10, _) => (2048, 32),
            (8, 9) | (12, _) => (1536, 24),
            (8, _) => (1536, 16),
            _ => (2048, 32),
        };
        Self {
            threads,
            blocks,
            registers: 65536,
            shared_bytes: shared_per_block + RESERVED,
        }
    }
}

/// What is known of a multiprocessor's occupancy without a GPU: registers are ptxas's choice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AtMost {
    /// Blocks that fit, if registers allow it.
    pub blocks: u32,
    /// What keeps more from fitting.
    pub limited_by: Vec<&'static str>,
}

/// Blocks of `threads` threads and `shared_bytes` of shared memory that a multiprocessor of an H100 holds.
pub fn at_most(threads: u32, shared_bytes: u32) -> AtMost {
    let fewest_registers = 1;
    let (blocks, limited_by) = fewest((9, 0), 227 * 1024, threads, fewest_registers, shared_bytes);
    AtMost { blocks, limited_by }
}

/// The resources that allow the fewest blocks.
pub fn limits(
    sm: (u32, u32),
    shared_per_block: u32,
    threads: u32,
    registers: u32,
    shared_bytes: u32,
) -> Vec<&'static str> {
    fewest(sm, shared_per_block, threads, registers, shared_bytes).1
}

/// How many blocks fit, and the resources that allow no more.
fn fewest(
    sm: (u32, u32),
    shared_per_block: u32,
    threads: u32,
    registers: u32,
    shared_bytes: u32,
) -> (u32, Vec<&'static str>) {
    let has = Multiprocessor::new(sm, shared_per_block);
    let warps = threads.div_ceil(32).max(1);
    // Registers are given out to warps, 256 at a time.
    let of_a_warp = (registers * 32).next_multiple_of(256).max(256);
    let fit = [
        ("registers", has.registers / of_a_warp / warps),
        (
            "shared memory",
            has.shared_bytes / (shared_bytes.next_multiple_of(128) + RESERVED),
        ),
        ("threads", has.threads / (warps * 32)),
        ("the number of blocks", has.blocks),
    ];
    let fewest = fit.iter().map(|(_, blocks)| *blocks).min().unwrap_or(0);
    let limiting = fit.iter().filter(|(_, blocks)| *blocks == fewest);
    (fewest, limiting.map(|(name, _)| *name).collect())
}

/// `128 registers a thread, 8,320 bytes of shared memory a block: 2 blocks a multiprocessor, ...`
pub fn sentence(resources: &Resources) -> String {
    let spilled = match resources.local_bytes {
        0 => String::new(),
        bytes => format!(
            ", {} of local memory a thread",
            plural(bytes.into(), "byte")
        ),
    };
    format!(
        "{} a thread, {} bytes of shared memory a block{spilled}: {} a multiprocessor, limited by {}",
        plural(resources.registers.into(), "register"),
        thousands(resources.shared_bytes.into()),
        plural(resources.blocks_per_multiprocessor.into(), "block"),
        resources.limited_by.join(" and ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const H100: ((u32, u32), u32) = ((9, 0), 227 * 1024);

    #[test]
    fn the_scarcest_resource_limits() {
        let limits =
            |threads, registers, shared| limits(H100.0, H100.1, threads, registers, shared);
        assert_eq!(limits(256, 128, 8320), ["registers"]);
        assert_eq!(limits(256, 32, 100 * 1024), ["shared memory"]);
        assert_eq!(limits(1024, 32, 0), ["registers", "threads"]);
        assert_eq!(limits(32, 16, 0), ["the number of blocks"]);
    }

    #[test]
    fn without_registers_the_others_limit() {
        // 228 KiB hold 6 times 32 KiB and the system's one.
        let one = at_most(128, 32 * 1024);
        assert_eq!((one.blocks, one.limited_by), (6, vec!["shared memory"]));
        let one = at_most(1024, 0);
        assert_eq!((one.blocks, one.limited_by), (2, vec!["threads"]));
    }
}
