//! `tma_layout.csv`: where a bulk tensor load stores the elements of a tile, and what it stores where the tile
//! extends beyond the tensor.
//!
//! Each element of the tensor holds its own number, counted from 1; shared memory holds a mark before the load. So
//! every 2 bytes found there afterwards are an element, a zero from outside the tensor, or untouched.
use std::fmt;

use anyhow::{Context, Result, bail, ensure};
use emulator::Swizzle;
use harness::Tiling;

use super::table::whole_numbers;
use super::{Experiment, Row, Tensor};

/// Bytes of shared memory that are checked.
const WINDOW: u32 = 4 << 10;
const THREADS: u32 = 128;
/// The mark in shared memory before the load, and the mark between the tensor's rows.
const UNTOUCHED: u16 = 0xffff;
const GAP: u16 = 0xfffe;

/// One load of a tile of 16-bit elements. Lists begin with the innermost dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Case {
    /// The swizzle: 0, 32, 64 or 128.
    pub swizzle: u32,
    /// Where the tile is stored, from a multiple of 1024; itself a multiple of 128.
    pub start: u32,
    /// Elements of the tile.
    pub tile: [u32; 2],
    /// Elements of the tensor. Its rows start at multiples of 16 bytes.
    pub tensor: [u32; 2],
    /// Where the tile starts in the tensor; it may start outside.
    pub at: [i32; 2],
}

/// The contents of 2 bytes of shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The element with this number, row by row.
    Element(u16),
    /// A zero from outside the tensor.
    Zero,
    /// The mark from before the load.
    Untouched,
}

impl Case {
    /// Bytes from one row of the tensor to the next.
    fn stride(&self) -> u32 {
        (2 * self.tensor[0]).next_multiple_of(16)
    }

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

    fn experiment(&self) -> Experiment {
        let [x, y] = self.at.map(|at| at as u32);
        let bytes = 2 * self.tile[0] * self.tile[1];
        Experiment {
            ptx: PTX.into(),
            blocks: 1,
            threads: THREADS,
            // The mbarrier follows the window.
            dynamic_shared: WINDOW + 16,
            input: [x, y, self.start, bytes].map(u32::to_le_bytes).concat(),
            output_bytes: WINDOW as usize,
            tensor: Some(Tensor {
                bytes: self.tensor_bytes(),
                tiling: Tiling {
                    dimensions: self.tensor.map(u64::from),
                    row_bytes: self.stride().into(),
                    tile: self.tile,
                    swizzle: Swizzle::of_width(self.swizzle).unwrap_or_default(),
                },
            }),
        }
    }

    /// The contents of shared memory from the case's start on, for each 2 bytes, up to the last 16 bytes that were
    /// written.
    fn decode(&self, output: &[u8]) -> Result<Vec<Found>> {
        let wrong = |at: usize, what: &str| bail!("{self}: byte {at} of the window {what}");
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
                _ => return wrong(at, "does not hold an element"),
            };
            if at >= start {
                found.push(what);
            } else if what != Found::Untouched {
                return wrong(at, "is before the tile and was written");
            }
        }
        let touched = found.iter().rposition(|&what| what != Found::Untouched);
        found.truncate(touched.map_or(0, |last| (last + 1).next_multiple_of(8)));
        Ok(found)
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

/// The eight elements that the first one stands for.
fn follow(first: Found) -> [Found; 8] {
    std::array::from_fn(|i| match first {
        Found::Element(number) => Found::Element(number.saturating_add(i as u16)),
        Found::Zero | Found::Untouched => first,
    })
}

impl Row for Case {
    /// The result of [`Case::decode`].
    type Measured = Vec<Found>;

    const HEADER: &'static str = "swizzle,start,tile_columns,tile_rows,columns,rows,x,y,elements";

    fn parse(_: usize, fields: &[&str]) -> Result<(Self, Vec<Found>)> {
        let [numbers @ .., elements] = fields else {
            bail!("a tile has 9 fields");
        };
        let names = Self::HEADER.split(',');
        let [swizzle, start, sides @ .., x, y] = whole_numbers::<i32, 8>(names, numbers)?;
        ensure!(
            [0, 32, 64, 128].contains(&swizzle) && (0..1024).contains(&start) && start % 128 == 0,
            "swizzle is 0, 32, 64 or 128, start a multiple of 128 below 1024"
        );
        let small = sides.iter().all(|side| (1..=256).contains(side));
        let [tile_columns, tile_rows, columns, rows] = sides.map(|side| side as u32);
        ensure!(
            small && columns * rows < u32::from(u16::MAX) - 1,
            "sides of tile and tensor are 1 to 256, the tensor's elements fewer than 65534"
        );
        let most = WINDOW - 1024;
        ensure!(
            tile_columns * tile_rows * 2 <= most,
            "a tile has at most {most} bytes"
        );
        let case = Case {
            swizzle: swizzle as u32,
            start: start as u32,
            tile: [tile_columns, tile_rows],
            tensor: [columns, rows],
            at: [x, y],
        };
        let one = |text: &str| match text {
            "-" => Ok(Found::Zero),
            "." => Ok(Found::Untouched),
            number => number
                .parse()
                .map(Found::Element)
                .ok()
                .with_context(|| format!("{text:?} is neither an element nor - or .")),
        };
        let mut found = Vec::new();
        for chunk in elements.split_whitespace() {
            let listed: Vec<Found> = chunk.split('+').map(one).collect::<Result<_, _>>()?;
            match listed[..] {
                [first] => found.extend(follow(first)),
                [_, _, _, _, _, _, _, _] => found.extend(listed),
                _ => bail!("{chunk:?} is neither one element nor eight"),
            }
        }
        Ok((case, found))
    }

    fn experiments(&self) -> Result<Vec<Experiment>> {
        Ok(vec![self.experiment()])
    }

    fn measured(&self, outputs: &[Vec<u8>]) -> Result<Vec<Found>> {
        self.decode(&outputs.concat())
    }

    /// For each 16 bytes the first element's number, if the next seven follow, `-` for zeros, `.` for untouched
    /// bytes; if they are mixed, all eight with `+` between.
    fn fields(&self, found: &Vec<Found>) -> Vec<String> {
        let chunk = |chunk: &[Found]| {
            let all: Vec<String> = chunk.iter().map(Found::to_string).collect();
            match *chunk == follow(chunk[0]) {
                true => all[0].clone(),
                false => all.join("+"),
            }
        };
        vec![found.chunks(8).map(chunk).collect::<Vec<_>>().join(" ")]
    }

    fn difference(&self, recorded: &Vec<Found>, found: &Vec<Found>) -> [String; 3] {
        let at = |row: &Vec<Found>, i: usize| row.get(i).copied().unwrap_or(Found::Untouched);
        let all = 0..recorded.len().max(found.len());
        let wrong: Vec<usize> = all.filter(|&i| at(recorded, i) != at(found, i)).collect();
        let first = wrong.first().copied().unwrap_or_default();
        let what = format!(
            "{self}: byte {} of the tile, the first of {} elements that differ",
            2 * first,
            wrong.len()
        );
        let [expected, found] = [recorded, found].map(|row| at(row, first).to_string());
        [what, expected, found]
    }
}

/// Tiles start at multiples of 16 bytes: elsewhere an H100 stops with an illegal instruction.
///
/// Every swizzle at every eighth of 1024 bytes, with tiles as wide as the swizzle and narrower ones; tiles that
/// extend beyond the tensor on each side, and tensors whose rows end within 16 bytes.
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

const PTX: &str = include_str!("tma_layout.ptx");

#[cfg(test)]
mod tests {
    use super::*;

    /// A window as hardware might leave it.
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
            let found = case.decode(&output).expect("elements");
            let text = format!("{case},{}", case.fields(&found)[0]);
            let fields: Vec<&str> = text.split(',').collect();
            let parsed = Case::parse(0, &fields).expect("a row");
            assert_eq!(parsed, (case, found));
            assert_eq!(
                case.tensor_bytes().len() as u32,
                case.stride() * case.tensor[1]
            );
        }
    }

    #[test]
    fn what_is_not_an_element_is_refused() {
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
        let text = case.fields(&case.decode(&chunks).expect("elements"));
        assert!(text[0].starts_with("0 - 0 -"), "{text:?}");
        assert_eq!(case.to_string(), "0,0,64,16,200,40,16,3");
    }
}
