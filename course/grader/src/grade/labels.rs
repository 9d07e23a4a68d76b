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
    // A warp, a tile of C, and an element that the warp multiplies for it; the element implies the step.
    let mut needed = [Vec::new(), Vec::new()];
    let number = |element: Element| match element {
        Element::A(i, k_) => i * k + k_,
        Element::B(k_, j) => m * k + k_ * n + j,
    };
    // Pairs of a warp and an element of C that it sums.
    let mut sums = Vec::new();
    let (mut warps, mut last) = (0u64, None);
    for factors in &launched.run.factors {
        let a: Vec<_> = factors.a.iter().map(|bits| labels.get(*bits)).collect();
        let b: Vec<_> = factors.b.iter().map(|bits| labels.get(*bits)).collect();
        // Products arrive sorted by block and warp.
        if last.replace((factors.block, factors.warp)) != Some((factors.block, factors.warp)) {
            warps += 1;
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
            needed.extend(held.map(|element| (warps, row, column, number(*element))));
        }
        let (columns, steps) = (factors.columns(), factors.k as usize);
        let result = |one: &Option<Element>, other: &Option<Element>| match (*one, *other) {
            // Of the transposed product, too.
            (Some(Element::A(i, _)), Some(Element::B(_, j)))
            | (Some(Element::B(_, j)), Some(Element::A(i, _))) => {
                Some(warps << 32 | u64::from(i * n + j))
            }
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
    for needed in &mut needed {
        needed.sort_unstable();
        needed.dedup();
    }
    sums.sort_unstable();
    sums.dedup();
    let bytes = |number: u32| if number < m * k { 2 } else { 4 };
    Coverage {
        by_hand: (needed.each_ref())
            .map(|needed| needed.iter().map(|(.., number)| bytes(*number)).sum()),
        products: seen.seen.iter().filter(|seen| **seen).count() as u64,
        of: seen.seen.len() as u64,
        operand_bytes: 2 * needed.iter().map(Vec::len).sum::<usize>() as u64,
        more_sums: (sums.len() as u64).saturating_sub(u64::from(m) * u64::from(n)),
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
