//! Rows to columns: the one assignment that multiplies nothing. Its input is the A of a product, its output the C.
use emulator::Ptx;
use half::f16;

use crate::spec::{LaunchSpec, Unstated, ints, within};
use crate::{Host, Problem, Result, Size, Tile, Verification};

/// The kernel's name.
pub const NAME: &str = "transpose";

const LAUNCH: &str = "transpose_launch";

/// Warp instructions for each element: a thread that moves one of them takes fewer than 40, so a warp takes little
/// more than one.
const ENOUGH: u64 = 64;

/// A product whose A is a matrix of `size.m` rows and `size.n` columns, and whose C and B are as small as can be.
pub fn as_product(size: Size) -> Size {
    Size {
        m: size.m,
        n: 1,
        k: size.n,
    }
}

/// The launch that a kernel states: rows and columns of a tile, threads, dynamic bytes of shared memory.
pub fn spec(ptx: &Ptx) -> std::result::Result<LaunchSpec, Unstated> {
    let numbers = ints(ptx, LAUNCH)?
        .ok_or_else(|| Unstated::Bad(format!("{LAUNCH}: there is no such initialised constant")))?;
    let &[rows, columns, threads, dynamic] = &numbers[..] else {
        return Err(Unstated::Bad(format!(
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
        within(name, value, low, high).map_err(Unstated::Bad)?;
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

/// Bytes of each parameter, and how they are declared.
pub fn parameters() -> (Vec<u32>, String) {
    let declared = "transpose(const unsigned short* in, unsigned short* out, int rows, int cols)";
    (vec![8, 8, 4, 4], declared.into())
}

/// What the host does: a block for each tile.
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
    host.limit_instructions((u64::from(m) * u64::from(n) * ENOUGH).max(1 << 20));
    host.launch(&kernel, config, args)?;
    host.verify(&problem, [input.clone(), input, output])
}

/// Every element, bit by bit: nothing is computed.
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
