//! The resources that a block takes of an SM, and how they limit the number of resident blocks.
use serde::Serialize;

pub use clock::{AtMost, Sm};

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

/// What is known about an H100 without a GPU; ptxas chooses the number of registers.
pub fn at_most(threads: u32, shared_bytes: u32) -> AtMost {
    Sm::HOPPER.holds(threads, 1, shared_bytes)
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

    #[test]
    fn without_registers_the_others_limit() {
        // 228 KiB hold six times 32 KiB plus the reserved 1 KiB.
        let one = at_most(128, 32 * 1024);
        assert_eq!((one.blocks, one.limited_by), (6, vec!["shared memory"]));
        let one = at_most(1024, 0);
        assert_eq!((one.blocks, one.limited_by), (2, vec!["threads"]));
    }
}
