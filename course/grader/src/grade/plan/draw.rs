//! Sizes, seeds and numbers of the hidden launches, drawn by SHA-256 from a secret and a student.
use anyhow::Result;
use half::f16;
use harness::{DISTINCT, Problem, Size, Tile, TrialLaunch, Values};
use sha2::{Digest, Sha256};

use super::{Class, Grid, PlannedLaunch, SMS};
use crate::grade::rubric::{AssignmentKind, Rubric, TileVariant};

/// Steps along K of [`Class::Large`]: not a multiple of the stages of a ring of two, three or four.
const LARGE_STEPS: u32 = 5;

/// Rows and columns of tiles of [`Grid::Wide`]; of [`Grid::Tall`]. The longer side is between 16 and 32, the number of tiles
/// between 200 and 224, so that a limit at a power of two has the same effect in each.
const WIDE: [(u32, u32); 5] = [(7, 29), (7, 31), (9, 23), (11, 19), (13, 17)];
const TALL: [(u32, u32); 5] = [(18, 12), (20, 10), (22, 10), (26, 8), (28, 8)];

/// The K of [`Class::Deep`] with odd steps exceeds this power of two.
const LARGE_K: u32 = 1024;
/// And in its last rows of A and of B, elements have an index that 16 bits do not hold.
const INDICES: u32 = 1 << 16;
/// The K with even steps exceeds this, and every public K.
const EVEN_K: u32 = 640;

/// Of the first element of A, then of B: whether it is negative, and its last bit. For [`Class::Large`], the two of
/// [`Class::Deep`] and the three grids of [`Class::Many`]: each bit, and whether signs or last bits are equal, occurs in both
/// forms.
const FIRST_BITS: [[u32; 4]; 6] = [
    [0, 0, 0, 1],
    [1, 1, 1, 0],
    [0, 1, 1, 1],
    [1, 0, 0, 0],
    [0, 0, 1, 1],
    [1, 1, 0, 0],
];

/// These values, or those that every launch of the task has.
pub(super) fn of_task(rubric: &Rubric, values: Values) -> Values {
    match rubric.task {
        AssignmentKind::Gemm | AssignmentKind::Predict => values,
        AssignmentKind::Transpose => Values::Words,
    }
}

/// The most seeds that are tried for a launch. One of 16 fits.
const MOST_TRIES: u32 = 256;

/// Sign and last bit of the first element of A, then of B.
pub(super) fn first_bits(seed: u64, values: Values) -> Result<[u32; 4]> {
    let tile = Tile {
        bm: 1,
        bn: 1,
        bk: 1,
    };
    let problem = Problem::with_values(Size::cube(1), tile, seed, values)?;
    let first = |of: &[f16]| of.first().map_or(0, |first| u32::from(first.to_bits()));
    let [a, b] = [&problem.a, &problem.b].map(|of| first(of));
    Ok([a >> 15, a & 1, b >> 15, b & 1])
}

pub(super) struct Draw<'a> {
    pub parts: [&'a [u8]; 3],
}

impl Draw<'_> {
    fn number(&self, number: u32, what: &str) -> u64 {
        number_of(&self.parts, number, what)
    }

    /// The seed of a launch, whose first elements have the [`FIRST_BITS`] of its class, so that a kernel that is right only for
    /// some of them is wrong for everybody.
    fn seed(&self, number: u32, class: Class, values: Values) -> u64 {
        let wanted = match class {
            Class::Large => FIRST_BITS[0],
            Class::Deep { odd } => FIRST_BITS[1 + usize::from(odd)],
            Class::Many(grid) => FIRST_BITS[3 + grid as usize],
            _ => return self.number(number << 8, "seed") | 1,
        };
        let tries = (0..MOST_TRIES).map(|attempt| {
            // 0 is the public seed.
            self.number(number << 8 | attempt, "seed") | 1
        });
        let fits = |seed: &u64| first_bits(*seed, values).is_ok_and(|bits| bits == wanted);
        let mut tries = tries.peekable();
        let first = tries.peek().copied().unwrap_or(1);
        tries.find(fits).unwrap_or(first)
    }

    pub fn launch(&self, rubric: &Rubric, tile: usize, class: Class) -> PlannedLaunch {
        let number = match class {
            Class::EveryTile | Class::Public | Class::Timed => tile as u32,
            Class::Large => 100 + tile as u32,
            Class::Deep { odd } => 150 + u32::from(odd),
            Class::Many(grid) => 180 + grid as u32,
            Class::Waves {
                waves,
                steps,
                is_tall,
            } => 200 + 16 * waves + steps + 400 * u32::from(is_tall),
        };
        let draw = |what| self.number(number, what);
        let TileVariant { m, n, k, .. } = rubric.tile[tile];
        let odd = |what, tile: u32| (draw(what) as u32 % tile.clamp(1, 16)) | 1;
        let (size, values) = match class {
            Class::EveryTile => (fitting(rubric.tile[tile], tile), Values::Distinct),
            Class::Public | Class::Timed | Class::Large => {
                // Up to 15 less than a few whole tiles, and no multiple of a tile. More tiles than in any
                // public size; many steps along K are left to [`Class::Deep`].
                // A kernel that moves words must be shown all 65,536 of them.
                let tiles = |tile: u32| match rubric.task {
                    AssignmentKind::Gemm | AssignmentKind::Predict => 3,
                    AssignmentKind::Transpose => 300u32.div_ceil(tile),
                };
                let size = Size {
                    m: tiles(m) * m - odd("odd m", m),
                    n: tiles(n) * n - odd("odd n", n),
                    k: LARGE_STEPS * k.max(2) - odd("odd k", k.max(2)),
                };
                (size, Values::Random)
            }
            Class::Many(grid) => {
                let of = |grids: &[(u32, u32)]| grids[(draw("grid") % grids.len() as u64) as usize];
                let (rows, columns) = match grid {
                    Grid::Wide => of(&WIDE),
                    Grid::Tall => of(&TALL),
                    Grid::Square => square(rubric.tile[tile]),
                };
                let steps = match (rubric.task, grid) {
                    (AssignmentKind::Gemm, Grid::Tall) => 2,
                    (AssignmentKind::Gemm, Grid::Square) => LARGE_STEPS,
                    _ => 1,
                };
                let whole = (steps - 1) * k;
                // TMA kernels see M itself, and N rounded up to 8: to them, too, both are equal.
                let (less_m, less_n) = match grid {
                    Grid::Square if m.min(n) > 8 => (8, 8),
                    _ => (odd("odd m", m), odd("odd n", n)),
                };
                let size = Size {
                    m: rows * m - less_m,
                    n: columns * n - less_n,
                    // One product alone may be too small for f16, and then no kernel would be right.
                    k: whole + k.saturating_sub(odd("odd k", k / 2)).max(1),
                };
                (
                    size,
                    Values::Extreme {
                        finite: rubric.finite,
                    },
                )
            }
            Class::Deep { odd: is_odd } => {
                let (less_m, less_n, least) = match is_odd {
                    true => (1, 1, LARGE_K.max(INDICES / (m.min(n).max(3) - 2))),
                    false => (odd("odd m", m.max(2)), odd("odd n", n.max(2)), EVEN_K),
                };
                let steps = least / k + 1 + u32::from(is_odd);
                let steps = steps + u32::from((steps % 2 == 1) != is_odd);
                let size = Size {
                    m: m.max(2) - less_m,
                    n: n.max(2) - less_n,
                    k: steps * k - odd("odd k", k),
                };
                (size, Values::Random)
            }
            Class::Waves {
                waves,
                steps,
                is_tall,
            } => {
                // One row or column more than full waves; few tiles if each has its own block.
                let (rows, columns) = match (rubric.is_persistent(), is_tall) {
                    (true, false) => (12, (waves - 1) * SMS / 12 + 1),
                    (true, true) => ((waves - 1) * SMS / 6 + 1, 6),
                    (false, false) => (2, waves),
                    (false, true) => (SMS / 6 + 1, 1),
                };
                let size = Size {
                    m: rows * m - odd("odd m", m),
                    n: columns * n - odd("odd n", n),
                    k: steps * k - odd("odd k", k.max(2)),
                };
                (size, Values::Random)
            }
        };
        let values = of_task(rubric, values);
        PlannedLaunch {
            tile,
            class,
            on: TrialLaunch {
                size,
                values,
                seed: self.seed(number, class, values),
                // The same for everybody: what the sanitizer finds may depend on it.
                schedule: u64::from(number) << 1 | 1,
            },
            closed: false,
        }
    }
}

/// Rows and columns of tiles with M = N, and just more tiles than SMs.
fn square(TileVariant { m, n, .. }: TileVariant) -> (u32, u32) {
    let common = (1..=n).find(|times| (times * m).is_multiple_of(n));
    let side = m * common.unwrap_or(n);
    let (rows, columns) = (side / m, side / n);
    let times = (1..).find(|times| times * rows * times * columns > SMS);
    let times = times.unwrap_or(1);
    (times * rows, times * columns)
}

/// A size of one or two tiles in each direction and two to four steps along K, as far as there are enough distinct numbers:
/// the tiles of a rubric have an odd and an even number of steps alternately, as many tiles as possible, and more rows than columns if they differ.
fn fitting(tile: TileVariant, number: usize) -> Size {
    let TileVariant { m, n, k, .. } = tile;
    let sides = [(2, 2), (2, 1), (1, 2), (1, 1)].into_iter();
    let steps = match number % 2 {
        0 => [3, 4, 2],
        _ => [4, 3, 2],
    };
    let all = steps.into_iter().flat_map(|steps| {
        sides
            .clone()
            .map(move |(rows, columns)| (rows, columns, steps))
    });
    let mut sizes = all.map(|(rows, columns, steps)| Size {
        m: rows * m,
        n: columns * n,
        k: steps * k,
    });
    let fits = |size: &Size| u64::from(size.m + size.n) * u64::from(size.k) <= DISTINCT;
    sizes.find(fits).unwrap_or(Size { m, n, k })
}

/// The seed of a student's exam.
pub fn exam(assignment: &str, secret: &[u8], student: &str) -> u64 {
    let parts = [secret, assignment.as_bytes(), student.as_bytes()];
    number_of(&parts, 0, "exam")
}

/// 64 bits of a hash over all of these, each preceded by its length, so that different lists have different inputs.
pub fn number_of(parts: &[&[u8]], number: u32, what: &str) -> u64 {
    let mut hash = Sha256::new();
    let counter = number.to_le_bytes();
    for part in parts.iter().copied().chain([&counter[..], what.as_bytes()]) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let mut first = [0; 8];
    first.copy_from_slice(&hash.finalize()[..8]);
    u64::from_le_bytes(first)
}
