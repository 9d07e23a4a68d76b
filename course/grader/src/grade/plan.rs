//! The launches of a kernel: first the public sizes; then, for every student, each tile once, a large size that is a
//! multiple of no tile, more tiles than the card has SMs, and a tile with a large K. The hidden parts are derived from a secret
//! and a student by SHA-256, so they are the same on every machine.
use anyhow::Result;
use half::f16;
use harness::{DISTINCT, Problem, Size, Tile, TrialLaunch, Values};
use sha2::{Digest, Sha256};

use super::rubric::{AssignmentKind, Rubric, TileVariant};

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
    /// More tiles than there are SMs, with one, two or five steps along K: a kernel may stop after a fixed number of tiles. It
    /// runs without the sanitizer, under which it would take longer than all other launches together, unless it executes
    /// instructions that no smaller launch with the same tile has executed.
    Many(Grid),
    /// A single tile with a larger K than in all other launches: a kernel may stop at the largest K that its author
    /// tested.
    Deep {
        /// Whether its steps along K are odd in number.
        odd: bool,
    },
    /// The launch whose clocks are predicted, the same for everybody.
    Timed,
    /// For a kernel with a bug, which may be wrong only for certain numbers of steps, or of tiles per persistent block.
    Waves {
        /// Tiles of the busiest persistent blocks.
        waves: u32,
        /// Steps along K.
        steps: u32,
        /// Whether there are more rows of C than columns.
        is_tall: bool,
    },
}

/// The rows and columns of tiles of [`Class::Many`]. A kernel that is right only for some grids, or only for all others, is
/// wrong in one of these: rows, columns and tiles are odd and even in number, there are more rows than columns and fewer,
/// the number of tiles is not a square, and M = N or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grid {
    /// Both odd, fewer rows.
    Wide,
    /// Both even, fewer columns.
    Tall,
    /// As many rows of C as columns.
    Square,
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
            false if rubric.task == AssignmentKind::Transpose => {
                let Size { m, n, .. } = self.on.size;
                format!("at {m}x{n}{tile}")
            }
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

/// The other launches: every tile once, a large size, many tiles, and a large K. The secret and the student decide which
/// numbers are multiplied and how far M, N and K are from whole tiles. Tiles and steps are the same for every student, except
/// for the grids of many tiles, which vary only within ranges in which a kernel has no reason to behave differently. Without a secret, the launches are disclosed, since anyone can compute them.
pub fn others(rubric: &Rubric, secret: Option<&[u8]>, student: &str) -> Vec<PlannedLaunch> {
    let draw = Draw {
        parts: [
            secret.unwrap_or(PUBLIC_SECRET),
            rubric.name.as_bytes(),
            student.as_bytes(),
        ],
    };
    let tiles = rubric.tile.len();
    let mut classes: Vec<_> = (0..tiles).map(|tile| (tile, Class::EveryTile)).collect();
    let grids = [Grid::Wide, Grid::Tall, Grid::Square].map(Class::Many);
    let large = [Class::Large].into_iter().chain(grids);
    // A different tile for each, as far as there are.
    classes.extend((0..tiles).cycle().skip(1).zip(large));
    if rubric.task == AssignmentKind::Gemm {
        let deep = [true, false].map(|odd| Class::Deep { odd });
        classes.extend((0..tiles).cycle().zip(deep));
    }
    if rubric.bug.is_some() {
        let waves = WAVES.map(|(waves, steps, is_tall)| Class::Waves {
            waves,
            steps,
            is_tall,
        });
        classes.extend((0..tiles).cycle().zip(waves));
    }
    let launches = classes.into_iter();
    let mut all: Vec<_> = launches
        .map(|(tile, class)| draw.launch(rubric, tile, class))
        .collect();
    let timed = rubric.timed_size().ok().flatten();
    for launch in &mut all {
        // Finding a size that shows the bug is the student's task.
        launch.closed = secret.is_some() || rubric.bug.is_some();
    }
    let timed = timed.map(|size| PlannedLaunch {
        tile: 0,
        class: Class::Timed,
        on: TrialLaunch {
            size,
            values: Values::Random,
            seed: 0,
            schedule: 0,
        },
        closed: false,
    });
    // First, since more is said of it than of a hidden one.
    timed.into_iter().chain(all).collect()
}

/// Waves of tiles, steps along K, and whether there are more rows than columns. The tiles of the rubric take turns. A kernel may
/// be right for some sizes only, so there are steps with every remainder for rings of two, three or four stages. For each tile there
/// are launches with several waves whose number of steps leaves a remainder of 5 modulo 6. One has a K above 1024, one an M above 1024.
const WAVES: [(u32, u32, bool); 8] = [
    (2, 3, false),
    (3, 2, false),
    (2, 5, true),
    (4, 1, false),
    (3, 5, false),
    (2, 4, false),
    (2, 5, false),
    (2, 41, false),
];

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

/// The most seeds that are tried for a launch. One of 16 fits.
const MOST_TRIES: u32 = 256;

/// Sign and last bit of the first element of A, then of B.
fn first_bits(seed: u64, values: Values) -> Result<[u32; 4]> {
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

struct Draw<'a> {
    parts: [&'a [u8]; 3],
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

    fn launch(&self, rubric: &Rubric, tile: usize, class: Class) -> PlannedLaunch {
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
                (size, Values::Random)
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

#[cfg(test)]
mod tests {
    use super::*;

    const RUBRICS: [(&str, &str); 4] = [
        (
            "01",
            include_str!("../../../assignments/01_coalesce/rubric.toml"),
        ),
        (
            "02",
            include_str!("../../../assignments/02_transpose/rubric.toml"),
        ),
        (
            "05",
            include_str!("../../../assignments/05_swizzle/rubric.toml"),
        ),
        (
            "11",
            include_str!("../../../assignments/11_specialized/rubric.toml"),
        ),
    ];

    fn rubric() -> Rubric {
        Rubric::parse(RUBRICS[2].1).expect("a rubric")
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
            let of = |is_it: fn(&Class) -> bool| -> Vec<_> {
                let found = all.iter().filter(|launch| is_it(&launch.class));
                found.collect()
            };
            let tiles = of(|class| *class == Class::EveryTile);
            let numbers: Vec<usize> = tiles.iter().map(|launch| launch.tile).collect();
            assert_eq!(numbers, (0..rubric.tile.len()).collect::<Vec<_>>());
            for PlannedLaunch { on, tile, .. } in tiles {
                let (Size { m, n, k }, tile) = (on.size, rubric.tile[*tile]);
                assert!(m % tile.m == 0 && n % tile.n == 0 && k % tile.k == 0 && k >= 2 * tile.k);
                assert_eq!(on.values, Values::Distinct);
            }
            for launch in of(|class| *class == Class::Large) {
                let (Size { m, n, k }, tile) = (launch.on.size, rubric.tile[launch.tile]);
                assert!(m % 2 == 1 && n % 2 == 1 && k % 2 == 1, "{}", launch.on.size);
                assert!(m > 2 * tile.m && n > 2 * tile.n && k > 4 * tile.k);
            }
            let largest = rubric.public_sizes().expect("sizes");
            let largest = largest.iter().map(|size| size.k).max().expect("a size");
            let deep = of(|class| matches!(class, Class::Deep { .. }));
            for PlannedLaunch { on, tile, .. } in &deep {
                let (Size { m, n, k }, tile) = (on.size, rubric.tile[*tile]);
                assert!(m <= tile.m && n <= tile.n && k > 2 * largest && k % 2 == 1);
            }
            let steps: Vec<_> = deep.iter().map(|deep| deep.tiles(&rubric)[2] % 2).collect();
            assert_eq!(steps, [1, 0]);
        }
    }

    /// Whatever a kernel can see of a grid, without a list of sizes, both kinds are launched for every student.
    #[test]
    fn no_kind_of_grid_is_left_out() {
        type Kind = fn([u64; 3], Size) -> bool;
        let kinds: [(&str, Kind); 11] = [
            ("more than 2^7 tiles", |[r, c, _], _| r * c > 128),
            ("odd rows", |[r, ..], _| r % 2 == 1),
            ("odd columns", |[_, c, _], _| c % 2 == 1),
            ("odd tiles", |[r, c, _], _| r * c % 2 == 1),
            ("more rows than columns", |[r, c, _], _| r > c),
            ("fewer rows than columns", |[r, c, _], _| r < c),
            ("as many rows as columns", |[r, c, _], _| r == c),
            ("a square number of tiles", |[r, c, _], _| {
                (r * c).isqrt().pow(2) == r * c
            }),
            ("M = N", |_, Size { m, n, .. }| m == n),
            ("several steps", |[.., s], _| s > 1),
            ("odd steps", |[.., s], _| s % 2 == 1),
        ];
        for (folder, text) in RUBRICS {
            let rubric = Rubric::parse(text).expect("a rubric");
            for student in ["ada", "bob", "cyd", "dan", "eve"] {
                let all = others(&rubric, Some(b"s"), student);
                for (name, is_it) in kinds {
                    let kind = |launch: &&PlannedLaunch| {
                        let tiles = launch.tiles(&rubric);
                        is_it(tiles, launch.on.size)
                    };
                    let count = all.iter().filter(kind).count();
                    assert!(
                        (1..all.len()).contains(&count),
                        "{folder}, {student}: {name}"
                    );
                }
                // A kernel may be right for small grids and, of the large ones, only for some.
                let many = all
                    .iter()
                    .filter(|launch| matches!(launch.class, Class::Many(_)));
                let many: Vec<_> = many
                    .inspect(|launch| assert!(launch.on.size.k > 8 || folder == "02", "{student}"))
                    .map(|launch| launch.tiles(&rubric))
                    .collect();
                let both = |is_it: fn(&[u64; 3]) -> bool| {
                    many.iter().any(is_it) && !many.iter().all(is_it)
                };
                assert!(many.iter().all(|[r, c, _]| r * c > SMS.into()), "{many:?}");
                let steps = many.iter().map(|[.., steps]| *steps).max();
                assert!(steps >= Some(5) || folder == "02", "{many:?}");
                assert!(
                    both(|[r, ..]| r % 2 == 1) && both(|[_, c, _]| c % 2 == 1),
                    "{many:?}"
                );
                assert!(
                    both(|[r, c, _]| r > c) && both(|[r, c, _]| r * c % 2 == 1),
                    "{many:?}"
                );
                assert!(many.iter().any(|[r, c, _]| (r * c).isqrt().pow(2) != r * c));
            }
        }
    }

    /// A kernel that is right only for some tiles, grids, or numbers of steps is wrong in one of these.
    #[test]
    fn a_bug_is_looked_for_in_launches_of_every_kind() {
        type Kind = fn(&PlannedLaunch) -> bool;
        let kinds: [(&str, Kind); 7] = [
            ("tile 1", |one| one.tile == 0),
            ("tile 2", |one| one.tile == 1),
            ("tile 3", |one| one.tile == 2),
            ("more rows than columns", |one| {
                one.on.size.m > one.on.size.n
            }),
            ("fewer rows than columns", |one| {
                one.on.size.m < one.on.size.n
            }),
            ("a large M", |one| one.on.size.m > 1024),
            ("a large K", |one| one.on.size.k > 1024),
        ];
        for text in [
            include_str!("../../../assignments/08_ring_bug/rubric.toml"),
            include_str!("../../../assignments/09_pipeline_bug/rubric.toml"),
        ] {
            let rubric = Rubric::parse(text).expect("a rubric");
            let all = others(&rubric, Some(b"s"), "ada");
            for (name, is_it) in kinds {
                let shows = |one: &&PlannedLaunch| {
                    let [rows, columns, steps] = one.tiles(&rubric);
                    let several = rows * columns > SMS.into() || !rubric.is_persistent();
                    is_it(one) && several && steps % 6 == 5
                };
                assert!(all.iter().any(|one| shows(&one)), "{}: {name}", rubric.name);
            }
        }
    }

    /// Signs and last bits of the first elements, too.
    #[test]
    fn first_elements_of_every_kind_occur() {
        for student in 0..64 {
            let all = others(&rubric(), Some(b"s"), &format!("student {student}"));
            let random = all
                .iter()
                .filter(|launch| launch.on.values == Values::Random);
            let bits = random.map(|launch| first_bits(launch.on.seed, Values::Random));
            let bits: Vec<_> = bits.map(|bits| bits.expect("numbers")).collect();
            let both = |is_it: &dyn Fn(&[u32; 4]) -> bool| {
                let count = bits.iter().filter(|bits| is_it(bits)).count();
                (1..bits.len()).contains(&count)
            };
            for bit in 0..4 {
                assert!(both(&|bits| bits[bit] == 1), "{student}: {bits:?}");
            }
            for bit in 0..2 {
                assert!(
                    both(&|bits| bits[bit] == bits[bit + 2]),
                    "{student}: {bits:?}"
                );
            }
        }
    }

    /// Except for the grids of many tiles, tiles and steps are the same for everybody, so that counters are, too. Bounds on counters
    /// are relative to the number of tiles.
    #[test]
    fn students_differ_in_numbers_and_not_in_what_is_measured() {
        for (folder, text) in RUBRICS {
            let rubric = Rubric::parse(text).expect("a rubric");
            let measured = |student| -> Vec<_> {
                let all = others(&rubric, Some(b"s"), student).into_iter();
                let all = all.filter(|launch| !matches!(launch.class, Class::Many(_)));
                all.map(|launch| (launch.tile, launch.tiles(&rubric), launch.on.schedule))
                    .collect()
            };
            assert_eq!(measured("ada"), measured("bob"), "{folder}");
            let of = |student| others(&rubric, Some(b"s"), student);
            let differ = |is_it: fn(&PlannedLaunch, &PlannedLaunch) -> bool| {
                of("ada").iter().zip(&of("bob")).any(|(a, b)| is_it(a, b))
            };
            assert!(differ(|a, b| a.on.seed != b.on.seed), "{folder}");
            assert!(differ(|a, b| a.on.size != b.on.size), "{folder}");
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
