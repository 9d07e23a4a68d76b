//! Maps a byte of global memory to an element of a matrix.
use harness::Problem;

use super::rubric::AssignmentKind;

/// Bytes per element.
const ELEMENT: u64 = 2;

/// A description of the element at an offset of a kernel's argument; past the last row, that there is no such row.
pub fn of(problem: &Problem, task: AssignmentKind, argument: &str, offset: u64) -> Option<String> {
    let size = problem.padded;
    let (rows, columns) = match (task, argument) {
        (AssignmentKind::Gemm, "A") | (AssignmentKind::Transpose, "in") => (size.m, size.k),
        (AssignmentKind::Gemm, "B") => (size.k, size.n),
        (AssignmentKind::Gemm, "C") => (size.m, size.n),
        (AssignmentKind::Transpose, "out") => (size.k, size.m),
        _ => return None,
    };
    let element = offset / ELEMENT;
    let row = element / u64::from(columns.max(1));
    let column = element % u64::from(columns.max(1));
    let name = format!("{argument}[{row}][{column}]");
    Some(match row < u64::from(rows) {
        true => format!("that is {name}"),
        false => format!("that would be {name}, but {argument} has {rows} rows of {columns}"),
    })
}

#[cfg(test)]
mod tests {
    use harness::{Size, Tile};

    use super::*;

    #[test]
    fn bytes_behind_the_last_row_are_of_none() {
        let tile = Tile {
            bm: 4,
            bn: 16,
            bk: 8,
        };
        let size = Size { m: 3, n: 16, k: 8 };
        let problem = Problem::new(size, tile, 0).expect("a problem");
        let of = |argument, offset| of(&problem, AssignmentKind::Gemm, argument, offset);
        assert_eq!(of("A", 18).as_deref(), Some("that is A[1][1]"));
        assert_eq!(of("B", 34).as_deref(), Some("that is B[1][1]"));
        assert_eq!(
            of("C", 128).as_deref(),
            Some("that would be C[4][0], but C has 4 rows of 16")
        );
        assert_eq!(of("tickets", 0), None);
    }
}
