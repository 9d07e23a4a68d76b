//! Rung 05: one XOR in the address makes every shared-memory access conflict-free.
use std::process::ExitCode;

use harness::{Host, LaunchConfig, Result, Rung, Size, kernel};

pub(crate) const RUNG: Rung = Rung {
    name: "05_swizzle",
    kernels: &[kernel!("kernel", "sm_80")],
    switches: &[],
    tile: None,
    host: multiply,
};

fn main() -> ExitCode {
    harness::main(&RUNG)
}

/// The host code for C = A B.
fn multiply(host: &mut Host) -> Result<()> {
    // CUDA C++ is compiled to PTX, and PTX to machine code. The kernel states its tile of C and its threads.
    let kernel = host.compile("gemm")?;
    let (tile, threads) = (kernel.spec.tile, kernel.spec.threads);

    // Random A and B, padded with zeros to whole tiles, because the kernel has no code for edges.
    let problem = host.problem(&kernel)?;
    let Size { m, n, k } = problem.padded;

    // A and B are copied to the device; C is only allocated there.
    let a = host.upload("A", &problem.a)?;
    let b = host.upload("B", &problem.b)?;
    let c = host.alloc("C", m as usize * n as usize)?;

    // One block per tile of C, numbered along x.
    let config = LaunchConfig {
        grid: [(m / tile.bm) * (n / tile.bn), 1, 1],
        block: [threads, 1, 1],
        dynamic_shared: kernel.spec.dynamic_shared,
        ..LaunchConfig::default()
    };
    let args = vec![a.arg(), b.arg(), c.arg(), m.into(), n.into(), k.into()];
    host.launch(&kernel, config, args)?;

    // C is copied back and compared with a product in f64.
    host.verify(&problem, [a, b, c])
}
