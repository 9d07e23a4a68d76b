//! How many CTAs are resident on an SM.
use serde::Serialize;

/// The resources of an SM (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
#[derive(Clone, Copy, Debug)]
pub struct Sm {
    threads: u32,
    blocks: u32,
    registers: u32,
    shared_bytes: u32,
}

/// The system reserves 1 KiB of shared memory per CTA.
const RESERVED: u32 = 1024;
/// Each has a part of the registers, and a warp's come from one of them.
const SUB_PARTITIONS: u32 = 4;
/// The maximum number of registers per thread.
const REGISTERS: u32 = 255;

/// How many CTAs are resident on an SM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AtMost {
    /// Resident CTAs.
    pub blocks: u32,
    /// What limits that number.
    pub limited_by: Vec<&'static str>,
}

impl Sm {
    /// An SM of an H100 or an H200.
    pub const HOPPER: Self = Self::new((9, 0), 227 * 1024);

    /// The limits of a GPU of this compute capability, where a CTA can have this much shared memory.
    pub const fn new(compute_capability: (u32, u32), shared_per_block: u32) -> Self {
        let (threads, blocks) = match compute_capability {
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

    /// CTAs of `threads` threads with this many registers per thread and this much shared memory.
    pub fn holds(&self, threads: u32, registers: u32, shared_bytes: u32) -> AtMost {
        let warps = threads.div_ceil(32).max(1);
        // Registers are allocated per warp, in units of 256.
        let of_a_warp = 256 * registers.div_ceil(8).max(1);
        let shared_bytes = (shared_bytes.div_ceil(128))
            .saturating_mul(128)
            .saturating_add(RESERVED);
        let fit = [
            (
                "registers",
                self.registers / SUB_PARTITIONS / of_a_warp * SUB_PARTITIONS / warps,
            ),
            ("shared memory", self.shared_bytes / shared_bytes),
            ("threads", self.threads / 32 / warps),
            ("the number of blocks", self.blocks),
        ];
        let blocks = fit.iter().map(|(_, blocks)| *blocks).min().unwrap_or(0);
        let limiting = fit.iter().filter(|(_, most)| *most == blocks);
        let limited_by = limiting.map(|(name, _)| *name).collect();
        AtMost { blocks, limited_by }
    }

    /// Registers that each of this many threads can have, in the units in which they are allocated.
    pub(crate) fn registers_of(&self, threads: u32) -> u32 {
        let warps = threads.div_ceil(32).div_ceil(SUB_PARTITIONS).max(1);
        (self.registers / SUB_PARTITIONS / 32 / warps).min(REGISTERS) / 8 * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scarcest_resource_limits() {
        let limits = |threads, registers, shared| {
            let most = Sm::HOPPER.holds(threads, registers, shared);
            (most.blocks, most.limited_by)
        };
        assert_eq!(limits(256, 128, 8320), (2, vec!["registers"]));
        assert_eq!(limits(128, 161, 0), (3, vec!["registers"]), "in units of 8");
        assert_eq!(limits(256, 32, 100 * 1024), (2, vec!["shared memory"]));
        assert_eq!(limits(128, 32, 114 * 1024), (1, vec!["shared memory"]));
        assert_eq!(limits(1024, 32, 0), (2, vec!["registers", "threads"]));
        assert_eq!(limits(32, 16, 0), (32, vec!["the number of blocks"]));
        assert_eq!(limits(2048, 255, u32::MAX).0, 0, "not even one");
        // Five warps of 88 registers fit into each sub-partition, and two of 200.
        assert_eq!(limits(32, 88, 0), (20, vec!["registers"]));
        assert_eq!(limits(160, 200, 0), (1, vec!["registers"]));
    }

    #[test]
    fn registers_are_allocated_in_units_of_eight() {
        let of = [1, 256, 288, 384, 2048].map(|threads| Sm::HOPPER.registers_of(threads));
        assert_eq!(of, [248, 248, 168, 168, 32]);
    }
}
