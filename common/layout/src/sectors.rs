//! Global memory is fetched in sectors of 32 bytes: an instruction of a warp costs as many sectors as it
//! touches. Source: measurements on an H100, which the emulator's tests reproduce.
use std::collections::BTreeSet;

use crate::banks::LANES;

/// Bytes of a sector.
pub const SECTOR: u32 = 32;

/// Number of sectors that a warp's request touches. `offset(lane)` is the lane's byte offset from a multiple
/// of 32, or `None` for an inactive lane. Neither the order of the lanes nor repeated addresses matter.
pub fn sectors(bytes_per_lane: u32, offset: impl Fn(u32) -> Option<u32>) -> u32 {
    let offsets = (0..LANES).filter_map(offset).map(u64::from);
    let touched: BTreeSet<u64> = offsets
        .flat_map(|first| first..first + u64::from(bytes_per_lane))
        .map(|byte| byte / u64::from(SECTOR))
        .collect();
    touched.len() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn textbook_cases() {
        let strided =
            |bytes, stride: u32, first: u32| sectors(bytes, |lane| Some(first + lane * stride));
        assert_eq!(strided(4, 4, 0), 4, "128 bytes in a row");
        assert_eq!(strided(4, 4, 4), 5, "the same, not aligned to a sector");
        assert_eq!(strided(2, 64, 0), 32, "one for each lane");
        assert_eq!(strided(16, 0, 16), 1, "one for all");
        assert_eq!(sectors(4, |lane| (lane == 31).then_some(u32::MAX - 3)), 1);
        assert_eq!(sectors(4, |_| None), 0);
    }
}
