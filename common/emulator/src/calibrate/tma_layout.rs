//! `tma_layout.csv`: where a bulk tensor load puts the elements of a tile, and what it puts where the tile leaves
//! the tensor.
//!
//! Each element of the tensor holds its own number, counted from 1; shared memory holds a mark before the load.
//! So what is found there afterwards is an element, a zero from outside the tensor, or untouched.
use std::fmt;

use super::placement::{self, Placement, Placements};
use super::{BadRow, CalibrateError, Experiment, Recording, Row, Table, Tensor, is_named};
use crate::{Card, Swizzle};

/// Bytes of shared memory that are looked at.
const WINDOW: u32 = 4 << 10;
const THREADS: u32 = 128;
/// What shared memory holds before, and what lies between the tensor's rows.
const UNTOUCHED: u16 = 0xffff;
const GAP: u16 = 0xfffe;

/// One load of a tile of 16-bit elements. Lists begin with the innermost dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Case {
    /// The swizzle: 0, 32, 64 or 128.
    pub swizzle: u32,
    /// Where the tile goes, from a multiple of 1024; itself a multiple of 128.
    pub start: u32,
    /// Elements of the tile.
    pub tile: [u32; 2],
    /// Elements of the tensor. Its rows start at multiples of 16 bytes.
    pub tensor: [u32; 2],
    /// Where the tile starts in the tensor; it may start outside.
    pub at: [i32; 2],
}

/// What 2 bytes of shared memory hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The element with this number, row by row.
    Element(u16),
    /// A zero from outside the tensor.
    Zero,
    /// What was there before.
    Untouched,
}

/// The columns of `tma_layout.csv`.
pub const COLUMNS: [&str; 9] = [
    "swizzle",
    "start",
    "tile_columns",
    "tile_rows",
    "columns",
    "rows",
    "x",
    "y",
    "elements",
];

/// A case, and what lies in shared memory from its start on: a row of the recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// What was asked.
    pub case: Case,
    /// For each 2 bytes, up to the last 16 that were touched.
    pub found: Vec<Found>,
}

impl Case {
    /// Bytes from one row of the tensor to the next.
    fn stride(&self) -> u32 {
        (2 * self.tensor[0]).next_multiple_of(16)
    }

    /// The tensor's bytes.
    fn tensor_bytes(&self) -> Vec<u8> {
        let [columns, rows] = self.tensor;
        let element = |row: u32, column: u32| match column < columns {
            true => (row * columns + column + 1) as u16,
            false => GAP,
        };
        (0..rows)
            .flat_map(|row| (0..self.stride() / 2).map(move |column| (row, column)))
            .flat_map(|(row, column)| element(row, column).to_le_bytes())
            .collect()
    }

    /// What records it.
    pub fn experiment(&self) -> Experiment {
        let [x, y] = self.at.map(|at| at as u32);
        let bytes = 2 * self.tile[0] * self.tile[1];
        Experiment {
            ptx: PTX.into(),
            blocks: 1,
            threads: THREADS,
            // The mbarrier lies behind the window.
            dynamic_shared: WINDOW + 16,
            input: [x, y, self.start, bytes].map(u32::to_le_bytes).concat(),
            output_bytes: WINDOW as usize,
            tensor: Some(Tensor {
                bytes: self.tensor_bytes(),
                dimensions: self.tensor.map(u64::from),
                stride: self.stride().into(),
                tile: self.tile,
                swizzle: match self.swizzle {
                    32 => Swizzle::B32,
                    64 => Swizzle::B64,
                    128 => Swizzle::B128,
                    _ => Swizzle::None,
                },
            }),
        }
    }

    /// What its output says.
    ///
    /// # Errors
    /// If it holds what is no element of the tensor.
    pub fn decode(&self, output: &[u8]) -> Result<Loaded, BadRow> {
        let wrong =
            |at: usize, what: &str| Err(BadRow(format!("{self}: byte {at} of the window {what}")));
        if output.len() != WINDOW as usize {
            return wrong(output.len(), "is the last");
        }
        let (start, elements) = (self.start as usize, self.tensor[0] * self.tensor[1]);
        let mut found = Vec::new();
        for (at, pair) in (0..).step_by(2).zip(output.chunks_exact(2)) {
            let what = match u16::from_le_bytes([pair[0], pair[1]]) {
                0 => Found::Zero,
                UNTOUCHED => Found::Untouched,
                number if u32::from(number) <= elements => Found::Element(number - 1),
                _ => return wrong(at, "holds what is no element"),
            };
            if at >= start {
                found.push(what);
            } else if what != Found::Untouched {
                return wrong(at, "is before the tile and was touched");
            }
        }
        let touched = found.iter().rposition(|&what| what != Found::Untouched);
        found.truncate(touched.map_or(0, |last| (last + 1).next_multiple_of(8)));
        Ok(Loaded { case: *self, found })
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([tile_columns, tile_rows], [columns, rows], [x, y]) =
            (self.tile, self.tensor, self.at);
        write!(
            f,
            "{},{},{tile_columns},{tile_rows},{columns},{rows},{x},{y}",
            self.swizzle, self.start
        )
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Found::Element(number) => write!(f, "{number}"),
            Found::Zero => f.write_str("-"),
            Found::Untouched => f.write_str("."),
        }
    }
}

/// Of each 16 bytes the first element's number, if the next seven follow, `-` for zeros, `.` for what is untouched;
/// where they are mixed, all eight with `+` between.
impl fmt::Display for Loaded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},", self.case)?;
        for (i, chunk) in self.found.chunks(8).enumerate() {
            let gap = if i == 0 { "" } else { " " };
            if *chunk == follow(chunk[0]) {
                write!(f, "{gap}{}", chunk[0])?;
            } else {
                let all: Vec<String> = chunk.iter().map(Found::to_string).collect();
                write!(f, "{gap}{}", all.join("+"))?;
            }
        }
        Ok(())
    }
}

/// The eight that one stands for.
fn follow(first: Found) -> [Found; 8] {
    std::array::from_fn(|i| match first {
        Found::Element(number) => Found::Element(number.saturating_add(i as u16)),
        same => same,
    })
}

impl Loaded {
    /// From the fields of the columns [`COLUMNS`].
    ///
    /// # Errors
    /// If one of them is malformed.
    pub fn parse(fields: [&str; 9]) -> Result<Self, BadRow> {
        let [numbers @ .., elements] = fields;
        let mut values = [0i32; 8];
        for ((value, field), name) in values.iter_mut().zip(numbers).zip(COLUMNS) {
            let why = || BadRow(format!("{name} is {field:?}: a whole number is needed"));
            *value = field.parse().map_err(|_| why())?;
        }
        let [swizzle, start, tile_columns, tile_rows, columns, rows, x, y] = values;
        let sides = [tile_columns, tile_rows, columns, rows];
        let small = |side: &i32| (1..=256).contains(side);
        if ![0, 32, 64, 128].contains(&swizzle) || !(0..1024).contains(&start) || start % 128 != 0 {
            let why = "swizzle is 0, 32, 64 or 128, start a multiple of 128 below 1024";
            return Err(BadRow(why.into()));
        }
        if !sides.iter().all(small) || columns * rows >= i32::from(u16::MAX) - 1 {
            let why =
                "sides of tile and tensor are 1 to 256, the tensor's elements fewer than 65534";
            return Err(BadRow(why.into()));
        }
        if tile_columns * tile_rows * 2 > (WINDOW as i32) - 1024 {
            return Err(BadRow(format!(
                "a tile has at most {} bytes",
                WINDOW - 1024
            )));
        }
        let case = Case {
            swizzle: swizzle as u32,
            start: start as u32,
            tile: [tile_columns as u32, tile_rows as u32],
            tensor: [columns as u32, rows as u32],
            at: [x, y],
        };
        let one = |text: &str| match text {
            "-" => Ok(Found::Zero),
            "." => Ok(Found::Untouched),
            number => number
                .parse()
                .map(Found::Element)
                .map_err(|_| BadRow(format!("{text:?} is no element, nor - or ."))),
        };
        let mut found = Vec::new();
        for chunk in elements.split_whitespace() {
            let listed: Vec<Found> = chunk.split('+').map(one).collect::<Result<_, _>>()?;
            match listed[..] {
                [first] => found.extend(follow(first)),
                [_, _, _, _, _, _, _, _] => found.extend(listed),
                _ => {
                    return Err(BadRow(format!(
                        "{chunk:?} is neither one element nor eight"
                    )));
                }
            }
        }
        Ok(Self { case, found })
    }

    /// The rows of a file, with their lines counted from 1.
    ///
    /// # Errors
    /// If it has none, or one of them is malformed.
    pub fn all(bytes: &[u8]) -> Result<Vec<(usize, Self)>, CalibrateError> {
        placement::rows(bytes)
    }
}

pub(super) fn kind(stem: &str) -> Option<Box<dyn Recording>> {
    is_named(stem, "tma_layout").then(|| Box::new(Placements::<Loaded>::NEW) as _)
}

impl Placement for Loaded {
    const COLUMNS: &'static [&'static str] = &COLUMNS;

    fn parse_row(table: &Table<'_>, row: &Row<'_>) -> Result<Self, BadRow> {
        Self::parse(table.pick(row, COLUMNS)?)
    }

    fn experiments(&self) -> Vec<Experiment> {
        vec![self.case.experiment()]
    }

    fn measured(&self, outputs: &[Vec<u8>]) -> Result<Self, BadRow> {
        match outputs {
            [output] => self.case.decode(output),
            _ => Err(BadRow("one output is needed".into())),
        }
    }

    fn difference(&self, found: &Self) -> Option<[String; 3]> {
        let count = self.found.len().max(found.found.len());
        let at = |row: &Self, i: usize| row.found.get(i).copied().unwrap_or(Found::Untouched);
        let mut wrong = (0..count).filter(|&i| at(self, i) != at(found, i));
        let first = wrong.next()?;
        let what = format!(
            "{}: byte {} of the tile, the first of {} elements that differ",
            self.case,
            2 * first,
            1 + wrong.count()
        );
        let [expected, found] = [self, found].map(|row| at(row, first).to_string());
        Some([what, expected, found])
    }
}

impl Case {
    /// What the emulator says.
    ///
    /// # Errors
    /// If it refuses the tensor map.
    pub fn on_emulator(&self) -> Result<Loaded, BadRow> {
        let row = Loaded {
            case: *self,
            found: Vec::new(),
        };
        placement::on_emulator(&row, Card::H100)
    }
}

/// Tiles start at whole 16 bytes: elsewhere an H100 stops with an illegal instruction.
///
/// Every swizzle at every eighth of 1024 bytes, with tiles as wide as the swizzle and narrower ones; tiles that
/// leave the tensor on each side, and tensors whose rows end within 16 bytes.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for swizzle in [0, 32, 64, 128] {
        let wide = if swizzle == 0 { 64 } else { swizzle / 2 };
        let case = Case {
            swizzle,
            start: 0,
            tile: [wide, 16],
            tensor: [200, 40],
            at: [16, 3],
        };
        cases.extend((0..8).map(|i| Case {
            start: 128 * i,
            ..case
        }));
        let mut widths = vec![8, 16, 24, 32, 48, 56];
        widths.retain(|&width| width < wide);
        if swizzle == 0 {
            widths.extend([72, 136]);
        }
        for width in widths {
            cases.extend([0, 384].map(|start| Case {
                start,
                tile: [width, 8],
                ..case
            }));
        }
        let (right, below) = (200 - wide as i32, 40 - 16);
        for at in [
            [8, 0],
            [-8, -3],
            [-16, 0],
            [right, below + 5],
            [right + 8, 0],
            [-104, 0],
            [0, 100],
            [192, 39],
        ] {
            cases.push(Case { at, ..case });
        }
        for at in [[104 - wide as i32, 2], [96, 30], [-8, 33]] {
            cases.push(Case {
                tensor: [101, 37],
                start: 256,
                at,
                ..case
            });
        }
    }
    cases
}

const PTX: &str = ".version 8.0
.target sm_90
.address_size 64
.extern .shared .align 1024 .b8 window[];
.visible .entry k(.param .u64 in, .param .u64 out, .param .align 64 .b8 map[128])
.maxntid 128, 1, 1
{
.reg .b32 %r<32>;
.reg .b64 %l<16>;
.reg .pred %p<4>;
ld.param.u64 %l0, [in];
ld.param.u64 %l1, [out];
mov.b64 %l2, map;
cvta.param.u64 %l3, %l2;
mov.u32 %r0, %tid.x;
mov.u32 %r1, window;
ld.global.u32 %r2, [%l0];
ld.global.u32 %r3, [%l0+4];
ld.global.u32 %r4, [%l0+8];
ld.global.u32 %r5, [%l0+12];
add.u32 %r4, %r4, %r1;
add.u32 %r6, %r1, 4096;
mov.u32 %r7, %r0;
mov.u32 %r8, 0xffffffff;
FILL:
shl.b32 %r9, %r7, 2;
add.u32 %r9, %r9, %r1;
st.shared.u32 [%r9], %r8;
add.u32 %r7, %r7, 128;
setp.lt.u32 %p0, %r7, 1024;
@%p0 bra FILL;
setp.ne.u32 %p1, %r0, 0;
@%p1 bra READY;
mbarrier.init.shared::cta.b64 [%r6], 1;
READY:
fence.proxy.async;
bar.sync 0;
@%p1 bra WAIT;
mbarrier.arrive.expect_tx.shared::cta.b64 %l4, [%r6], %r5;
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%l3, {%r2, %r3}], [%r6];
WAIT:
mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r6], 0;
@!%p2 bra WAIT;
mov.u32 %r7, %r0;
COPY:
shl.b32 %r9, %r7, 2;
add.u32 %r9, %r9, %r1;
ld.shared.u32 %r10, [%r9];
mul.wide.u32 %l5, %r7, 4;
add.u64 %l5, %l5, %l1;
st.global.u32 [%l5], %r10;
add.u32 %r7, %r7, 128;
setp.lt.u32 %p0, %r7, 1024;
@%p0 bra COPY;
ret;
}
";

#[cfg(test)]
mod tests {
    use super::*;

    /// A window as some hardware might leave it.
    fn window(case: &Case, value: impl Fn(u32) -> u16) -> Vec<u8> {
        let end = case.start + 2 * case.tile[0] * case.tile[1];
        (0..WINDOW)
            .step_by(2)
            .flat_map(|at| match (case.start..end).contains(&at) {
                true => value(at).to_le_bytes(),
                false => UNTOUCHED.to_le_bytes(),
            })
            .collect()
    }

    #[test]
    fn a_row_is_written_and_read() {
        for case in cases() {
            let output = window(&case, |at| (at * 7 % 50) as u16);
            let loaded = case.decode(&output).expect("elements");
            let text = loaded.to_string();
            let fields: Vec<&str> = text.split(',').collect();
            let fields = fields.try_into().expect("as many as there are columns");
            assert_eq!(Loaded::parse(fields), Ok(loaded));
            assert_eq!(
                case.tensor_bytes().len() as u32,
                case.stride() * case.tensor[1]
            );
        }
    }

    #[test]
    fn what_is_no_element_is_refused() {
        let case = cases()[0];
        let end = (case.tensor[0] * case.tensor[1]) as u16;
        assert!(case.decode(&window(&case, |_| end)).is_ok());
        assert!(case.decode(&window(&case, |_| end + 1)).is_err());
        assert!(case.decode(&window(&case, |_| GAP)).is_err());
        let later = Case { start: 128, ..case };
        assert!(later.decode(&window(&case, |_| 1)).is_err());
        let chunks = window(&case, |at| match at % 32 {
            0..16 => 1 + at as u16 / 2 % 8,
            _ => 0,
        });
        let text = case.decode(&chunks).expect("elements").to_string();
        assert!(text.starts_with("0,0,64,16,200,40,16,3,0 - 0 -"), "{text}");
    }
}
