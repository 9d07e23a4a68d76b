//! Global memory is fetched in sectors of 32 bytes: what a warp asks for in one instruction costs as many as it touches.
//! Source: measurements on an H100, which the emulator's tests hold.
use std::collections::BTreeSet;

use crate::banks::LANES;

/// Bytes of a sector.
pub const SECTOR: u32 = 32;

/// Sectors that a warp's request touches. `offset(lane)` is the lane's byte offset from a multiple of 32, or `None` if it
/// takes no part; who asks for which does not matter, nor does how often.
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
        assert_eq!(strided(4, 4, 4), 5, "and not where a sector begins");
        assert_eq!(strided(2, 64, 0), 32, "one for each lane");
        assert_eq!(strided(16, 0, 16), 1, "one for all");
        assert_eq!(sectors(4, |lane| (lane == 31).then_some(u32::MAX - 3)), 1);
        assert_eq!(sectors(4, |_| None), 0);
    }
}
