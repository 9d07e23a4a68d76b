//! Which thread holds which element: the fragments of `mma`, `wgmma`, `ldmatrix` and `stmatrix`, as maps in
//! both directions and in the axis notation.
//!
//! All fragments repeat one pattern, the 8x8 matrix: four lanes hold a row, two neighbors each. With g =
//! lane / 4 and t = lane % 4, the lane holds columns 2 t and 2 t + 1 of row g. Larger fragments differ in
//! which element of a lane holds the next 8 rows or columns.
//!
//! Source: PTX ISA, "Matrix Fragments for mma.m16n8k8", "Matrix Fragments for mma.m16n8k16 with
//! floating point type", "ldmatrix", "stmatrix", "Register Fragments and Shared Memory Matrix Layouts".
use crate::axis::{AxisError, AxisLayout};

/// An operand of a matrix multiplication D = A B + C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Operand {
    /// M x K
    ///
    /// Its elements are f16 or bf16.
    A,
    /// K x N
    ///
    /// Its elements are f16 or bf16.
    B,
    /// M x N; D has the same layout
    ///
    /// Its elements are f32.
    C,
}

/// A fragment: a small matrix distributed over the registers of a warp or a warpgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fragment {
    /// `mma.sync` m16n8k8 (`k16` false) or m16n8k16.
    Mma {
        /// K is 16, not 8.
        k16: bool,
        /// Which operand.
        operand: Operand,
    },
    /// The accumulator of `wgmma` m64nNk16, f32: 64 x N over the 128 threads of a warpgroup.
    Wgmma {
        /// N: 8 to 256 in steps of 8.
        n: u32,
    },
    /// 1, 2 or 4 matrices of 8x8 16-bit elements, as `ldmatrix` loads and `stmatrix` stores them, drawn one
    /// below the other: row 8 j + r is row r of matrix j in shared memory.
    Matrices {
        /// The number of matrices.
        count: u32,
        /// `.trans`: a lane holds two neighbors of a column.
        trans: bool,
    },
}

/// Why a fragment is rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FragmentError {
    /// An unknown name.
    #[error(
        "{0} is not a fragment: there are m16n8k8 and m16n8k16 (a, b or c), m64nNk16 with N from 8 \
         to 256 in steps of 8 \
         (c), and ldmatrix or stmatrix .x1, .x2 or .x4, with or without .trans"
    )]
    Name(String),
    /// An operand that is missing or impossible.
    #[error("{shape} {}", if *has_c_only { "is drawn for its accumulator: take c" } else { "needs an operand: a, b or c" })]
    Operand {
        /// The instruction.
        shape: String,
        /// It is a `wgmma`.
        has_c_only: bool,
    },
}

/// The direction in which a lane's next 8x8 matrix follows.
enum Order {
    /// Always below.
    Down,
    /// Below, then to the right by twos; 16 rows to a warp.
    Right,
    /// Always below, each transposed: a lane holds two neighbors of a column.
    Across,
}

impl Fragment {
    /// Looks up a fragment by name, such as `m16n8k16` with operand `a`, `m64n128k16` with `c`, or
    /// `ldmatrix.x4.trans`.
    ///
    /// # Errors
    /// If there is no such fragment.
    pub fn named(shape: &str, operand: Option<Operand>) -> Result<Self, FragmentError> {
        let unknown = || FragmentError::Name(shape.into());
        let operand_error = |has_c_only| FragmentError::Operand {
            shape: shape.into(),
            has_c_only,
        };
        let mut prefixes = ["ldmatrix.x", "stmatrix.x"].iter();
        if let Some(rest) = prefixes.find_map(|prefix| shape.strip_prefix(prefix)) {
            let count = rest.strip_suffix(".trans");
            let trans = count.is_some();
            let count = match count.unwrap_or(rest) {
                "1" => 1,
                "2" => 2,
                "4" => 4,
                _ => return Err(unknown()),
            };
            return Ok(Fragment::Matrices { count, trans });
        }
        let wgmma = shape
            .strip_prefix("m64n")
            .and_then(|rest| rest.strip_suffix("k16"));
        if let Some(n) = wgmma.and_then(|n| n.parse::<u32>().ok()) {
            return match operand {
                _ if !(8..=256).contains(&n) || n % 8 != 0 => Err(unknown()),
                Some(Operand::C) => Ok(Fragment::Wgmma { n }),
                _ => Err(operand_error(true)),
            };
        }
        let k16 = match shape {
            "m16n8k8" => false,
            "m16n8k16" => true,
            _ => return Err(unknown()),
        };
        let operand = operand.ok_or_else(|| operand_error(false))?;
        Ok(Fragment::Mma { k16, operand })
    }

    /// Rows and columns.
    pub fn shape(&self) -> (u32, u32) {
        match *self {
            Fragment::Mma { k16, operand } => match operand {
                Operand::A => (16, depth(k16)),
                Operand::B => (depth(k16), 8),
                Operand::C => (16, 8),
            },
            Fragment::Wgmma { n } => (64, n),
            Fragment::Matrices { count, .. } => (8 * count, 8),
        }
    }

    /// The number of threads that hold it.
    pub fn threads(&self) -> u32 {
        match self {
            Fragment::Wgmma { .. } => 128,
            Fragment::Mma { .. } | Fragment::Matrices { .. } => 32,
        }
    }

    /// The number of elements that each thread holds.
    pub fn elements(&self) -> u32 {
        let (rows, columns) = self.shape();
        rows * columns / self.threads()
    }

    /// The number of elements in a 32-bit register: two of 16 bits, or one f32.
    pub fn packing(&self) -> u32 {
        match self {
            Fragment::Mma { operand, .. } if *operand == Operand::C => 1,
            Fragment::Wgmma { .. } => 1,
            Fragment::Mma { .. } | Fragment::Matrices { .. } => 2,
        }
    }

    /// How the fragment's 8x8 matrices follow each other.
    fn order(&self) -> Order {
        match *self {
            Fragment::Mma { operand, .. } => match operand {
                Operand::A => Order::Right,
                Operand::B => Order::Across,
                Operand::C => Order::Down,
            },
            Fragment::Wgmma { .. } => Order::Right,
            Fragment::Matrices { trans, .. } if trans => Order::Across,
            Fragment::Matrices { .. } => Order::Down,
        }
    }

    /// Row and column of a thread's element; threads and elements beyond the last wrap around.
    pub fn at(&self, thread: u32, element: u32) -> (u32, u32) {
        let (thread, i) = (thread % self.threads(), element % self.elements());
        let (warp, lane) = (thread / 32, thread % 32);
        let (g, pair) = (lane / 4, 2 * (lane % 4) + i % 2);
        match self.order() {
            Order::Down => (g + 8 * (i / 2), pair),
            Order::Right => (16 * warp + g + 8 * (i / 2 % 2), pair + 8 * (i / 4)),
            Order::Across => (pair + 8 * (i / 2), g),
        }
    }

    /// The thread and element that hold a row and column; `None` outside the matrix.
    pub fn holder(&self, row: u32, column: u32) -> Option<(u32, u32)> {
        let (rows, columns) = self.shape();
        if row >= rows || column >= columns {
            return None;
        }
        // Lane and element within one 8x8 matrix, from the coordinate along the lanes and the one in pairs.
        let eight = |slow: u32, fast: u32| (slow % 8 * 4 + fast % 8 / 2, fast % 2);
        let (down, right) = (row / 8, column / 8);
        let (lane, i) = match self.order() {
            Order::Across => eight(column, row),
            Order::Down | Order::Right => eight(row, column),
        };
        Some(match self.order() {
            Order::Right => (down / 2 * 32 + lane, i + 2 * (down % 2) + 4 * right),
            Order::Down | Order::Across => (lane, i + 2 * down),
        })
    }

    /// The same in the axis notation, written out by hand rather than derived from [`Self::at`]. Elements are
    /// on `m`.
    ///
    /// # Errors
    /// Never, for the fragments that exist.
    pub fn axis(&self) -> Result<AxisLayout, AxisError> {
        let text = match *self {
            Fragment::Mma { k16, operand } => match (operand, k16) {
                (Operand::A, true) => "S[(2, 8, 2, 4, 2) : (2@m, 4@laneid, 4@m, 1@laneid, 1@m)]",
                (Operand::B, true) => "S[(2, 4, 2, 8) : (2@m, 1@laneid, 1@m, 4@laneid)]",
                (Operand::B, false) => "S[(4, 2, 8) : (1@laneid, 1@m, 4@laneid)]",
                (Operand::A, false) | (Operand::C, _) => {
                    "S[(2, 8, 4, 2) : (2@m, 4@laneid, 1@laneid, 1@m)]"
                }
            }
            .into(),
            Fragment::Wgmma { n } => format!(
                "S[(4, 2, 8, {}, 4, 2) : (1@warpid, 2@m, 4@laneid, 4@m, 1@laneid, 1@m)]",
                n / 8
            ),
            Fragment::Matrices { count, trans } if trans => {
                format!("S[({count}, 4, 2, 8) : (2@m, 1@laneid, 1@m, 4@laneid)]")
            }
            Fragment::Matrices { count, .. } => {
                format!("S[({count}, 8, 4, 2) : (2@m, 4@laneid, 1@laneid, 1@m)]")
            }
        };
        AxisLayout::parse(&text)
    }

    /// For `ldmatrix` and `stmatrix`: the matrix and row whose address a lane gives; `None` for lanes whose
    /// address is ignored, and for other fragments.
    pub fn row_of_address(&self, lane: u32) -> Option<(u32, u32)> {
        let Fragment::Matrices { count, .. } = *self else {
            return None;
        };
        (lane < 8 * count).then_some((lane / 8, lane % 8))
    }
}

/// K of `mma.sync`.
fn depth(k16: bool) -> u32 {
    if k16 { 16 } else { 8 }
}

impl std::fmt::Display for Fragment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Fragment::Mma { k16, operand } => write!(f, "m16n8k{} {operand:?}", depth(k16)),
            Fragment::Wgmma { n } => write!(f, "m64n{n}k16 C"),
            Fragment::Matrices { count, trans } => {
                write!(f, "matrices x{count}{}", if trans { ".trans" } else { "" })
            }
        }
    }
}

/// All fragments, `wgmma` with every N, for tests.
pub fn all() -> Vec<Fragment> {
    let operands = [Operand::A, Operand::B, Operand::C];
    let mma = [false, true]
        .into_iter()
        .flat_map(|k16| operands.map(|operand| Fragment::Mma { k16, operand }));
    let matrices = [1, 2, 4]
        .into_iter()
        .flat_map(|count| [false, true].map(|trans| Fragment::Matrices { count, trans }));
    let wgmma = (8..=256).step_by(8).map(|n| Fragment::Wgmma { n });
    mma.chain(matrices).chain(wgmma).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::on;

    #[test]
    fn both_ways_and_the_axis_notation_agree() {
        for fragment in all() {
            let (rows, columns) = fragment.shape();
            let axis = fragment.axis().expect("a layout");
            assert_eq!(axis.size(), rows * columns, "{fragment}");
            let mut seen = vec![false; (rows * columns) as usize];
            for (row, column) in
                (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)))
            {
                let (thread, element) = fragment.holder(row, column).expect("inside");
                assert_eq!(fragment.at(thread, element), (row, column), "{fragment}");
                let index = thread * fragment.elements() + element;
                assert!(
                    !std::mem::replace(&mut seen[index as usize], true),
                    "{fragment}: two elements in one place"
                );
                let places = axis.positions(row * columns + column);
                let place = places.first().expect("inside");
                let found = (
                    on(place, "warpid") * 32 + on(place, "laneid"),
                    on(place, "m"),
                );
                assert_eq!(
                    (places.len(), found),
                    (1, (thread, element)),
                    "{fragment} in {axis}"
                );
            }
            assert_eq!(fragment.holder(rows, 0), None);
            assert_eq!(fragment.holder(0, columns), None);
        }
    }

    /// ldmatrix.x4 over the four quarters of a 16x16 tile gives the A fragment of m16n8k16, and .x2.trans
    /// over the halves of a row-major 16x8 tile gives the B fragment: the purpose of both.
    #[test]
    fn ldmatrix_makes_what_mma_takes() {
        let (x4, a) = (
            Fragment::Matrices {
                count: 4,
                trans: false,
            },
            Fragment::Mma {
                k16: true,
                operand: Operand::A,
            },
        );
        let (x2, b) = (
            Fragment::Matrices {
                count: 2,
                trans: true,
            },
            Fragment::Mma {
                k16: true,
                operand: Operand::B,
            },
        );
        for (lane, i) in (0..32).flat_map(|lane| (0..8).map(move |i| (lane, i))) {
            let (row, column) = x4.at(lane, i);
            // Matrix 0 top left, 1 bottom left, 2 top right, 3 bottom right.
            let quarter = row / 8;
            assert_eq!(
                a.at(lane, i),
                (quarter % 2 * 8 + row % 8, quarter / 2 * 8 + column)
            );
            if i < 4 {
                assert_eq!(b.at(lane, i), x2.at(lane, i));
            }
        }
    }

    #[test]
    fn addresses_both_ways() {
        for count in [1, 2, 4] {
            let fragment = Fragment::Matrices {
                count,
                trans: false,
            };
            for lane in 0..32 {
                // Exactly one lane gives the address of each row: lane 8 j + r that of row r of matrix j.
                let back = fragment
                    .row_of_address(lane)
                    .map(|(matrix, row)| (matrix < count && row < 8, 8 * matrix + row));
                assert_eq!(back, (lane < 8 * count).then_some((true, lane)));
            }
        }
        assert_eq!(Fragment::Wgmma { n: 8 }.row_of_address(0), None);
    }

    #[test]
    fn names() {
        assert_eq!(
            Fragment::named("ldmatrix.x4.trans", None),
            Ok(Fragment::Matrices {
                count: 4,
                trans: true
            })
        );
        assert_eq!(
            Fragment::named("m64n256k16", Some(Operand::C)),
            Ok(Fragment::Wgmma { n: 256 })
        );
        for (name, operand) in [
            ("m64n12k16", Some(Operand::C)),
            ("m64n264k16", Some(Operand::C)),
            ("ldmatrix.x3", None),
            ("m8n8k4", Some(Operand::A)),
        ] {
            assert!(
                matches!(Fragment::named(name, operand), Err(FragmentError::Name(_))),
                "{name}"
            );
        }
        assert!(matches!(
            Fragment::named("m64n64k16", Some(Operand::A)),
            Err(FragmentError::Operand {
                has_c_only: true,
                ..
            })
        ));
        assert!(matches!(
            Fragment::named("m16n8k16", None),
            Err(FragmentError::Operand {
                has_c_only: false,
                ..
            })
        ));
    }
}
