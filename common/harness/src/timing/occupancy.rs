//! The resources that a block takes of an SM, and how they limit the number of resident blocks.
use serde::Serialize;

use crate::table::{plural, thousands};

/// The driver's information about a loaded kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Resources {
    /// Threads per block.
    pub threads: u32,
    /// Registers per thread.
    pub registers: u32,
    /// Static and dynamic shared memory per block, in bytes.
    pub shared_bytes: u32,
    /// Bytes of local memory per thread, for example for spilled registers.
    pub local_bytes: u32,
    /// Resident blocks per SM.
    pub blocks_per_multiprocessor: u32,
    /// What limits that number.
    pub limited_by: Vec<&'static str>,
}

/// The resources of an SM (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
pub struct Sm {
    threads: u32,
    blocks: u32,
    registers: u32,
    shared_bytes: u32,
}

/// The system reserves 1 KiB of shared memory per block.
const RESERVED: u32 = 1024;

/// How many blocks are resident on an SM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AtMost {
    /// Resident blocks.
    pub blocks: u32,
    /// What limits that number.
    pub limited_by: Vec<&'static str>,
}

impl Sm {
    /// The limits of a GPU of this compute capability, where a block can have this much shared memory.
    pub fn new(compute_capability: (u32, u32), shared_per_block: u32) -> Self {
        let (threads, blocks) = match compute_capability {
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

    /// Blocks of `threads` threads with this many registers per thread and this much shared memory.
    pub fn holds(&self, threads: u32, registers: u32, shared_bytes: u32) -> AtMost {
        let warps = threads.div_ceil(32).max(1);
        // Registers are allocated per warp, in units of 256.
        let of_a_warp = (registers * 32).next_multiple_of(256).max(256);
        let shared_bytes = shared_bytes.next_multiple_of(128) + RESERVED;
        let fit = [
            ("registers", self.registers / of_a_warp / warps),
            ("shared memory", self.shared_bytes / shared_bytes),
            ("threads", self.threads / (warps * 32)),
            ("the number of blocks", self.blocks),
        ];
        let blocks = fit.iter().map(|(_, blocks)| *blocks).min().unwrap_or(0);
        let limiting = fit.iter().filter(|(_, most)| *most == blocks);
        let limited_by = limiting.map(|(name, _)| *name).collect();
        AtMost { blocks, limited_by }
    }
}

/// What is known about an H100 without a GPU; ptxas chooses the number of registers.
pub fn at_most(threads: u32, shared_bytes: u32) -> AtMost {
    Sm::new((9, 0), 227 * 1024).holds(threads, 1, shared_bytes)
}

/// `128 registers a thread, 8,320 bytes of shared memory a block: 2 blocks an SM, ...`
pub fn sentence(resources: &Resources) -> String {
    let spilled = match resources.local_bytes {
        0 => String::new(),
        bytes => format!(
            ", {} of local memory a thread",
            plural(bytes.into(), "byte")
        ),
    };
    format!(
        "{} a thread, {} bytes of shared memory a block{spilled}: {} an SM, limited by {}",
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
        let h100 = Sm::new(H100.0, H100.1);
        let limits = |threads, registers, shared| h100.holds(threads, registers, shared).limited_by;
        assert_eq!(limits(256, 128, 8320), ["registers"]);
        assert_eq!(limits(256, 32, 100 * 1024), ["shared memory"]);
        assert_eq!(limits(1024, 32, 0), ["registers", "threads"]);
        assert_eq!(limits(32, 16, 0), ["the number of blocks"]);
    }

    #[test]
    fn without_registers_the_others_limit() {
        // 228 KiB hold six times 32 KiB plus the reserved 1 KiB.
        let one = at_most(128, 32 * 1024);
        assert_eq!((one.blocks, one.limited_by), (6, vec!["shared memory"]));
        let one = at_most(1024, 0);
        assert_eq!((one.blocks, one.limited_by), (2, vec!["threads"]));
    }
}
