//! Which element of A or B a number is: in a launch with distinct inputs each number identifies one.
use crate::Problem;

/// An element of A or of B, by row and column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Element {
    /// Of A.
    A(u32, u32),
    /// Of B.
    B(u32, u32),
}

impl std::fmt::Display for Element {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, row, column) = self.parts();
        write!(f, "{name}[{row}][{column}]")
    }
}

/// Maps each number of a problem to its element.
pub struct Labels(Vec<Option<Element>>);

impl Labels {
    /// The labels of a problem's matrices, with [`Values::Distinct`](crate::Values::Distinct).
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

    /// Whether the problem has this element.
    pub fn has(&self, element: Element) -> bool {
        self.0.contains(&Some(element))
    }

    /// The element with these bits.
    pub fn get(&self, bits: u16) -> Option<Element> {
        self.0.get(usize::from(bits)).copied().flatten()
    }
}

impl Element {
    /// The matrix's name, row and column.
    fn parts(self) -> (char, u32, u32) {
        match self {
            Self::A(row, column) => ('A', row, column),
            Self::B(row, column) => ('B', row, column),
        }
    }

    /// Names neighboring elements, given in order, by ranges: `A[0][24-31]`, and `B[0-7][3]` down a column.
    pub fn names(elements: &[Self]) -> String {
        let mut ranges: Vec<(Self, u32, u32)> = Vec::new();
        for &element in elements {
            let next = |&mut (first, down, right): &mut (Self, u32, u32)| match (first, element) {
                (Self::A(i, k), Self::A(row, column)) | (Self::B(i, k), Self::B(row, column)) => {
                    let (below, beside) = (row == i + down + 1, column == k + right + 1);
                    match (row == i, column == k) {
                        (true, _) if beside && down == 0 => Some((first, 0, right + 1)),
                        (_, true) if below && right == 0 => Some((first, down + 1, 0)),
                        _ => None,
                    }
                }
                _ => None,
            };
            match ranges.last_mut().and_then(|last| Some((next(last)?, last))) {
                Some((longer, last)) => *last = longer,
                None => ranges.push((element, 0, 0)),
            }
        }
        let range = |first: u32, more: u32| match more {
            0 => first.to_string(),
            _ => format!("{first}-{}", first + more),
        };
        let name = |&(first, down, right): &(Self, u32, u32)| {
            let (matrix, row, column) = first.parts();
            format!("{matrix}[{}][{}]", range(row, down), range(column, right))
        };
        ranges.iter().map(name).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::Element::{self, A, B};

    #[test]
    fn neighbors_are_named_by_ranges() {
        for (elements, names) in [
            (&[A(0, 30), A(0, 31)][..], "A[0][30-31]"),
            (&[B(6, 3), B(7, 3), B(8, 3)], "B[6-8][3]"),
            (&[A(0, 31), A(1, 0)], "A[0][31] A[1][0]"),
            (&[A(0, 0), A(0, 1), A(1, 1)], "A[0][0-1] A[1][1]"),
            (&[A(0, 0), B(0, 1)], "A[0][0] B[0][1]"),
            (&[], ""),
        ] {
            assert_eq!(Element::names(elements), names);
        }
    }
}
