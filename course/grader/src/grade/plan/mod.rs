//! The launches of a kernel: first the public sizes; then, for every student, each tile once, a large size that is a
//! multiple of no tile, more tiles than the card has SMs, and a tile with a large K. The hidden parts are derived from a secret
//! and a student by SHA-256, so they are the same on every machine.
mod draw;
#[cfg(test)]
mod tests;

use anyhow::Result;
use harness::{Size, TrialLaunch, Values};

use super::rubric::{AssignmentKind, Rubric};
use draw::{Draw, of_task};
pub use draw::{exam, number_of};

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
    /// instructions that no smaller launch with the same tile has executed. Some of its numbers are extreme: there are enough rows and
    /// columns for each kind.
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
/// for the grids of many tiles, which vary only within ranges in which a kernel has no reason to behave differently. Without a secret, the
/// launches are disclosed, since anyone can compute them.
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

/// SMs of the emulated card, an H100.
pub const SMS: u32 = 132;

/// A public launch of the same kind as a hidden one.
pub fn open_like(rubric: &Rubric, hidden: &PlannedLaunch) -> PlannedLaunch {
    let draw = Draw {
        parts: [PUBLIC_SECRET, rubric.name.as_bytes(), b""],
    };
    draw.launch(rubric, hidden.tile, hidden.class)
}
