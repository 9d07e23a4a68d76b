//! Rung 17: narrower tiles fill a last wave that is nearly full.
mod tiles;

use std::process::ExitCode;

use harness::{Host, LaunchConfig, Result, Rung, Size};

pub(crate) const RUNG: Rung = Rung {
    name: "17_narrow_tiles",
    kernels: tiles::KERNELS,
    switches: &[],
    tile: Some(tiles::fastest),
    host: multiply,
};

fn main() -> ExitCode {
    harness::main(&RUNG)
}

/// The host code for C = A B.
fn multiply(host: &mut Host) -> Result<()> {
    // CUDA C++ is compiled to PTX, and PTX to machine code. The kernel states its tile of C, its threads and its boxes.
    let kernel = host.compile("gemm")?;
    let (tile, threads, cluster) = (kernel.spec.tile, kernel.spec.threads, kernel.spec.cluster);

    // Random A and B. TMA knows where a matrix ends, so only rows are padded, to a multiple of 16 bytes.
    let problem = host.problem(&kernel)?;
    let Size { m, n, k } = problem.padded;

    // A and B are copied to the device; C is only allocated there.
    let a = host.upload("A", &problem.a)?;
    let b = host.upload("B", &problem.b)?;
    let c = host.alloc("C", m as usize * n as usize)?;

    // Tensor maps instead of pointers: the address and shape of each matrix, and the box that TMA copies at a time.
    let [of_a, of_b, of_c] = kernel.boxes()?;
    let args = vec![
        host.tensor_map(&a, [m, k], of_a)?,
        host.tensor_map(&b, [k, n], of_b)?,
        host.tensor_map(&c, [m, n], of_c)?,
        m.into(),
        n.into(),
        k.into(),
    ];

    // Persistent blocks: one per SM, but not more than tiles of C; both numbers are rounded to whole clusters.
    let tiles = m.div_ceil(tile.bm).next_multiple_of(cluster) * n.div_ceil(tile.bn);
    let config = LaunchConfig {
        grid: [tiles.min(host.sms() / cluster * cluster), 1, 1],
        cluster: [cluster, 1, 1],
        block: [threads, 1, 1],
        dynamic_shared: kernel.spec.dynamic_shared,
        overlap: kernel.overlaps, // the kernel itself waits for the previous launch (programmatic dependent launch)
        ..LaunchConfig::default()
    };
    host.launch(&kernel, config, args)?;

    // C is copied back and compared with a product in f64.
    host.verify(&problem, [a, b, c])
}
