//! How an H100 serves one warp-level access: wavefronts of shared memory, sectors of global memory.
//!
//! The rules were measured with Nsight Compute on one-instruction kernels; every recorded measurement
//! is a test (`calibration/tests/all/hardware.rs`).
use crate::Wavefronts;

/// Lanes of a warp.
pub const LANES: usize = 32;

/// The kind of a warp's access to shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SharedAccess {
    /// An ordinary load.
    Load,
    /// An ordinary store.
    Store,
    /// `ldmatrix` or `stmatrix`: rows of 16 bytes; the eight rows of a matrix form a group. Only the
    /// lanes that name a row are active.
    Matrix,
}

/// Wavefronts of one shared-memory access.
///
/// `addresses` are byte addresses, one for each lane; bit `i` of `active` says whether lane `i`
/// takes part. Each lane accesses `bytes` bytes: 1, 2, 4, 8 or 16.
///
/// A warp is served in groups of consecutive lanes: 32 lanes for up to 4 bytes per lane, 16 for 8 bytes,
/// 8 for 16 bytes. Loads of 8 and 16 bytes merge two groups into one if, over the whole warp, lanes `i`
/// and `i ^ 1` access the same address, or lanes `i` and `i ^ 2` do; an inactive lane matches any
/// address. The wavefronts of a group are the distinct words in its busiest bank.
pub fn shared_wavefronts(
    access: SharedAccess,
    bytes: u32,
    addresses: &[u32; LANES],
    active: u32,
) -> Wavefronts {
    let mut group = match bytes {
        16 => 8,
        8 => 16,
        _ => LANES,
    };
    let merges = |partner: usize| {
        (0..LANES).all(|lane| {
            let other = lane ^ partner;
            let both = active >> lane & active >> other & 1 == 1;
            !both || addresses[lane] == addresses[other]
        })
    };
    if access == SharedAccess::Load && bytes >= 8 && (merges(1) || merges(2)) {
        group *= 2;
    }
    let words = bytes.div_ceil(4).max(1);
    let (mut wavefronts, mut ideal) = (0, 0);
    for first in (0..LANES).step_by(group) {
        let mut seen: Vec<u32> = (first..first + group)
            .filter(|lane| active >> lane & 1 == 1)
            .flat_map(|lane| (0..words).map(move |word| addresses[lane] / 4 + word))
            .collect();
        if seen.is_empty() {
            continue;
        }
        seen.sort_unstable();
        seen.dedup();
        let mut load = [0u64; 32];
        for word in seen {
            load[(word % 32) as usize] += 1;
        }
        wavefronts += load.into_iter().max().unwrap_or(0);
        ideal += 1;
    }
    let wavefronts = wavefronts.max(1);
    Wavefronts {
        wavefronts,
        ideal,
        conflicts: wavefronts - ideal,
    }
}

/// 32-byte sectors of one global-memory access, and the fewest that could hold the requested bytes.
pub fn global_sectors(bytes: u32, addresses: &[u64; LANES], active: u32) -> (u64, u64) {
    let mut sectors = Vec::with_capacity(2 * LANES);
    let mut starts = Vec::with_capacity(LANES);
    for (lane, &address) in addresses.iter().enumerate() {
        if active >> lane & 1 == 1 {
            let last = address.saturating_add(u64::from(bytes.max(1)) - 1);
            sectors.extend(address / 32..=last / 32);
            starts.push(address);
        }
    }
    sectors.sort_unstable();
    sectors.dedup();
    starts.sort_unstable();
    // Counts distinct bytes: aligned accesses of one size either coincide or do not overlap.
    starts.dedup();
    let ideal = (starts.len() as u64 * u64::from(bytes)).div_ceil(32);
    (sectors.len() as u64, ideal)
}
