//! Finds out what tensor cores multiplied: in a launch with distinct inputs each number identifies an element of A or
//! B.
use harness::Launched;
pub use harness::labels::{Element, Labels};

/// The matrix products of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Coverage {
    /// Products of the problem that were computed, and how many it has.
    pub products: u64,
    pub of: u64,
    /// Bytes of operands, counting each element of A and B once per warp, tile of C and step that multiplies it.
    pub operand_bytes: u64,
    /// The same for each operand of a product, if it is loaded by hand: elements of B count twice, since the two of a register are in two
    /// rows.
    pub by_hand: [u64; 2],
    /// Sums of C's elements beyond one for each: those of warps that divide K among them, and add up what each has.
    pub more_sums: u64,
}

/// Derives it from the operands; C has tiles of `tile` rows and columns.
pub fn coverage(launched: &Launched, tile: [u32; 2]) -> Coverage {
    let problem = &launched.problem;
    let labels = Labels::of(problem);
    let (m, n, k) = (problem.size.m, problem.size.n, problem.size.k);
    let mut seen = Products {
        rows: m,
        columns: n,
        seen: vec![false; m as usize * n as usize * k as usize],
    };
    let mut needed = [Needed::new(m * k), Needed::new(m * k)];
    let number = |element: Element| match element {
        Element::A(i, k_) => i * k + k_,
        Element::B(k_, j) => m * k + k_ * n + j,
    };
    // Elements of C that a warp sums, and how many all warps do.
    let (mut sums, mut all_sums) = (Vec::new(), 0);
    let mut last = None;
    for factors in &launched.run.factors {
        let a: Vec<_> = factors.a.iter().map(|bits| labels.get(*bits)).collect();
        let b: Vec<_> = factors.b.iter().map(|bits| labels.get(*bits)).collect();
        // Products arrive sorted by block and warp.
        if last.replace((factors.block, factors.warp)) != Some((factors.block, factors.warp)) {
            needed.iter_mut().for_each(Needed::end_warp);
            all_sums += distinct(&mut sums).count() as u64;
        }
        let held = || a.iter().chain(&b).flatten();
        let row = held().find_map(|element| match element {
            Element::A(i, _) => Some(i / tile[0].max(1)),
            Element::B(..) => None,
        });
        let column = held().find_map(|element| match element {
            Element::B(_, j) => Some(j / tile[1].max(1)),
            Element::A(..) => None,
        });
        for (needed, held) in needed.iter_mut().zip([&a, &b]) {
            let held = held.iter().flatten();
            needed.extend(row, column, held.map(|element| number(*element)));
        }
        let (columns, steps) = (factors.columns(), factors.k as usize);
        let result = |one: &Option<Element>, other: &Option<Element>| match (*one, *other) {
            // Of the transposed product, too.
            (Some(Element::A(i, _)), Some(Element::B(_, j)))
            | (Some(Element::B(_, j)), Some(Element::A(i, _))) => Some(i * n + j),
            _ => None,
        };
        let firsts = a.iter().step_by(steps.max(1));
        let firsts = firsts.flat_map(|one| b[..columns].iter().map(move |other| (one, other)));
        sums.extend(firsts.filter_map(|(one, other)| result(one, other)));
        for step in 0..steps {
            let column: Vec<_> = a.iter().skip(step).step_by(steps).copied().collect();
            let row = &b[step * columns..][..columns];
            seen.see(&column, row);
            // The transposed product counts as well.
            seen.see(row, &column);
        }
    }
    needed.iter_mut().for_each(Needed::end_warp);
    all_sums += distinct(&mut sums).count() as u64;
    Coverage {
        by_hand: needed.each_ref().map(|needed| needed.by_hand),
        products: seen.seen.iter().filter(|seen| **seen).count() as u64,
        of: seen.seen.len() as u64,
        operand_bytes: needed.iter().map(|needed| needed.bytes).sum(),
        more_sums: all_sums.saturating_sub(u64::from(m) * u64::from(n)),
    }
}

/// Sorts, and takes all out, each once.
fn distinct<T: Ord + Copy>(all: &mut Vec<T>) -> impl Iterator<Item = T> {
    all.sort_unstable();
    all.dedup();
    all.drain(..)
}

/// What one operand of the products needs.
struct Needed {
    /// The elements of A have smaller numbers.
    first_of_b: u32,
    /// Of the present warp: a tile of C and the number of an element that the warp multiplies for it, in 32 bits each. The element implies
    /// the step.
    of_warp: Vec<u128>,
    /// [`Coverage::operand_bytes`] and [`Coverage::by_hand`], of the warps before.
    bytes: u64,
    by_hand: u64,
}

impl Needed {
    const fn new(first_of_b: u32) -> Self {
        Self {
            first_of_b,
            of_warp: Vec::new(),
            bytes: 0,
            by_hand: 0,
        }
    }

    fn extend(
        &mut self,
        row: Option<u32>,
        column: Option<u32>,
        numbers: impl Iterator<Item = u32>,
    ) {
        let part = |part: Option<u32>| u128::from(part.unwrap_or(u32::MAX));
        let tile = part(row) << 64 | part(column) << 32;
        self.of_warp
            .extend(numbers.map(|number| tile | u128::from(number)));
    }

    fn end_warp(&mut self) {
        for element in distinct(&mut self.of_warp) {
            let is_of_a = (element as u32) < self.first_of_b;
            self.bytes += 2;
            self.by_hand += if is_of_a { 2 } else { 4 };
        }
    }
}

/// The products of a problem, by k, row and column.
struct Products {
    rows: u32,
    columns: u32,
    /// Whether each was computed.
    seen: Vec<bool>,
}

impl Products {
    /// Every element of A among `left` is multiplied with every element of B among `right`.
    fn see(&mut self, left: &[Option<Element>], right: &[Option<Element>]) {
        let runs = runs(right);
        for element in left {
            let &Some(Element::A(i, k)) = element else {
                continue;
            };
            for &(_, j, length) in runs.iter().filter(|(of, ..)| *of == k) {
                let row = (k as usize * self.rows as usize + i as usize) * self.columns as usize;
                self.seen[row + j as usize..][..length].fill(true);
            }
        }
    }
}

/// Neighboring elements of rows of B: row, first column, and how many.
fn runs(elements: &[Option<Element>]) -> Vec<(u32, u32, usize)> {
    let mut runs: Vec<(u32, u32, usize)> = Vec::new();
    for element in elements {
        let &Some(Element::B(k, j)) = element else {
            continue;
        };
        match runs.last_mut() {
            Some((of, first, length)) if *of == k && *first as usize + *length == j as usize => {
                *length += 1;
            }
            _ => runs.push((k, j, 1)),
        }
    }
    runs
}
