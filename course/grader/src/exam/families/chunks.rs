//! 16-byte chunks, one per row.
use super::Draft;
use super::strides::back;
use crate::exam::access::{Op, WarpAccess};
use crate::exam::formula::{COL, Formula, LANE, ROW};
use crate::exam::random::SeededRandom;

/// Rows of tiles without a swizzle, as `ldmatrix` reads them.
pub fn matrix_rows(draw: &mut SeededRandom) -> Draft {
    let chunks = draw.pick(&[1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 16, 17]);
    let pitch = 16 * chunks;
    let first = draw.below(chunks.min(4)) * 16;
    let (lanes, place) = match draw.below(4) {
        0 => (8, None),
        1 => (16, Some([LANE % 8, LANE / 8])),
        2 => (32, Some([LANE % 8, LANE / 8])),
        _ => (32, Some([LANE % 16, LANE / 16])),
    };
    let row = match place {
        None => LANE * pitch,
        Some(_) => ROW * pitch + COL * 16,
    };
    let back = back(chunks, 8, "Rows begin", "row");
    Draft {
        story: format!("rows of {pitch} bytes, not swizzled"),
        access: WarpAccess {
            place,
            ..WarpAccess::new(Op::Matrix, 16, row.plus(first)).of_lanes(lanes)
        },
        reason: format!(
            "The eight rows of one matrix are served together, and the 32 banks are 8 places of 16 bytes. {back}."
        ),
    }
}

/// A swizzle: the index of the chunk XOR some bits of the row index.
struct Xor {
    shift: u32,
    mask: u32,
}

impl Xor {
    /// A swizzle that stays in a row of N chunks.
    fn draw(draw: &mut SeededRandom, chunks: u32) -> Self {
        let shift = draw.below(3);
        let widths = chunks.ilog2().min(3);
        let width = widths - draw.below(widths.min(2));
        Self {
            shift,
            mask: (1 << width) - 1,
        }
    }

    /// The chunk that holds `COL`.
    fn of_col(&self) -> Formula {
        COL ^ match self.shift {
            0 => ROW & self.mask,
            shift => (ROW >> shift) & self.mask,
        }
    }
}

/// One column of chunks of a swizzled tile.
pub fn swizzled_column(draw: &mut SeededRandom) -> Draft {
    let pitch = draw.pick(&[32, 64, 64, 128, 128, 256]);
    let xor = Xor::draw(draw, pitch / 16);
    let op = draw.pick(&[Op::Matrix, Op::Matrix, Op::Load, Op::Store]);
    let columns = (pitch / 16).min(4);
    let (lanes, place) = match op {
        Op::Matrix => draw.pick(&[8, 16, 32].map(|lanes| (lanes, columns * 8 >= lanes))),
        _ => (32, columns == 4),
    };
    // If a row has fewer chunks, the remaining lanes are in rows below.
    let place = match place {
        true => [LANE % 8, LANE / 8],
        false => [LANE % 16, LANE / 16],
    };
    Draft {
        story: format!("a column of 16-byte chunks of a tile with rows of {pitch} bytes, swizzled"),
        access: WarpAccess::new(op, 16, ROW * pitch + xor.of_col() * 16)
            .at(place)
            .of_lanes(lanes),
        reason: spent(pitch, &xor),
    }
}

/// Which bits of the row index distinguish the eight rows of a phase.
fn spent(pitch: u32, xor: &Xor) -> String {
    let bits = |mask: u32| {
        let bits: Vec<String> = (0..5)
            .filter(|bit| mask >> bit & 1 == 1)
            .map(|bit| bit.to_string())
            .collect();
        match &bits[..] {
            [one] => format!("bit {one}"),
            [but_last @ .., last] => format!("bits {} and {last}", but_last.join(", ")),
            [] => "no bit".into(),
        }
    };
    // The lowest bits of the row index choose the position in the 128 bytes of all banks.
    let by_place = (128 / pitch).max(1) - 1;
    let by_xor = xor.mask << xor.shift;
    let fill = match by_place {
        0 => format!("Rows of {pitch} bytes all begin at bank 0"),
        low => format!(
            "{} rows of {pitch} bytes are once around the banks, so the bank depends on {} of the row's number already",
            low + 1,
            bits(low)
        ),
    };
    let twice = match by_place & by_xor {
        0 => String::new(),
        both => format!(", {} for the second time", bits(both)),
    };
    let left = 0b111 & !(by_place | by_xor);
    let end = match left {
        0 => "So all eight rows that are served together are in different banks".into(),
        left => format!("Rows that differ only in {} conflict", bits(left)),
    };
    format!("{fill}. The XOR uses {}{twice}. {end}.", bits(by_xor))
}

/// Whole rows of a swizzled tile.
pub fn swizzled_rows(draw: &mut SeededRandom) -> Draft {
    let pitch = draw.pick(&[64, 128, 256]);
    let chunks = pitch / 16;
    let xor = Xor::draw(draw, chunks);
    let op = draw.pick(&[Op::Load, Op::Store]);
    let what = match chunks {
        4 => "two whole rows, one behind the other",
        8 => "one whole row",
        _ => "one half of a row",
    };
    Draft {
        story: format!("whole rows of a tile with rows of {pitch} bytes, swizzled"),
        access: WarpAccess::new(op, 16, ROW * pitch + xor.of_col() * 16)
            .at([LANE / chunks, LANE % chunks]),
        reason: format!(
            "Eight lanes are served together: {what}, 128 bytes, which are once around the banks. An XOR changes \
             their order in it and nothing else."
        ),
    }
}
