//! Verifies C. A NaN fails unless the sum is NaN, too; every comparison is written so.
use std::collections::BTreeSet;
use std::ops::Range;

use half::f16;

use crate::matrices::random;
use crate::parallel::*;
use crate::reference::{self, Expected};
use crate::{Problem, Size, Tile};

/// Largest number of products for which every element is compared with the f64 reference.
const MAX_PRODUCTS_FOR_ALL: u64 = 1 << 28;
/// Most wrong elements shown.
const MAX_SHOWN: usize = 10;

/// The result of comparing C with its reference.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verification {
    /// Elements compared with the f64 reference.
    pub checked: u64,
    /// Elements compared with cuBLAS's C: all of them on a GPU, none on the emulator.
    pub checked_against_cublas: u64,
    /// Wrong elements among them.
    pub wrong: u64,
    /// The error of the f64-checked element that used most of its tolerance.
    pub max_error: f64,
    /// The tolerance of that element.
    pub bound: f64,
    /// The first wrong elements, by row and column.
    pub first_wrong: Vec<Wrong>,
}

/// One wrong element.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Wrong {
    /// Its row in C.
    pub row: u32,
    /// Its column in C.
    pub col: u32,
    /// What the kernel wrote.
    pub got: f64,
    /// What it should be.
    pub want: f64,
    /// Its tolerance.
    pub bound: f64,
}

impl Verification {
    /// Whether C is correct: something was compared, and nothing was wrong.
    pub fn ok(&self) -> bool {
        self.checked > 0 && self.wrong == 0
    }

    /// Records one comparison.
    fn compare(&mut self, row: u32, col: u32, got: f16, want: f64, bound: f64) {
        if is_as_extreme(got, want, bound) {
            return;
        }
        let got = got.to_f64();
        let error = (got - want).abs();
        let within = error <= bound && want.is_finite(); // false for NaN
        if !within {
            self.wrong += 1;
            self.show(Wrong {
                row,
                col,
                got,
                want,
                bound,
            });
        }
        (self.max_error, self.bound) = worse((self.max_error, self.bound), (error, bound));
    }

    /// Records one comparison of an element that was only moved: its bits must be equal.
    pub fn compare_bits(&mut self, row: u32, col: u32, got: f16, want: f16) {
        self.checked += 1;
        if got.to_bits() != want.to_bits() {
            self.wrong += 1;
            let [got, want] = [got, want].map(f16::to_f64);
            self.show(Wrong {
                row,
                col,
                got,
                want,
                bound: 0.0,
            });
        }
    }

    fn show(&mut self, wrong: Wrong) {
        let place = |w: &Wrong| (w.row, w.col);
        let at = self
            .first_wrong
            .partition_point(|other| place(other) < place(&wrong));
        if at < MAX_SHOWN
            && self
                .first_wrong
                .get(at)
                .is_none_or(|other| place(other) != place(&wrong))
        {
            self.first_wrong.insert(at, wrong);
            self.first_wrong.truncate(MAX_SHOWN);
        }
    }

    /// Combines two results.
    fn merge(mut self, other: Self) -> Self {
        self.checked += other.checked;
        self.checked_against_cublas += other.checked_against_cublas;
        self.wrong += other.wrong;
        (self.max_error, self.bound) =
            worse((self.max_error, self.bound), (other.max_error, other.bound));
        for wrong in other.first_wrong {
            self.show(wrong);
        }
        self
    }
}

/// Whether an element is correctly NaN or infinite. A sum that is too large for f16 is infinite, too.
fn is_as_extreme(got: f16, want: f64, bound: f64) -> bool {
    match (got.is_nan(), got.is_infinite()) {
        (true, _) => want.is_nan(),
        (_, true) if want.is_infinite() => got.to_f64() == want,
        (_, true) => f16::from_f64(want + bound.copysign(got.to_f64())) == got,
        _ => false,
    }
}

/// Of two pairs of error and tolerance, the one that used more of its tolerance; NaN is the worst. Written without a
/// division, since a tolerance may be zero.
fn worse(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    let b_is_worse = b.0.is_nan() || b.0 * a.1 > a.0 * b.1 || a == (0.0, 0.0);
    if b_is_worse && !a.0.is_nan() { b } else { a }
}

/// Compares C (padded, row-major) with the f64 reference: every element if M N K is at most 2^28, else sampled rows,
/// columns and the edges of tiles.
pub fn verify(problem: &Problem, tile: Tile, c: &[f16]) -> Verification {
    let Size { m, n, k } = problem.size;
    let regions = if u64::from(m) * u64::from(n) * u64::from(k) <= MAX_PRODUCTS_FOR_ALL {
        vec![((0..m).collect(), (0..n).collect())]
    } else {
        sample(problem, tile)
    };
    let ldc = problem.padded.n as usize;
    let check = |(rows, cols): &(Vec<u32>, Vec<u32>)| {
        reference::visit(
            problem,
            rows,
            cols,
            Verification::default,
            |seen, row, col, expected| {
                seen.checked += 1;
                let got = c[row as usize * ldc + col as usize];
                seen.compare(row, col, got, expected.value, expected.bound());
            },
            Verification::merge,
        )
    };
    regions
        .iter()
        .map(check)
        .fold(Verification::default(), Verification::merge)
}

/// Compares every element of C with cuBLAS's at twice the tolerance; `squares` holds the sum of (a b)^2 of every
/// element. Adds to the result of [`verify`].
pub fn against_cublas(
    found: Verification,
    problem: &Problem,
    c: &[f16],
    cublas: &[f16],
    squares: &[f32],
) -> Verification {
    let ldc = problem.padded.n as usize;
    let cols = 0..problem.size.n as usize;
    let row_of = |row: usize, cols: &Range<usize>| row * ldc + cols.start..row * ldc + cols.end;
    let rows: Vec<_> = (0..problem.size.m as usize)
        .into_par_iter()
        .map(|row| {
            let mut seen = Verification::default();
            let range = row_of(row, &cols);
            let theirs = cublas[range.clone()].iter().zip(&squares[range.clone()]);
            for (col, (got, (want, squares))) in c[range].iter().zip(theirs).enumerate() {
                let expected = Expected {
                    value: want.to_f64(),
                    squares: f64::from(*squares),
                };
                seen.compare(
                    row as u32,
                    col as u32,
                    *got,
                    expected.value,
                    2.0 * expected.bound(),
                );
            }
            seen.checked_against_cublas = cols.len() as u64;
            seen
        })
        .collect();
    let all = rows
        .into_iter()
        .fold(Verification::default(), Verification::merge);
    // Both comparisons find the same wrong elements where they overlap, so the larger number is nearer the truth than
    // the sum. The reported worst error remains the one against f64.
    let wrong = found.wrong.max(all.wrong);
    let both = found.merge(Verification {
        max_error: 0.0,
        bound: 0.0,
        ..all
    });
    Verification { wrong, ..both }
}

/// The rows and columns to compare if comparing all would take too long. No element is in two regions.
fn sample(problem: &Problem, tile: Tile) -> Vec<(Vec<u32>, Vec<u32>)> {
    let Size { m, n, k } = problem.size;
    let rows = pick(
        m,
        (u64::from(n), u64::from(k)),
        random_from(problem.seed, 0),
    );
    let cols = pick(
        n,
        (u64::from(m), u64::from(k)),
        random_from(problem.seed, 1),
    );
    let without = |all: &mut dyn Iterator<Item = u32>, taken: &BTreeSet<u32>| -> Vec<u32> {
        all.filter(|index| !taken.contains(index)).collect()
    };
    let edge_rows = without(&mut edges(m, tile.bm).into_iter(), &rows);
    let edge_cols = without(&mut edges(n, tile.bn).into_iter(), &cols);
    let other_rows = without(&mut (0..m), &rows);
    vec![
        (rows.into_iter().collect(), (0..n).collect()),
        (other_rows, cols.into_iter().collect()),
        (edge_rows, edge_cols),
    ]
}

/// The first, the last and random ones in between: as many as 2^28 products allow, 2 to 16.
fn pick(count: u32, (others, k): (u64, u64), random: impl Fn(u64) -> u64) -> BTreeSet<u32> {
    let number = (MAX_PRODUCTS_FOR_ALL / (others * k).max(1)).clamp(2, 16);
    let between = (0..number.saturating_sub(2)).map(|i| (random(i) % u64::from(count)) as u32);
    [0, count - 1].into_iter().chain(between).collect()
}

fn random_from(seed: u64, stream: u64) -> impl Fn(u64) -> u64 {
    move |index| random(seed, stream << 32 | index)
}

/// The first and last index of up to 32 tiles, spread evenly.
fn edges(count: u32, tile: u32) -> BTreeSet<u32> {
    let tiles = count.div_ceil(tile);
    let step = tiles.div_ceil(32).max(1);
    (0..tiles)
        .step_by(step as usize)
        .chain([tiles - 1])
        .flat_map(|t| [t * tile, (t * tile).saturating_add(tile - 1).min(count - 1)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TILE: Tile = Tile {
        bm: 32,
        bn: 16,
        bk: 8,
    };
    const SMALL: Size = Size {
        m: 70,
        n: 33,
        k: 50,
    };

    fn problem(size: Size) -> Problem {
        Problem::new(size, TILE, 0).expect("small enough")
    }

    /// C as a correct kernel computes it, from the products k in `from..K`.
    fn c_of(problem: &Problem, steps: Range<usize>) -> Vec<f16> {
        let [m, n, k] = [problem.padded.m, problem.padded.n, problem.padded.k].map(|x| x as usize);
        let a: Vec<f32> = problem.a.iter().map(|a| a.to_f32()).collect();
        let b: Vec<f32> = problem.b.iter().map(|b| b.to_f32()).collect();
        let mut c = vec![f16::ZERO; m * n];
        c.par_chunks_exact_mut(n).enumerate().for_each(|(row, c)| {
            let mut sums = vec![0.0f32; n];
            for step in steps.clone() {
                let a = a[row * k + step];
                sums.iter_mut()
                    .zip(&b[step * n..])
                    .for_each(|(sum, b)| *sum += a * b);
            }
            c.iter_mut()
                .zip(sums)
                .for_each(|(c, sum)| *c = f16::from_f32(sum));
        });
        c
    }

    #[test]
    fn a_good_c_passes() {
        for size in [
            SMALL,
            Size::cube(1),
            Size {
                m: 1,
                n: 1,
                k: 16384,
            },
            Size {
                m: 130,
                n: 128,
                k: 16384,
            },
        ] {
            let p = problem(size);
            let found = verify(&p, TILE, &c_of(&p, 0..p.padded.k as usize));
            assert!(found.ok(), "{size}: {found:?}");
            assert!(
                found.max_error > 0.0 && found.max_error <= found.bound,
                "{size}: {found:?}"
            );
        }
    }

    #[test]
    fn every_element_of_a_small_c_is_checked() {
        let p = problem(SMALL);
        assert_eq!(verify(&p, TILE, &c_of(&p, 0..56)).checked, 70 * 33);
    }

    #[test]
    fn nothing_written_fails() {
        let p = problem(SMALL);
        let found = verify(&p, TILE, &vec![f16::NAN; p.padded.elements()[2] as usize]);
        assert_eq!((found.ok(), found.wrong), (false, 70 * 33));
        assert!(found.max_error.is_nan());
        let first: Vec<_> = found.first_wrong.iter().map(|w| (w.row, w.col)).collect();
        assert_eq!(first, (0..10).map(|col| (0, col)).collect::<Vec<_>>());
    }

    #[test]
    fn nan_and_infinity_fail() {
        let p = problem(SMALL);
        for bad in [f16::NAN, f16::INFINITY, f16::NEG_INFINITY] {
            let mut c = c_of(&p, 0..56);
            c[69 * 48 + 32] = bad;
            let found = verify(&p, TILE, &c);
            assert_eq!((found.ok(), found.wrong), (false, 1));
            assert_eq!(
                (found.first_wrong[0].row, found.first_wrong[0].col),
                (69, 32)
            );
        }
    }

    #[test]
    fn extreme_elements_are_as_they_should_be() {
        let bound = |want: f64| want.abs() / 1024.0;
        let ok = |got: f16, want: f64| {
            let mut found = Verification::default();
            found.compare(0, 0, got, want, bound(want));
            found.wrong == 0
        };
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        for want in [nan, inf, -inf, 1e5, -1e5, 1.0] {
            for got in [
                f16::NAN,
                f16::INFINITY,
                f16::NEG_INFINITY,
                f16::MAX,
                f16::MIN,
                f16::ONE,
            ] {
                let should = f16::from_f64(want);
                let same = got == should || got.is_nan() && should.is_nan();
                assert_eq!(ok(got, want), same, "{got} for {want}");
            }
        }
        // On either side of the largest number, either rounding is within the tolerance.
        assert!(ok(f16::INFINITY, 65_510.0) && ok(f16::MAX, 65_530.0));
    }

    #[test]
    fn products_of_extreme_numbers_are_verified() {
        let p = Problem::with_values(SMALL, TILE, 1, crate::Values::Extreme { finite: false })
            .expect("small enough");
        let c = c_of(&p, 0..56);
        let found = verify(&p, TILE, &c);
        assert!(found.ok(), "{found:?}");
        let wrong = |change: fn(f16) -> f16| {
            let c: Vec<f16> = c.iter().copied().map(change).collect();
            verify(&p, TILE, &c).wrong
        };
        for change in [
            |c: f16| if c.is_nan() { f16::ZERO } else { c },
            |c: f16| {
                if c.is_infinite() {
                    f16::MAX.copysign(c)
                } else {
                    c
                }
            },
            |c: f16| {
                if c.is_normal() || !c.is_finite() {
                    c
                } else {
                    f16::ZERO
                }
            },
        ] {
            assert!(wrong(change) > 10);
        }
    }

    #[test]
    fn one_wrong_element_fails() {
        let p = problem(SMALL);
        let good = c_of(&p, 0..56);
        for at in [0, 48, 31 * 48 + 17, 69 * 48 + 32] {
            let mut c = good.clone();
            c[at] = f16::from_f32(c[at].to_f32() * 1.01 + 0.01);
            let found = verify(&p, TILE, &c);
            assert_eq!((found.ok(), found.wrong), (false, 1), "element {at}");
            assert!(found.max_error > found.bound);
        }
    }

    #[test]
    fn padding_is_ignored() {
        let p = problem(SMALL);
        let mut c = c_of(&p, 0..56);
        c[33] = f16::NAN;
        assert!(verify(&p, TILE, &c).ok());
    }

    #[test]
    fn a_skipped_tile_of_k_fails() {
        for size in [
            Size {
                m: 64,
                n: 64,
                k: 64,
            },
            Size {
                m: 64,
                n: 64,
                k: 16384,
            },
            Size {
                m: 256,
                n: 256,
                k: 16384,
            },
        ] {
            let p = problem(size);
            let k = p.padded.k as usize;
            let found = verify(&p, TILE, &c_of(&p, 0..k - TILE.bk as usize));
            assert!(
                !found.ok() && found.wrong > found.checked / 2,
                "{size}: {} of {}",
                found.wrong,
                found.checked
            );
        }
    }

    #[test]
    fn a_sample_has_each_element_once() {
        let p = problem(Size {
            m: 1000,
            n: 70,
            k: 8,
        });
        let mut seen = BTreeSet::new();
        for (rows, cols) in sample(&p, TILE) {
            for row in rows {
                for col in &cols {
                    assert!(row < 1000 && *col < 70);
                    assert!(seen.insert((row, *col)), "{row}, {col} twice");
                }
            }
        }
        for edge in [(0, 0), (999, 69), (31, 15), (32, 16)] {
            assert!(seen.contains(&edge), "{edge:?}");
        }
    }

    #[test]
    fn a_sampled_c_with_wrong_tiles_fails() {
        // 256 x 256 x 16384 is sampled.
        let p = problem(Size {
            m: 256,
            n: 256,
            k: 16384,
        });
        let mut c = c_of(&p, 0..16384);
        let found = verify(&p, TILE, &c);
        assert!(found.ok() && found.checked < 256 * 256, "{found:?}");
        for row in 64..96 {
            c[row * 256 + 48..row * 256 + 64].fill(f16::ONE);
        }
        assert!(!verify(&p, TILE, &c).ok());
    }

    #[test]
    fn cublas_finds_a_single_wrong_element() {
        let p = problem(SMALL);
        let cublas = c_of(&p, 0..56);
        let squares = vec![50.0; cublas.len()];
        let start = Verification {
            checked: 1,
            ..Verification::default()
        };
        let good = against_cublas(start.clone(), &p, &cublas, &cublas, &squares);
        assert_eq!((good.ok(), good.checked_against_cublas), (true, 70 * 33));
        for bad in [f16::NAN, f16::from_f32(100.0)] {
            let mut c = cublas.clone();
            c[69 * 48 + 32] = bad;
            let found = against_cublas(start.clone(), &p, &c, &cublas, &squares);
            assert_eq!((found.ok(), found.wrong), (false, 1));
            assert_eq!(
                (found.first_wrong[0].row, found.first_wrong[0].col),
                (69, 32)
            );
            let twice = against_cublas(verify(&p, TILE, &c), &p, &c, &cublas, &squares);
            assert_eq!((twice.wrong, twice.first_wrong.len()), (1, 1));
        }
    }
}
