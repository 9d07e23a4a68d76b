//! How many blocks are resident on an SM, as far as PTX determines it: ptxas chooses the number of registers, which may
//! further reduce occupancy on a GPU.
use crate::Card;

/// "Maximum number of resident threads per SM" (CUDA C++ Programming Guide, "Compute Capabilities", 8.0 and 9.0).
const THREADS: u32 = 2048;
/// "Maximum number of resident blocks per SM".
const BLOCKS: u32 = 32;

/// Resident blocks of an SM, at least one. `shared` is a block's shared memory including the 1 KiB that the system
/// reserves.
pub(super) fn blocks_per_sm(card: Card, shared: u32, threads: usize) -> u32 {
    let warps = (threads as u32).div_ceil(32).max(1);
    let by_shared = card.shared_of_an_sm() / shared.max(1);
    let by_threads = THREADS / (warps * 32);
    by_shared.min(by_threads).clamp(1, BLOCKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_shared_memory_or_the_number_of_blocks_is_the_limit() {
        let blocks = |card, shared: u32, threads| blocks_per_sm(card, 1024 + shared, threads);
        assert_eq!(blocks(Card::H100, 0, 1024), 2);
        assert_eq!(blocks(Card::H100, 0, 32), 32);
        assert_eq!(blocks(Card::H100, 0, 33), 32);
        assert_eq!(blocks(Card::H100, 100 << 10, 32), 2);
        assert_eq!(blocks(Card::A100, 100 << 10, 32), 1);
        assert_eq!(blocks(Card::H100, 227 << 10, 32), 1);
    }
}
