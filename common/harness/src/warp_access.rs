//! One access of a warp, as a row of a CSV file states it.
use emulator::{LANES, SharedAccess};

use crate::csv_table::RowError;

/// A load or store that one warp instruction makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarpAccess {
    /// The instruction as written: `ld`, `st`, or `ldmatrix`, `stmatrix` with `.x1`, `.x2`, `.x4` and optionally
    /// `.trans`.
    pub op: String,
    /// The kind of access.
    pub kind: SharedAccess,
    /// Bytes that each lane accesses.
    pub bytes: u32,
    /// Byte offset of each lane; `None` for an inactive lane.
    pub offsets: [Option<u32>; LANES],
}

impl WarpAccess {
    /// The columns that [`WarpAccess::parse`] needs.
    pub const COLUMNS: [&'static str; 3] = ["op", "bytes_per_lane", "byte_offset_per_lane"];
    /// An upper bound of the offsets; shared memory is smaller.
    const MAX_OFFSET: u32 = 1 << 24;

    /// Parses the fields of the columns [`WarpAccess::COLUMNS`]. The offsets are separated by blanks; `-` is an
    /// inactive lane. A matrix has an offset for each of its 8 rows.
    ///
    /// # Errors
    /// If there is no such access.
    pub fn parse(fields: &[&str]) -> Result<Self, RowError> {
        let bad = |why: String| Err(RowError(why));
        let [op, bytes, offsets] = *fields else {
            return bad(format!("{} fields: an access has 3", fields.len()));
        };
        let Some((kind, lanes)) = kind(op) else {
            return bad(format!(
                "{op:?} is not a shared-memory access; use ld, st, ldmatrix or stmatrix with .x1, .x2 or .x4, also .trans"
            ));
        };
        let bytes = match bytes.parse() {
            Ok(bytes @ (1 | 2 | 4 | 8 | 16)) if kind != SharedAccess::Matrix || bytes == 16 => {
                bytes
            }
            _ if kind == SharedAccess::Matrix => {
                return bad(format!(
                    "{bytes:?} bytes a lane: a row of a matrix has 16 bytes"
                ));
            }
            _ => {
                return bad(format!(
                    "{bytes:?} bytes a lane: there are 1, 2, 4, 8 and 16"
                ));
            }
        };
        let fields: Vec<&str> = offsets.split_whitespace().collect();
        if fields.len() != lanes {
            return bad(format!(
                "{} byte offsets: {op} has {lanes}; write - for a lane that takes no part",
                fields.len()
            ));
        }
        let mut offsets = [None; LANES];
        for (lane, field) in fields.into_iter().enumerate() {
            if field == "-" {
                continue;
            }
            let Some(offset) = field.parse().ok().filter(|at: &u32| *at < Self::MAX_OFFSET) else {
                return bad(format!(
                    "lane {lane}: {field:?} is not a byte offset below {}",
                    Self::MAX_OFFSET
                ));
            };
            if !offset.is_multiple_of(bytes) {
                return bad(format!(
                    "lane {lane}: byte offset {offset} is misaligned: an access of {bytes} bytes \
                     starts at a multiple of {bytes}"
                ));
            }
            offsets[lane] = Some(offset);
        }
        if offsets.iter().all(Option::is_none) {
            return bad("no lane takes part".into());
        }
        Ok(Self {
            op: op.to_owned(),
            kind,
            bytes,
            offsets,
        })
    }

    /// The offsets, 0 for an inactive lane, and a mask of the active lanes, as [`emulator::shared_wavefronts`] takes
    /// them.
    pub fn lanes(&self) -> ([u32; LANES], u32) {
        let active = (0..LANES).fold(0, |mask, lane| {
            mask | u32::from(self.offsets[lane].is_some()) << lane
        });
        (self.offsets.map(Option::unwrap_or_default), active)
    }

    /// Lanes that give an address.
    pub fn addresses(&self) -> usize {
        kind(&self.op).map_or(LANES, |(_, lanes)| lanes)
    }
}

/// The kind of an access, and how many lanes give addresses.
fn kind(op: &str) -> Option<(SharedAccess, usize)> {
    match op {
        "ld" => return Some((SharedAccess::Load, LANES)),
        "st" => return Some((SharedAccess::Store, LANES)),
        _ => {}
    }
    let count = op
        .strip_prefix("ldmatrix.x")
        .or_else(|| op.strip_prefix("stmatrix.x"))?;
    let lanes = match count.strip_suffix(".trans").unwrap_or(count) {
        "1" => 8,
        "2" => 16,
        "4" => 32,
        _ => return None,
    };
    Some((SharedAccess::Matrix, lanes))
}
