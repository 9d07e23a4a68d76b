//! The launches of a kernel: first the public sizes; then, for every student, each tile once, a large size that is a
//! multiple of no tile, more tiles than the card has SMs, and a tile with a large K. The hidden parts are derived from a secret
//! and a student by SHA-256, so they are the same on every machine.
use anyhow::Result;
use harness::{DISTINCT, Size, TrialLaunch, Values};
use sha2::{Digest, Sha256};

use super::rubric::{AssignmentKind, Measure, Rubric, TileVariant, What};

/// Used if there is no secret. It is public, and the grade says so.
pub const PUBLIC_SECRET: &[u8] = b"no secret was given";

/// The purpose of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A size of the rubric.
    Public,
    /// A tile of the rubric, with inputs that identify their elements.
    EveryTile,
    /// Many tiles in each direction, and no side a multiple of a tile's.
    Large,
    /// More tiles than there are SMs, in a grid that is not square, with one step along K: a kernel may stop after a fixed
    /// number of tiles. Only its values count: under the sanitizer, it would take longer than all other launches together.
    Many,
    /// A single tile with a larger K than in all other launches: a kernel may stop at the largest K that its author
    /// tested.
    Deep,
    /// The launch whose clocks are predicted, the same for everybody.
    Timed,
    /// For a kernel with a bug, which may be wrong only for certain numbers of steps, or of tiles per persistent block.
    Waves {
        /// Tiles of the busiest persistent blocks.
        waves: u32,
        /// Steps along K.
        steps: u32,
    },
}

/// A launch that is graded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedLaunch {
    /// Number of the tile in the rubric.
    pub tile: usize,
    pub class: Class,
    pub on: TrialLaunch,
    /// Whether only success and tile are disclosed.
    pub closed: bool,
}

impl PlannedLaunch {
    /// The name of the launch.
    pub fn label(&self, rubric: &Rubric) -> String {
        let tile = match (rubric.tile.get(self.tile), rubric.tile.len()) {
            (Some(tile), 2..) if self.closed || self.class != Class::Public => {
                format!(" with tile {} ({})", self.tile + 1, tile.name())
            }
            _ => String::new(),
        };
        match self.closed {
            true => format!("at a hidden size{tile}"),
            false => format!("at {}{tile}", self.on.size),
        }
    }

    /// Whether it counts as one of the public sizes.
    pub fn is_public(&self) -> bool {
        self.class == Class::Public
    }

    /// How many of its tiles it has along M, N and K, rounded up.
    pub fn tiles(&self, rubric: &Rubric) -> [u64; 3] {
        let (Size { m, n, k }, tile) = (self.on.size, rubric.tile[self.tile]);
        [(m, tile.m), (n, tile.n), (k, tile.k)].map(|(side, tile)| side.div_ceil(tile).into())
    }
}

/// The launches at the rubric's public sizes, with this tile.
pub fn public(rubric: &Rubric, tile: usize) -> Result<Vec<PlannedLaunch>> {
    let sizes = rubric.public_sizes()?.into_iter();
    let launch = |size| PlannedLaunch {
        tile,
        class: Class::Public,
        on: TrialLaunch {
            size,
            values: of_task(rubric, Values::Random),
            seed: 0,
            schedule: 0,
        },
        closed: false,
    };
    Ok(sizes.map(launch).collect())
}

/// The other launches: every tile once, a large size, many tiles, and a large K. Without a secret they are disclosed, since anyone
/// can compute them.
pub fn others(rubric: &Rubric, secret: Option<&[u8]>, student: &str) -> Vec<PlannedLaunch> {
    let draw = Draw {
        parts: [
            secret.unwrap_or(PUBLIC_SECRET),
            rubric.name.as_bytes(),
            student.as_bytes(),
        ],
    };
    let tiles = rubric.tile.len();
    let mut all: Vec<_> = (0..tiles)
        .map(|tile| draw.launch(rubric, tile, Class::EveryTile))
        .collect();
    let tile = draw.number(tiles as u32, "tile") as usize % tiles.max(1);
    all.push(draw.launch(rubric, tile, Class::Large));
    let tile = draw.number(tiles as u32, "many") as usize % tiles.max(1);
    all.push(draw.launch(rubric, tile, Class::Many));
    if rubric.task == AssignmentKind::Gemm {
        let tile = draw.number(tiles as u32, "deep") as usize % tiles.max(1);
        all.push(draw.launch(rubric, tile, Class::Deep));
    }
    if rubric.bug.is_some() {
        let waves = WAVES.map(|(waves, steps)| Class::Waves { waves, steps });
        let waves = waves.into_iter().zip((0..tiles).cycle());
        all.extend(waves.map(|(class, tile)| draw.launch(rubric, tile, class)));
    }
    let timed = rubric.timed_size().ok().flatten();
    for launch in &mut all {
        // Finding a size that shows the bug is the student's task.
        launch.closed = secret.is_some() || rubric.bug.is_some();
    }
    all.extend(timed.map(|size| PlannedLaunch {
        tile: 0,
        class: Class::Timed,
        on: TrialLaunch {
            size,
            values: Values::Random,
            seed: 0,
            schedule: 0,
        },
        closed: false,
    }));
    all
}

/// Waves of tiles and steps along K: few and many, odd and even, and with every remainder for rings of two, three or
/// four stages.
const WAVES: [(u32, u32); 6] = [(2, 3), (3, 2), (2, 4), (4, 1), (3, 5), (2, 6)];

/// Steps along K of [`Class::Large`].
const LARGE_STEPS: u32 = 4;

/// The fewest rows and columns of tiles of [`Class::Many`], and the most tiles, which bound its time.
const MANY_SIDE: u32 = 9;
const MOST_TILES: u32 = 225;

/// The smallest K of [`Class::Deep`]; the largest is twice as much. It exceeds every public K, and one tile of it takes
/// no longer than [`Class::Large`].
const LARGE_K: u32 = 640;

/// SMs of the emulated card, an H100.
pub const SMS: u32 = 132;

/// A public launch of the same kind as a hidden one.
pub fn open_like(rubric: &Rubric, hidden: &PlannedLaunch) -> PlannedLaunch {
    let draw = Draw {
        parts: [PUBLIC_SECRET, rubric.name.as_bytes(), b""],
    };
    draw.launch(rubric, hidden.tile, hidden.class)
}

fn of_task(rubric: &Rubric, values: Values) -> Values {
    match rubric.task {
        AssignmentKind::Gemm | AssignmentKind::Predict => values,
        AssignmentKind::Transpose => Values::Words,
    }
}

struct Draw<'a> {
    parts: [&'a [u8]; 3],
}

impl Draw<'_> {
    fn number(&self, number: u32, what: &str) -> u64 {
        number_of(&self.parts, number, what)
    }

    fn launch(&self, rubric: &Rubric, tile: usize, class: Class) -> PlannedLaunch {
        let number = match class {
            Class::EveryTile | Class::Public | Class::Timed => tile as u32,
            Class::Large => 100 + tile as u32,
            Class::Deep => 150 + tile as u32,
            Class::Many => 180 + tile as u32,
            Class::Waves { waves, steps } => 200 + 16 * waves + steps,
        };
        let draw = |what| self.number(number, what);
        let TileVariant { m, n, k, .. } = rubric.tile[tile];
        let (size, values) = match class {
            Class::EveryTile => {
                let all = fitting(rubric.tile[tile]);
                let size = all[(draw("size") % all.len() as u64) as usize];
                (size, Values::Distinct)
            }
            Class::Public | Class::Timed | Class::Large => {
                // One less than a few whole tiles, so that no side is a multiple of anything. More tiles than in any
                // public size; many steps along K are left to [`Class::Deep`].
                let odd = |what, tile: u32, tiles: u32| {
                    tiles * tile - ((draw(what) as u32 % tile.min(16)) | 1)
                };
                // A kernel that moves words must be shown all 65,536 of them.
                let tiles = |tile: u32| match rubric.task {
                    AssignmentKind::Gemm | AssignmentKind::Predict => 3,
                    AssignmentKind::Transpose => 300u32.div_ceil(tile),
                };
                let size = Size {
                    m: odd("odd m", m, tiles(m)),
                    n: odd("odd n", n, tiles(n)),
                    k: odd("odd k", k.max(2), LARGE_STEPS),
                };
                (size, Values::Random)
            }
            Class::Many => {
                let grids = grids();
                let (rows, columns) = grids[(draw("many") % grids.len() as u64) as usize];
                let odd = |what, tile: u32| (draw(what) as u32 % tile.min(16)) | 1;
                let size = Size {
                    m: rows * m - odd("odd m", m),
                    n: columns * n - odd("odd n", n),
                    k: (draw("odd k") as u32 % k) | 1,
                };
                (size, Values::Random)
            }
            Class::Deep => {
                let odd = |what, tile: u32| tile - ((draw(what) as u32 % tile.min(16)) | 1);
                let size = Size {
                    m: odd("odd m", m.max(2)),
                    n: odd("odd n", n.max(2)),
                    k: (LARGE_K + draw("odd k") as u32 % LARGE_K) | 1,
                };
                (size, Values::Random)
            }
            Class::Waves { waves, steps } => {
                // One column more than full waves; few tiles if each has its own block.
                let of_persistent = |one: &Measure| one.what == What::PersistentBlocks;
                let (rows, columns) = match rubric.measure.iter().any(of_persistent) {
                    true => (12, (waves - 1) * SMS / 12 + 1),
                    false => (2, waves),
                };
                let odd = |what, tile: u32| (draw(what) as u32 % tile.min(16)) | 1;
                let size = Size {
                    m: rows * m - odd("odd m", m),
                    n: columns * n - odd("odd n", n),
                    k: steps * k - odd("odd k", k.max(2)),
                };
                (size, Values::Random)
            }
        };
        PlannedLaunch {
            tile,
            class,
            on: TrialLaunch {
                size,
                values: of_task(rubric, values),
                // 0 is the public seed.
                seed: draw("seed") | 1,
                schedule: draw("schedule") | 1,
            },
            closed: false,
        }
    }
}

/// Rows and columns of tiles for [`Class::Many`]: never as many rows as columns, since a kernel may confuse the two.
fn grids() -> Vec<(u32, u32)> {
    let sides = MANY_SIDE..=MOST_TILES / MANY_SIDE;
    let all = sides
        .clone()
        .flat_map(|rows| sides.clone().map(move |columns| (rows, columns)));
    let fits = |(rows, columns): &(u32, u32)| {
        rows != columns && (SMS + 1..=MOST_TILES).contains(&(rows * columns))
    };
    all.filter(fits).collect()
}

/// Sizes of one or two tiles in each direction and two to four steps along K, as far as there are enough distinct
/// numbers.
fn fitting(tile: TileVariant) -> Vec<Size> {
    let TileVariant { m, n, k, .. } = tile;
    let sides = (1..=2).flat_map(|rows| (1..=2).map(move |columns| (rows, columns)));
    let all = sides.flat_map(|(rows, columns)| (2..=4).map(move |steps| (rows, columns, steps)));
    let sizes = all.map(|(rows, columns, steps)| Size {
        m: rows * m,
        n: columns * n,
        k: steps * k,
    });
    let fits = |size: &Size| u64::from(size.m + size.n) * u64::from(size.k) <= DISTINCT;
    let mut fitting: Vec<_> = sizes.filter(fits).collect();
    if fitting.is_empty() {
        fitting.push(Size { m, n, k });
    }
    fitting
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

#[cfg(test)]
mod tests {
    use super::*;

    fn rubric() -> Rubric {
        let text = include_str!("../../../assignments/05_swizzle/rubric.toml");
        Rubric::parse(text).expect("a rubric")
    }

    #[test]
    fn secret_and_student_decide() {
        let of = |secret: &[u8], student| others(&rubric(), Some(secret), student);
        let mine = of(b"s", "ada");
        assert_eq!(mine, of(b"s", "ada"));
        assert_ne!(mine, of(b"t", "ada"));
        assert_ne!(mine, of(b"s", "bob"));
        assert_ne!(of(b"sa", "da"), of(b"s", "ada"), "lengths are hashed too");
        assert!(mine.iter().all(|launch| launch.closed));
    }

    #[test]
    fn everybody_has_every_tile_a_large_odd_size_many_tiles_and_a_large_k() {
        let rubric = rubric();
        for student in ["ada", "bob", "cyd", "dan"] {
            let all = others(&rubric, Some(b"s"), student);
            let (deep, all) = all.split_last().expect("launches");
            let (many, all) = all.split_last().expect("launches");
            assert_eq!(many.class, Class::Many);
            let [rows, columns, steps] = many.tiles(&rubric);
            assert!(
                (u64::from(SMS) + 1..=u64::from(MOST_TILES)).contains(&(rows * columns))
                    && steps == 1
            );
            assert_ne!(rows, columns);
            let (large, tiles) = all.split_last().expect("launches");
            let numbers: Vec<usize> = tiles.iter().map(|launch| launch.tile).collect();
            assert_eq!(numbers, (0..rubric.tile.len()).collect::<Vec<_>>());
            for PlannedLaunch { on, tile, .. } in tiles {
                let (Size { m, n, k }, tile) = (on.size, rubric.tile[*tile]);
                assert!(m % tile.m == 0 && n % tile.n == 0 && k % tile.k == 0 && k >= 2 * tile.k);
                assert_eq!(on.values, Values::Distinct);
            }
            let (Size { m, n, k }, tile) = (large.on.size, rubric.tile[large.tile]);
            assert!(m % 2 == 1 && n % 2 == 1 && k % 2 == 1, "{}", large.on.size);
            assert!(
                m > 2 * tile.m && n > 2 * tile.n && k > 3 * tile.k,
                "{}",
                large.on.size
            );
            let (Size { m, n, k }, tile) = (deep.on.size, rubric.tile[deep.tile]);
            let largest = rubric.public_sizes().expect("sizes");
            let largest = largest.iter().map(|size| size.k).max().expect("a size");
            assert!(
                m <= tile.m && n <= tile.n && k > 2 * largest && k % 2 == 1,
                "{}",
                deep.on.size
            );
        }
    }

    /// Pinned: a grade must be reproducible on another machine.
    #[test]
    fn the_same_everywhere() {
        let words: Vec<String> = others(&rubric(), None, "")
            .iter()
            .map(|launch| format!("{} {:x}", launch.label(&rubric()), launch.on.seed))
            .collect();
        insta::assert_snapshot!(words.join("\n"));
    }
}
