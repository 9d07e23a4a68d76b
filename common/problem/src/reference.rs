//! The f64 reference: plain dot products; only their order is optimized.
use half::f16;
use half::slice::HalfFloatSliceExt;

use crate::Problem;
use crate::parallel::*;

/// The expected value of an element of C, and its tolerance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expected {
    /// The sum of a b.
    pub value: f64,
    /// The sum of (a b)^2.
    pub squares: f64,
}

impl Expected {
    /// 2^-10 |value| + 2^-12 sqrt(squares): one rounding to f16 and the f32 roundings of the sum, with a margin. The rounding is at least
    /// that of a subnormal number, 2^-25.
    pub fn bound(&self) -> f64 {
        const SUBNORMAL: f64 = 1.0 / (1u64 << 25) as f64;
        (self.value.abs() / 1024.0).max(SUBNORMAL) + self.squares.sqrt() / 4096.0
    }
}

/// Rows and columns of a chunk that is computed at once: small enough for a core's L1 cache.
const CHUNK: usize = 2048;

/// Calls `visit(row, col, expected)` for every element of `rows` x `cols`, in parallel, and merges the results of the
/// chunks with `merge`.
pub fn visit<T: Send>(
    problem: &Problem,
    rows: &[u32],
    cols: &[u32],
    new: impl Fn() -> T + Sync,
    visit: impl Fn(&mut T, u32, u32, Expected) + Sync,
    merge: impl Fn(T, T) -> T + Sync + Send,
) -> T {
    let wide = cols.len().clamp(1, 256);
    let col_chunks: Vec<_> = cols.chunks(wide).collect();
    let row_chunks: Vec<_> = rows.chunks(CHUNK / wide).collect();
    let chunks = row_chunks.len() * col_chunks.len();
    let states = (0..chunks).into_par_iter().map(|chunk| {
        let rows = row_chunks[chunk / col_chunks.len()];
        let cols = col_chunks[chunk % col_chunks.len()];
        let mut state = new();
        let expected = block(problem, rows, cols);
        for (row, expected) in rows.iter().zip(expected.chunks_exact(cols.len())) {
            for (col, expected) in cols.iter().zip(expected) {
                visit(&mut state, *row, *col, *expected);
            }
        }
        state
    });
    let states: Vec<T> = states.collect();
    states.into_iter().fold(new(), merge)
}

/// The elements of `rows` x `cols`, row-major, by the widest vectors that the CPU has.
fn block(problem: &Problem, rows: &[u32], cols: &[u32]) -> Vec<Expected> {
    pulp::Arch::new().dispatch(Block {
        problem,
        rows,
        cols,
    })
}

struct Block<'a> {
    problem: &'a Problem,
    rows: &'a [u32],
    cols: &'a [u32],
}

impl pulp::WithSimd for Block<'_> {
    type Output = Vec<Expected>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Vec<Expected> {
        let Self {
            problem,
            rows,
            cols,
        } = self;
        let (lda, ldb) = (problem.padded.k as usize, problem.padded.n as usize);
        // A sum for each element of a row, so that the compiler vectorizes over them; each sum is in the order of k.
        let mut values = vec![0.0; rows.len() * cols.len()];
        let mut squares = values.clone();
        let mut half_b = vec![f16::ZERO; cols.len()];
        let mut b = vec![0.0f32; cols.len()];
        for k in 0..problem.size.k as usize {
            let row = &problem.b[k * ldb..][..ldb];
            for (b, col) in half_b.iter_mut().zip(cols) {
                *b = row[*col as usize];
            }
            half_b.convert_to_f32_slice(&mut b);
            let sums = values.chunks_exact_mut(cols.len());
            let sums = sums.zip(squares.chunks_exact_mut(cols.len()));
            for (row, (values, squares)) in rows.iter().zip(sums) {
                let a = f64::from(problem.a[*row as usize * lda + k].to_f32_const());
                for ((value, square), b) in values.iter_mut().zip(squares).zip(&b) {
                    let product = a * f64::from(*b);
                    *value += product;
                    *square += product * product;
                }
            }
        }
        let sums = values.into_iter().zip(squares);
        sums.map(|(value, squares)| Expected { value, squares })
            .collect()
    }
}
