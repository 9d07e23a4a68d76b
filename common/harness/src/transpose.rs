//! The transposition, the one assignment without a multiplication. Its input takes the place of A, its output that of
//! C.
use emulator::Ptx;
use half::f16;

use crate::spec::{LaunchSpec, SpecError, ints, within};
use crate::{Host, Problem, Result, Size, Tile, Verification};

/// The kernel's name.
pub const NAME: &str = "transpose";

const LAUNCH: &str = "transpose_launch";

/// Warp instructions for each element: a thread that moves one element takes fewer than 40, so a warp takes little
/// more than one for each.
const INSTRUCTIONS_PER_ELEMENT: u64 = 64;

/// A product whose A has `size.m` rows and `size.n` columns, and whose B and C are as small as possible.
pub fn as_product(size: Size) -> Size {
    Size {
        m: size.m,
        n: 1,
        k: size.n,
    }
}

/// The launch that a kernel states: rows and columns of a tile, threads, bytes of dynamic shared memory.
pub fn spec(ptx: &Ptx) -> std::result::Result<LaunchSpec, SpecError> {
    let numbers = ints(ptx, LAUNCH)?.ok_or_else(|| {
        SpecError::Bad(format!(
            "{LAUNCH}: the PTX has no such initialized constant"
        ))
    })?;
    let &[rows, columns, threads, dynamic] = &numbers[..] else {
        return Err(SpecError::Bad(format!(
            "{LAUNCH}: it has {} ints, expected 4",
            numbers.len()
        )));
    };
    for (name, value, low, high) in [
        ("rows of a tile", rows, 1, 65536),
        ("columns of a tile", columns, 1, 65536),
        ("threads", threads, 1, 1024),
        ("dynamic shared bytes", dynamic, 0, 227 * 1024),
    ] {
        within(name, value, low, high).map_err(SpecError::Bad)?;
    }
    let [rows, columns, threads, dynamic_shared] =
        [rows, columns, threads, dynamic].map(i32::unsigned_abs);
    Ok(LaunchSpec {
        tile: Tile {
            bm: rows,
            bn: columns,
            bk: 1,
        },
        whole: Tile {
            bm: rows,
            bn: 1,
            bk: columns,
        },
        threads,
        dynamic_shared,
        cluster: 1,
        persistent_per_sm: 0,
        stream_k: false,
        boxes: None,
    })
}

/// The size of each parameter, and their declaration.
pub fn parameters() -> (Vec<u32>, String) {
    let declared = "transpose(const unsigned short* in, unsigned short* out, int rows, int cols)";
    (vec![8, 8, 4, 4], declared.into())
}

/// The host function: a block for each tile.
///
/// # Errors
/// Those of its steps.
pub fn host(host: &mut Host) -> Result<()> {
    let kernel = host.compile(NAME)?;
    let problem = host.problem(&kernel)?;
    let Size { m, k: n, .. } = problem.padded;
    let input = host.upload("in", &problem.a)?;
    let output = host.alloc("out", m as usize * n as usize)?;
    let tile = kernel.spec.tile;
    let config = kernel.config((m / tile.bm) * (n / tile.bn));
    let args = vec![input.arg(), output.arg(), m.into(), n.into()];
    host.limit_instructions((u64::from(m) * u64::from(n) * INSTRUCTIONS_PER_ELEMENT).max(1 << 20));
    host.launch(&kernel, config, args)?;
    host.verify(&problem, [input.clone(), input, output])
}

/// Compares every element bit by bit, since nothing is computed.
pub fn verify(problem: &Problem, found: &[f16]) -> Verification {
    let Size { m, k: n, .. } = problem.padded;
    let mut all = Verification::default();
    for row in 0..problem.size.k {
        for col in 0..problem.size.m {
            let got = found.get((row * m + col) as usize).copied();
            let want = problem.a[(col * n + row) as usize];
            all.compare_bits(row, col, got.unwrap_or(f16::NAN), want);
        }
    }
    all
}
