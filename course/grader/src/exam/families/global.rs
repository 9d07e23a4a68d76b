//! Sectors of global memory.
use super::Draft;
use crate::exam::access::{Op, WarpAccess};
use crate::exam::formula::{COL, LANE, ROW};
use crate::exam::random::SeededRandom;

const SECTOR: u32 = layout::sectors::SECTOR;
const OPS: [Op; 2] = [Op::GlobalLoad, Op::GlobalStore];

/// Coalesced, possibly starting in the middle of a sector.
pub fn side_by_side(draw: &mut SeededRandom) -> Draft {
    let op = draw.pick(&OPS);
    let bytes = draw.pick(&[1, 2, 4, 8, 16]);
    let first = bytes * draw.below(64 / bytes);
    let begin = match first % SECTOR {
        0 => "begin where a sector begins".into(),
        into => {
            format!("begin {into} bytes into a sector, so they end in the middle of one as well")
        }
    };
    let address = LANE * bytes;
    Draft {
        story: "lanes side by side".into(),
        access: WarpAccess::new(op, bytes, address.plus(first)),
        reason: format!("The lanes want {} bytes in a row, and {begin}.", 32 * bytes),
    }
}

/// With a constant stride.
pub fn strided(draw: &mut SeededRandom) -> Draft {
    let op = draw.pick(&OPS);
    let bytes = draw.pick(&[2, 4, 8]);
    let stride = draw.pick(&[8, 16, 24, 32, 40, 64, 128, 1024]);
    let reason = match stride {
        0..SECTOR => format!(
            "Neighbors are {stride} bytes apart, less than a sector: of the bytes 0 to {}, no sector is left out.",
            31 * stride + bytes - 1
        ),
        _ => {
            format!("Neighbors are {stride} bytes apart, so no two find theirs in the same sector.")
        }
    };
    Draft {
        story: "lanes at equal distances".into(),
        access: WarpAccess::new(op, bytes, LANE * stride),
        reason,
    }
}

/// Parts of several rows that begin at sector boundaries. The order of the lanes makes no difference.
pub fn rows(draw: &mut SeededRandom) -> Draft {
    let op = draw.pick(&OPS);
    let bytes = draw.pick(&[2, 4, 8, 16]);
    let columns = draw.pick(&[2, 4, 8, 16]);
    let rows = 32 / columns;
    let wanted = bytes * columns;
    let pitch = draw.pick(&[256, 512, 1024, 4096]);
    let along_rows = draw.below(2) == 0;
    let place = match along_rows {
        true => [LANE / columns, LANE % columns],
        false => [LANE % rows, LANE / rows],
    };
    let order = match along_rows {
        true => String::new(),
        false => " That neighboring lanes are in different rows changes nothing: sectors are counted over the warp.".into(),
    };
    let part = match wanted {
        0..SECTOR => "a part of one sector".into(),
        SECTOR => "just one sector".into(),
        more => format!("{} sectors", more / SECTOR),
    };
    Draft {
        story: format!(
            "{columns} elements of each of {rows} rows of a matrix, row-major with {pitch} bytes a row"
        ),
        access: WarpAccess::new(op, bytes, ROW * pitch + COL * bytes).at(place),
        reason: format!(
            "In each row the lanes want {wanted} bytes in a row, {part}, and rows share no sector.{order}"
        ),
    }
}

/// The same with rows that begin anywhere.
pub fn ragged_rows(draw: &mut SeededRandom) -> Draft {
    let bytes = draw.pick(&[4, 8, 16]);
    let columns = draw.pick(&[4, 8]);
    let wanted: u32 = bytes * columns;
    let rows = 32 / columns;
    // Far enough apart not to share a sector, and not a multiple of the sector size.
    let pitch = 16 * draw.pick(&[13, 15, 25, 33, 63]);
    let least = wanted.div_ceil(SECTOR);
    let touched = |row: u32| {
        let first = row * pitch;
        (first + wanted - 1) / SECTOR - first / SECTOR + 1
    };
    let more: Vec<String> = (0..rows)
        .filter(|row| touched(*row) > least)
        .map(|row| row.to_string())
        .collect();
    let straddle = match more.is_empty() {
        true => "all within as few sectors as can be".into(),
        false => format!("one more than it need be in rows {}", more.join(", ")),
    };
    Draft {
        story: format!(
            "{columns} elements of each of {rows} rows of a matrix, row-major with {pitch} bytes a row"
        ),
        access: WarpAccess::new(Op::GlobalLoad, bytes, ROW * pitch + COL * bytes)
            .at([LANE / columns, LANE % columns]),
        reason: format!(
            "In each row the lanes load {wanted} bytes. Rows of {pitch} bytes are not whole sectors, so every row begins \
             {} bytes further into one: {straddle}.",
            pitch % SECTOR
        ),
    }
}
