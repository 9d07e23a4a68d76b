//! Finds two neighboring lanes whose accesses to global memory are not contiguous.
use std::fmt;

use emulator::{AccessPattern, LANES, global_sectors};

/// The first such lanes of an access.
#[derive(Debug, PartialEq, Eq)]
pub struct Gap {
    lanes: [usize; 2],
    /// Bytes per lane.
    bytes: u32,
    /// Distance between the addresses of the two lanes.
    apart: u64,
    /// Whether the first of the two and all lanes before it access the same bytes.
    alike: bool,
}

/// Bytes of a sector.
const SECTOR: u32 = 32;

/// The gap of the access with the highest ratio of sectors to the minimum. All are to global memory.
pub fn worst<'a>(asked: impl Iterator<Item = &'a AccessPattern>) -> Option<Gap> {
    let cost = |one: &&AccessPattern| {
        let active = (0..LANES).filter(|lane| one.offsets[*lane].is_some());
        let active = active.fold(0, |mask, lane| mask | 1 << lane);
        let offsets = one.offsets.map(Option::unwrap_or_default);
        let (sectors, ideal) = global_sectors(one.bytes, &offsets, active);
        1000 * sectors / ideal.max(1)
    };
    asked
        .filter(|one| one.shared.is_none())
        .max_by_key(cost)
        .and_then(of)
}

fn of(asked: &AccessPattern) -> Option<Gap> {
    (1..LANES).find_map(|lane| {
        let (one, other) = (asked.offsets[lane - 1]?, asked.offsets[lane]?);
        let apart = one.abs_diff(other);
        (apart > u64::from(asked.bytes)).then_some(Gap {
            lanes: [lane - 1, lane],
            bytes: asked.bytes,
            apart,
            alike: lane > 1
                && asked.offsets[..lane]
                    .iter()
                    .all(|before| *before == Some(one)),
        })
    })
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let ([one, other], bytes, apart) = (self.lanes, self.bytes, self.apart);
        if self.alike && apart >= SECTOR.into() {
            return write!(
                f,
                "lanes 0 to {one} access the same {bytes} bytes of a sector, so this access uses {bytes} of its {SECTOR} bytes"
            );
        }
        let lanes = format!("lanes {one} and {other}");
        write!(f, "{lanes} access {bytes} bytes each, {apart} bytes apart")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(offset: impl Fn(u64) -> u64) -> AccessPattern {
        AccessPattern {
            instruction: 0,
            shared: None,
            bytes: 2,
            offsets: std::array::from_fn(|lane| Some(offset(lane as u64))),
        }
    }

    #[test]
    fn the_worst_access_names_its_first_gap() {
        let all = [
            access(|lane| 2 * lane),
            access(|lane| 8 * lane),
            access(|lane| 320 * (lane / 16)),
        ];
        let found = worst(all.iter()).expect("a gap");
        assert_eq!(
            found.to_string(),
            "lanes 0 and 1 access 2 bytes each, 8 bytes apart"
        );
        let rows = worst(all[2..].iter()).expect("a gap");
        assert_eq!((rows.lanes, rows.apart), ([15, 16], 320));
        assert!(
            rows.to_string().starts_with(
                "lanes 0 to 15 access the same 2 bytes of a sector, so this access uses 2 of its 32"
            ),
            "{rows}"
        );
        assert_eq!(worst(all[..1].iter()), None, "side by side");
        assert_eq!(worst([].into_iter()), None);
    }
}
