//! Finds where a wrong element of C belongs, or which products it lacks.
use std::collections::BTreeMap;
use std::ops::Range;

use harness::Launched;

use super::diagnosis::{Cause, CauseKind};
use super::pattern;
use super::rubric::{AssignmentKind, TileVariant};

/// Number of wrong elements that are examined.
const LOOKED_AT: usize = 64;

/// The rounding of a subnormal f16.
const SUBNORMAL: f64 = 1.0 / (1u64 << 25) as f64;

/// The most elements of C among which a wrong one is searched for: with more, it would take minutes.
const MOST_ELEMENTS: usize = 1 << 17;

/// The cause, if most wrong elements agree: swapped indices, or missing steps along K.
pub fn of(launched: &Launched, task: AssignmentKind, tile: &TileVariant) -> Option<Cause> {
    if launched.c.len() > MOST_ELEMENTS {
        return None;
    }
    let product = Product::of_task(launched, task);
    let wrong = product.some_wrong();
    if wrong.len() < 2 {
        return None;
    }
    let is_gemm = task == AssignmentKind::Gemm;
    let steps = || is_gemm.then(|| steps(&product, &wrong, tile.k)).flatten();
    // The order in a transpose's columns tells more than that indices are exchanged; in C it is the other way round.
    let in_another_order = || in_another_order(&product, &wrong);
    let exchanged = || exchanged(&product, &wrong);
    let order = match is_gemm {
        true => exchanged().or_else(in_another_order),
        false => in_another_order().or_else(exchanged),
    };
    order
        .or_else(steps)
        .or_else(|| overwritten(&product))
        .or_else(|| another_tile(&product, tile))
        .or_else(|| transposed_blocks(&product, &wrong))
}

/// A short description of which elements are wrong, if there is one.
pub fn pattern(launched: &Launched, task: AssignmentKind) -> Option<String> {
    let product = Product::of_task(launched, task);
    let are_all_examined = product.want.iter().all(|(want, _)| !want.is_nan());
    are_all_examined
        .then(|| pattern::of(&product.wrong(), [product.rows, product.columns]))
        .flatten()
}

/// C as it is and as it should be.
pub(super) struct Product<'a> {
    launched: &'a Launched,
    rows: usize,
    columns: usize,
    /// Row stride of the actual result.
    pitch: usize,
    /// Whether to compare bits, since elements are only moved.
    bits: bool,
    /// The expected elements in row-major order, each with its tolerance. Those that are NaN or too large for f16 are not examined: they are
    /// NaN.
    want: Vec<(f64, f64)>,
}

impl<'a> Product<'a> {
    fn of_task(launched: &'a Launched, task: AssignmentKind) -> Self {
        match task {
            AssignmentKind::Gemm | AssignmentKind::Predict => Self::of(launched),
            AssignmentKind::Transpose => Self::transposed(launched),
        }
    }

    pub fn of(launched: &'a Launched) -> Self {
        let size = launched.problem.size;
        let (rows, columns) = (size.m as usize, size.n as usize);
        let mut product = Self {
            launched,
            rows,
            columns,
            pitch: launched.problem.padded.n as usize,
            bits: false,
            want: Vec::new(),
        };
        let whole = 0..size.k as usize;
        let is_examined = |want: f64| want.abs() <= half::f16::MAX.to_f64();
        let all = (0..rows * columns).map(|at| {
            let (want, bound) = product.sum(at / columns, at % columns, whole.clone());
            (if is_examined(want) { want } else { f64::NAN }, bound)
        });
        product.want = all.collect();
        product
    }

    /// For a transposition.
    fn transposed(launched: &'a Launched) -> Self {
        let (size, padded) = (launched.problem.size, launched.problem.padded);
        let (rows, columns) = (size.k as usize, size.m as usize);
        let element = |at: usize| {
            let (row, column) = (at / columns, at % columns);
            let value = launched.problem.a.get(column * padded.k as usize + row);
            (value.map_or(f64::NAN, |value| value.to_bits().into()), 0.5)
        };
        Self {
            launched,
            rows,
            columns,
            pitch: padded.m as usize,
            bits: true,
            want: (0..rows * columns).map(element).collect(),
        }
    }

    /// The sum of these products, and its tolerance.
    fn sum(&self, row: usize, column: usize, ks: std::ops::Range<usize>) -> (f64, f64) {
        let problem = &self.launched.problem;
        let (lda, ldb) = (problem.padded.k as usize, problem.padded.n as usize);
        let (mut sum, mut squares) = (0.0, 0.0);
        for k in ks {
            let a = problem.a.get(row * lda + k).map_or(0.0, |a| a.to_f64());
            let b = problem.b.get(k * ldb + column).map_or(0.0, |b| b.to_f64());
            sum += a * b;
            squares += a * b * a * b;
        }
        let rounding = f64::max(f64::abs(sum) / 1024.0, SUBNORMAL);
        (sum, rounding + f64::sqrt(squares) / 4096.0)
    }

    /// An element as it should be, and its tolerance.
    pub fn wanted(&self, row: usize, column: usize) -> (f64, f64) {
        self.want[row * self.columns + column]
    }

    pub fn got(&self, row: usize, column: usize) -> f64 {
        let found = self.launched.c.get(row * self.pitch + column);
        found.map_or(f64::NAN, |c| match self.bits {
            true => c.to_bits().into(),
            false => c.to_f64(),
        })
    }

    /// A sample of them, spread over C.
    fn some_wrong(&self) -> Vec<(usize, usize)> {
        some(self.wrong())
    }

    /// Rows and columns of wrong elements.
    pub fn wrong(&self) -> Vec<(usize, usize)> {
        let all = (0..self.want.len()).map(|at| (at / self.columns, at % self.columns));
        let is_wrong = |&(row, column): &(usize, usize)| {
            let (want, bound) = self.wanted(row, column);
            let right = (self.got(row, column) - want).abs() <= bound;
            !right && !want.is_nan()
        };
        all.filter(is_wrong).collect()
    }
}

/// A sample of these elements, one of each `all.len() / LOOKED_AT` in a row; which one differs, so that it is not always the same column.
fn some(all: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    if all.len() <= LOOKED_AT {
        return all;
    }
    let (step, place) = (all.len() / LOOKED_AT, |i: usize| i * all.len() / LOOKED_AT);
    (0..LOOKED_AT)
        .map(|i| all[place(i) + harness::splitmix64(i as u64) as usize % step])
        .collect()
}

/// Most wrong elements hold what belongs to the element with the same index bits flipped, or with swapped indices.
fn exchanged(product: &Product, wrong: &[(usize, usize)]) -> Option<Cause> {
    let mut votes = BTreeMap::<Option<(usize, usize)>, usize>::new();
    for &(row, column) in wrong {
        let got = product.got(row, column);
        for (at, (want, bound)) in product.want.iter().enumerate() {
            let (other_row, other_column) = (at / product.columns, at % product.columns);
            if (got - want).abs() <= *bound && (row, column) != (other_row, other_column) {
                *votes
                    .entry(Some((row ^ other_row, column ^ other_column)))
                    .or_default() += 1;
                if (row, column) == (other_column, other_row) {
                    *votes.entry(None).or_default() += 1;
                }
            }
        }
    }
    let (how, count) = votes
        .into_iter()
        .max_by_key(|(how, count)| (*count, how.is_none()))?;
    if 10 * count < 8 * wrong.len() {
        return None;
    }
    let belongs = |&(row, column): &(usize, usize)| match how {
        None => (column, row),
        Some((down, right)) => (row ^ down, column ^ right),
    };
    let is_there = |at: &(usize, usize)| {
        let (row, column) = belongs(at);
        let place = row * product.columns + column;
        let wanted = product.want.get(place).filter(|_| column < product.columns);
        let is_it = |(want, bound): &(f64, f64)| (product.got(at.0, at.1) - want).abs() <= *bound;
        (row, column) != *at && wanted.is_some_and(is_it)
    };
    let first = &product.wrong().into_iter().find(is_there)?;
    let (row, column) = belongs(first);
    let name = if product.bits { "out" } else { "C" };
    Some(Cause {
        what: format!(
            "{name}[{}][{}] holds what belongs to {name}[{row}][{column}]; most other wrong elements are misplaced in the same way",
            first.0, first.1
        ),
        hint: match how {
            None => "which index is the row and which the column, and where are they swapped?".into(),
            Some(_) => {
                "which term of the address distinguishes these two elements, where they are written and where they are read?".into()
            }
        },
        kind: CauseKind::Other("exchanged-indices"),
    })
}

/// Rows and columns from an element to another.
type Distance = (isize, isize);

/// The distance from these elements to those whose values they hold, if most of them agree: one of them, and that distance.
fn distance(
    product: &Product,
    all: &[(usize, usize)],
    fits: impl Fn(usize, usize) -> bool,
) -> Option<((usize, usize), Distance)> {
    let mut votes = BTreeMap::<Distance, usize>::new();
    for &(row, column) in all {
        let got = product.got(row, column);
        for (at, (want, bound)) in product.want.iter().enumerate() {
            let (other_row, other_column) = (at / product.columns, at % product.columns);
            if (got - want).abs() <= *bound && fits(other_row, other_column) {
                let down = other_row as isize - row as isize;
                let right = other_column as isize - column as isize;
                *votes.entry((down, right)).or_default() += 1;
            }
        }
    }
    let (of, count) = votes.into_iter().max_by_key(|(_, count)| *count)?;
    let target = |&(row, column): &(usize, usize)| {
        let row = row.checked_add_signed(of.0)?;
        let column = column.checked_add_signed(of.1)?;
        (row < product.rows && column < product.columns).then_some((row, column))
    };
    // What belongs outside C cannot be found in it.
    let inside = all.iter().filter(|at| target(at).is_some());
    let first = *inside.clone().next()?;
    let inside = inside.count();
    (count >= ENOUGH && 10 * count >= 8 * inside && 4 * inside >= all.len()).then_some((first, of))
}

/// Elements are stored in the place of others, and nothing in their own.
fn overwritten(product: &Product) -> Option<Cause> {
    // Shared memory that nobody has written reads as 0.
    let is_empty =
        |row, column| matches!(product.got(row, column), got if got.is_nan() || got == 0.0);
    let wrong = product.wrong();
    let (empty, held): (Vec<_>, Vec<_>) = wrong
        .into_iter()
        .partition(|&(row, column)| is_empty(row, column));
    if empty.len() < ENOUGH {
        return None;
    }
    // The first is the one that is named.
    let first = held.first().copied()?;
    let mut held = some(held);
    if let Some(one) = held.first_mut() {
        *one = first;
    }
    let ((row, column), (down, right)) = distance(product, &held, is_empty)?;
    let (other_row, other_column) = (row as isize + down, column as isize + right);
    let name = if product.bits { "out" } else { "C" };
    Some(Cause {
        what: format!(
            "two elements in one place: {name}[{row}][{column}] holds what belongs to {name}[{other_row}][{other_column}], which \
             is empty; its own value was overwritten"
        ),
        hint: "which term of the address distinguishes these two elements: is it missing, or too small?".into(),
        kind: CauseKind::Other("two-in-one-place"),
    })
}

/// A whole tile holds what belongs elsewhere, each tile at another distance.
fn another_tile(product: &Product, tile: &TileVariant) -> Option<Cause> {
    let (bm, bn) = (tile.m.max(1) as usize, tile.n.max(1) as usize);
    let mut wrong = product.wrong();
    let &(row, column) = wrong.first()?;
    let of_tile = |(row, column): (usize, usize)| (row / bm, column / bn);
    let which = of_tile((row, column));
    wrong.retain(|at| of_tile(*at) == which);
    let wrong = some(wrong);
    let ((row, column), (down, right)) = distance(product, &wrong, |_, _| true)?;
    let (other_row, other_column) = (row as isize + down, column as isize + right);
    let name = if product.bits { "out" } else { "C" };
    Some(Cause {
        what: format!(
            "{name}[{row}][{column}] holds what belongs to {name}[{other_row}][{other_column}], and so does its whole tile"
        ),
        hint: match product.bits {
            true => "for the block of this tile: at which row and column of `in` does it begin to copy, and at which of `out` does it store?",
            false => {
                "for the block of this tile: at which row of A and at which column of B does it begin to copy, and at which row and \
                 column of C does it store?"
            }
        }
        .into(),
        kind: CauseKind::Other("exchanged-indices"),
    })
}

/// Rows and columns are exchanged within small blocks, as in a thread's tile. Thread tiles may be in several pieces, so not all agree.
fn transposed_blocks(product: &Product, wrong: &[(usize, usize)]) -> Option<Cause> {
    let turned = |side: usize, (row, column): (usize, usize)| {
        (
            row / side * side + column % side,
            column / side * side + row % side,
        )
    };
    let agrees = |side: usize, at: &(usize, usize)| {
        let (row, column) = turned(side, *at);
        if (row, column) == *at || row >= product.rows || column >= product.columns {
            return false;
        }
        let (want, bound) = product.want[row * product.columns + column];
        (product.got(at.0, at.1) - want).abs() <= bound
    };
    let count = |side: usize| wrong.iter().filter(|at| agrees(side, at)).count();
    let side = [2, 4, 8, 16, 32]
        .into_iter()
        .max_by_key(|side| count(*side))?;
    if count(side) < ENOUGH || 4 * count(side) < wrong.len() {
        return None;
    }
    let first = *wrong.iter().find(|at| agrees(side, at))?;
    let (row, column) = turned(side, first);
    let name = if product.bits { "out" } else { "C" };
    Some(Cause {
        what: format!(
            "{name}[{}][{}] holds what belongs to {name}[{row}][{column}]: rows and columns are exchanged within {side}x{side} elements",
            first.0, first.1
        ),
        hint: "in the tile of a thread, or of a lane's registers: which index is the row and which the column, and where are they swapped?"
            .into(),
        kind: CauseKind::Other("exchanged-indices"),
    })
}

/// Number of wrong elements that suffice to exclude chance.
pub(super) const ENOUGH: usize = 8;

/// Nearly all wrong elements hold what belongs to another element of their row, or of their column if C is a transpose, whose columns
/// are the rows of the tile. In the latter case not all are as far apart: then a row or a column is in the wrong place as a whole.
fn in_another_order(product: &Product, wrong: &[(usize, usize)]) -> Option<Cause> {
    let lines = if product.bits { "columns" } else { "rows" };
    let length = if product.bits {
        product.rows
    } else {
        product.columns
    };
    let place = |&(row, column): &(usize, usize), other: usize| match product.bits {
        true => (other, column),
        false => (row, other),
    };
    let belongs = |at: &(usize, usize)| {
        let got = product.got(at.0, at.1);
        (0..length).map(|other| place(at, other)).find(|other| {
            let (want, bound) = product.want[other.0 * product.columns + other.1];
            other != at && (got - want).abs() <= bound
        })
    };
    let found: Vec<_> = wrong
        .iter()
        .filter_map(|at| Some((*at, belongs(at)?)))
        .collect();
    let apart = |(at, other): &((usize, usize), (usize, usize))| at.0 ^ other.0;
    let is_one = found
        .windows(2)
        .all(|pair| apart(&pair[0]) == apart(&pair[1]));
    if wrong.len() < ENOUGH || 10 * found.len() < 9 * wrong.len() || product.bits && is_one {
        return None;
    }
    let ((row, column), (other_row, other_column)) = *found.first()?;
    let name = if product.bits { "out" } else { "C" };
    Some(Cause {
        what: format!(
            "{name}[{row}][{column}] holds what belongs to {name}[{other_row}][{other_column}]: {lines} have their own elements, in another order"
        ),
        hint: "do the code that writes the tile and the code that reads it compute the same place for an element?".into(),
        kind: CauseKind::Other("swizzle-on-one-side"),
    })
}

/// The most steps along K of a launch in whose C missing ones are searched for.
const MOST_STEPS: usize = 512;

/// The k of one matrix product, or half of them.
const UNIT: usize = 8;

/// Most wrong elements are sums that lack some products: one step along K, all but the first or last steps, or the same
/// k of each step; or they are the last product alone.
fn steps(product: &Product, wrong: &[(usize, usize)], bk: u32) -> Option<Cause> {
    let k = product.launched.problem.size.k as usize;
    let bk = (bk as usize).max(1);
    let count = k.div_ceil(bk);
    if bk < 4 || !(1..=MOST_STEPS).contains(&count) {
        return None;
    }
    let whole = |row: usize, column: usize| product.want[row * product.columns + column];
    let agree = |value: &dyn Fn(usize, usize) -> f64| {
        let close = wrong.iter().filter(|&&(row, column)| {
            (product.got(row, column) - value(row, column)).abs() <= whole(row, column).1
        });
        10 * close.count() >= 8 * wrong.len()
    };
    // Zeros are close to every small sum, so they prove nothing.
    if agree(&|_, _| 0.0) {
        return None;
    }
    let sum = |range: Range<usize>| move |row, column| product.sum(row, column, range.clone()).0;
    let without = |range: Range<usize>| {
        move |row, column| whole(row, column).0 - product.sum(row, column, range.clone()).0
    };
    let without_each = |at: usize| {
        move |row, column| {
            let each = (at..k).step_by(bk);
            let missing = each.map(|k| product.sum(row, column, k..k + 1).0);
            whole(row, column).0 - missing.sum::<f64>()
        }
    };
    let step = |step: usize| step * bk..k.min((step + 1) * bk);
    let first = |steps: &usize| agree(&sum(0..steps * bk));
    let last = |steps: &usize| agree(&sum(k.saturating_sub(steps * bk)..k));
    let what = if let Some(steps) = (1..count).find(first) {
        format!("C holds the sums of the first {steps} of {count} steps along K")
    } else if let Some(steps) = (1..count).find(last) {
        format!("C holds the sums of the last {steps} of {count} steps along K")
    } else if let Some(step) = (0..count).find(|at| count > 1 && agree(&without(step(*at)))) {
        format!("what is missing in the sums is step {step} along K, counted from 0")
    } else if let Some((missing, twice)) = exchanged_steps(product, wrong, count, step) {
        return Some(Cause {
            what: format!(
                "the products of step {missing} along K, counted from 0, are missing in the sums, and those of step {twice} are there twice"
            ),
            hint: "which stage is multiplied in this step, which tile is in it by then, and which of the two is a step too early or too \
                   late?"
                .into(),
            kind: CauseKind::Other("missing-step"),
        });
    } else if let Some(last) = (1..k.div_ceil(UNIT)).find(|units| agree(&sum(k - units * UNIT..k)))
    {
        format!(
            "C holds the sums over the last {} of {k} k only",
            last * UNIT
        )
    } else if agree(&sum(k - 1..k)) {
        format!("C holds only the product of the last k, {}", k - 1)
    } else if let Some(at) = (0..bk.min(k)).find(|at| agree(&without_each(*at))) {
        format!("the sums lack k = {at} of each step of {bk}, counted from 0")
    } else {
        return None;
    };
    Some(Cause {
        what,
        hint: "what are the bounds of each loop over k, and is every product added to the sum?"
            .into(),
        kind: CauseKind::Other("missing-step"),
    })
}

/// Two steps, if most of the wrong elements have the products of the second in place of those of the first: a stage held the tile of
/// another step.
fn exchanged_steps(
    product: &Product,
    wrong: &[(usize, usize)],
    count: usize,
    range: impl Fn(usize) -> Range<usize>,
) -> Option<(usize, usize)> {
    let of_element = |&(row, column): &(usize, usize)| -> Vec<f64> {
        let steps = (0..count).map(|step| product.sum(row, column, range(step)).0);
        steps.collect()
    };
    let sums: Vec<Vec<f64>> = wrong.iter().map(of_element).collect();
    let agree = |&(missing, twice): &(usize, usize)| {
        let close = wrong.iter().zip(&sums).filter(|(at, steps)| {
            let (row, column) = **at;
            let (want, bound) = product.want[row * product.columns + column];
            let other = want - steps[missing] + steps[twice];
            (product.got(row, column) - other).abs() <= bound
        });
        10 * close.count() >= 8 * wrong.len()
    };
    let pairs = (0..count).flat_map(|missing| (0..count).map(move |twice| (missing, twice)));
    pairs
        .filter(|(missing, twice)| missing != twice)
        .find(agree)
}
