//! Finds out what tensor cores multiplied: in a launch with distinct inputs each number identifies an element of A or
//! B.
use emulator::MatrixFactors;
use harness::{Launched, Problem};

/// An element of A or of B, by row and column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Element {
    A(u32, u32),
    B(u32, u32),
}

impl std::fmt::Display for Element {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, row, column) = match self {
            Self::A(row, column) => ('A', row, column),
            Self::B(row, column) => ('B', row, column),
        };
        write!(f, "{name}[{row}][{column}]")
    }
}

/// Maps each number of a problem to its element.
pub struct Labels(Vec<Option<Element>>);

impl Labels {
    pub fn of(problem: &Problem) -> Self {
        let size = problem.size;
        let matrix = |columns: u32, padded: u32, bits: &[half::f16]| {
            let rows = bits.chunks(padded.max(1) as usize).enumerate();
            let all = rows.flat_map(|(row, elements)| {
                let elements = elements.iter().take(columns as usize).enumerate();
                elements.map(move |(column, value)| (value.to_bits(), row as u32, column as u32))
            });
            all.collect::<Vec<_>>()
        };
        let a = matrix(size.k, problem.padded.k, &problem.a);
        let b = matrix(size.n, problem.padded.n, &problem.b);
        let a = a.into_iter().map(|(bits, i, k)| (bits, Element::A(i, k)));
        let b = b.into_iter().map(|(bits, k, j)| (bits, Element::B(k, j)));
        let mut all = vec![None; 1 << 16];
        for (bits, element) in a.chain(b) {
            all[usize::from(bits)] = Some(element);
        }
        // Zero is padding.
        all[0] = None;
        Self(all)
    }

    pub fn get(&self, bits: u16) -> Option<Element> {
        self.0.get(usize::from(bits)).copied().flatten()
    }
}

/// The matrix products of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Coverage {
    /// Products of the problem that were computed, and how many it has.
    pub products: u64,
    pub of: u64,
    /// Bytes of operands, counting each element of A and B once per warp and step that multiplies it.
    pub operand_bytes: u64,
}

/// Derives it from the operands.
pub fn coverage(launched: &Launched) -> Coverage {
    let problem = &launched.problem;
    let labels = Labels::of(problem);
    let (m, n, k) = (problem.size.m, problem.size.n, problem.size.k);
    let at = |i: u32, j: u32, k_: u32| ((i * n + j) as usize) * k as usize + k_ as usize;
    let mut seen = vec![false; m as usize * n as usize * k as usize];
    // Pairs of a warp and an element that it multiplies; the element implies the step.
    let mut needed = Vec::new();
    let number = |element: Element| match element {
        Element::A(i, k_) => u64::from(i * k + k_),
        Element::B(k_, j) => u64::from(m * k + k_ * n + j),
    };
    let (mut warps, mut last) = (0u64, None);
    for factors in &launched.run.factors {
        let a: Vec<_> = factors.a.iter().map(|bits| labels.get(*bits)).collect();
        let b: Vec<_> = factors.b.iter().map(|bits| labels.get(*bits)).collect();
        // Products arrive sorted by block and warp.
        if last.replace((factors.block, factors.warp)) != Some((factors.block, factors.warp)) {
            warps += 1;
        }
        let held = a.iter().chain(&b).flatten();
        needed.extend(held.map(|element| warps << 32 | number(*element)));
        for_each_product(factors, |row, column, k| {
            let pair = (
                a[row * factors.k as usize + k],
                b[k * factors.columns() + column],
            );
            // The transposed product counts as well.
            let ((Some(Element::A(i, k)), Some(Element::B(other, j)))
            | (Some(Element::B(other, j)), Some(Element::A(i, k)))) = pair
            else {
                return;
            };
            if k == other {
                seen[at(i, j, k)] = true;
            }
        });
    }
    needed.sort_unstable();
    needed.dedup();
    Coverage {
        products: seen.iter().filter(|seen| **seen).count() as u64,
        of: seen.len() as u64,
        operand_bytes: 2 * needed.len() as u64,
    }
}

fn for_each_product(factors: &MatrixFactors, mut each: impl FnMut(usize, usize, usize)) {
    for row in 0..factors.rows() {
        for column in 0..factors.columns() {
            (0..factors.k as usize).for_each(|k| each(row, column, k));
        }
    }
}
