//! Constant strides.
use super::{Draft, period};
use crate::exam::access::{Op, WarpAccess};
use crate::exam::formula::LANE;
use crate::exam::random::SeededRandom;

const LOAD_OR_STORE: [Op; 2] = [Op::Load, Op::Store];

/// Four bytes per lane.
pub fn words(draw: &mut SeededRandom) -> Draft {
    let units = draw.pick(&[
        2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 28, 32, 33, 40, 48, 64, 65,
    ]);
    units_apart(draw, 4, units)
}

/// Eight bytes per lane.
pub fn pairs(draw: &mut SeededRandom) -> Draft {
    let units = draw.pick(&[1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 17, 18, 20]);
    units_apart(draw, 8, units)
}

/// Sixteen bytes per lane.
pub fn chunks(draw: &mut SeededRandom) -> Draft {
    let units = draw.pick(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16]);
    units_apart(draw, 16, units)
}

fn units_apart(draw: &mut SeededRandom, bytes: u32, units: u32) -> Draft {
    let op = draw.pick(&LOAD_OR_STORE);
    let together = 128 / bytes;
    // Complete phases, because otherwise the explanation would be different.
    let lanes = match draw.below(3) {
        0 if bytes > 4 => together * (1 + draw.below(32 / together - 1)),
        _ => 32,
    };
    let served = match bytes {
        4 => "All 32 lanes are served together".to_owned(),
        _ => format!(
            "With {bytes} bytes a lane, {together} lanes are served together, and the 32 banks are {together} places \
             of {bytes} bytes"
        ),
    };
    let back = back(units, together, "Neighbors are", "lane");
    Draft {
        story: match lanes {
            32 => "lanes at equal distances".into(),
            some => format!(
                "lanes at equal distances; only lanes 0 to {} take part",
                some - 1
            ),
        },
        access: WarpAccess::new(op, bytes, LANE * (units * bytes)).of_lanes(lanes),
        reason: format!("{served}. {back}."),
    }
}

/// Which unit reaches the banks of the first one again, with steps of this many units around the 32 banks.
pub fn back(units: u32, places: u32, subject: &str, who: &str) -> String {
    let apart = match (places, units) {
        (32, 1) => "1 word".into(),
        (32, _) => format!("{units} words"),
        (_, 1) => format!("1 place of {} bytes", 128 / places),
        _ => format!("{units} places of {} bytes", 128 / places),
    };
    match period(units, places) {
        all if all == places => format!(
            "{subject} {apart} apart, an odd number: {places} of them meet all the banks before one comes back"
        ),
        back => format!("{subject} {apart} apart: {who} {back} is back at the banks of {who} 0"),
    }
}

/// One column of a row-major tile.
pub fn column(draw: &mut SeededRandom) -> Draft {
    let row = draw.pick(&[16, 24, 32, 40, 48, 64, 96, 128]);
    of_column(draw, row, 0)
}

/// The same with padding after each row.
pub fn padded_column(draw: &mut SeededRandom) -> Draft {
    let row = draw.pick(&[32, 64, 128]);
    let padding = draw.pick(&[1, 2, 4, 6, 8, 16]);
    of_column(draw, row, padding)
}

fn of_column(draw: &mut SeededRandom, row: u32, padding: u32) -> Draft {
    let op = draw.pick(&LOAD_OR_STORE);
    // Rows of f16 must be whole words, so that each begins at a bank boundary.
    let f16 = draw.below(3) == 0 && (row + padding).is_multiple_of(2);
    let (bytes, element) = if f16 { (2, "f16") } else { (4, "f32") };
    let pitch = row + padding;
    let column = 1 + draw.below(row - 1);
    let padded = match padding {
        0 => String::new(),
        1 => " and one unused after them".into(),
        more => format!(" and {more} unused after them"),
    };
    let words = pitch * bytes / 4;
    let back = back(words, 32, "Rows begin", "row");
    Draft {
        story: format!(
            "column {column} of a row-major tile, whose rows have {row} {element}{padded}"
        ),
        access: WarpAccess::new(op, bytes, (LANE * pitch + column) * bytes),
        reason: format!("All 32 lanes are served together, each with a row of its own. {back}."),
    }
}
