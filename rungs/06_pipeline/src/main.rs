//! Rung 06: the loads are hidden, as Ampere does it and as Hopper does.
mod tiles;

use std::process::ExitCode;

use harness::{Host, LaunchConfig, Result, Rung, Size};

const RUNG: Rung = Rung {
    name: "06_pipeline",
    kernels: tiles::KERNELS,
    switches: &[],
    tile: Some(tiles::fastest),
    host: multiply,
};

fn main() -> ExitCode {
    harness::main(&RUNG)
}

/// What the host does for C = A B.
fn multiply(host: &mut Host) -> Result<()> {
    let kernel = host.compile("gemm")?;
    let spec = &kernel.spec;
    let problem = host.problem(&kernel)?;
    let Size { m, n, k } = problem.padded;

    let a = host.upload("A", &problem.a)?;
    let b = host.upload("B", &problem.b)?;
    let c = host.alloc("C", m as usize * n as usize)?;

    // The kernel for Hopper takes tensor maps in place of pointers: shape, strides, and the box that TMA copies.
    let mut args = match spec.boxes {
        None => vec![a.arg(), b.arg(), c.arg()],
        Some([of_a, of_b, of_c]) => vec![
            host.tensor_map(&a, [m, k], of_a)?,
            host.tensor_map(&b, [k, n], of_b)?,
            host.tensor_map(&c, [m, n], of_c)?,
        ],
    };
    args.extend([m.into(), n.into(), k.into()]);

    // A block for each tile; or persistent blocks, as many as are resident on all SMs, which take tile after tile.
    let config = LaunchConfig {
        grid: [spec.blocks(problem.padded, host.sms()), 1, 1],
        block: [spec.threads, 1, 1],
        dynamic_shared: spec.dynamic_shared,
        cluster: [spec.cluster, 1, 1],
        overlap: kernel.overlaps, // it waits itself for the launch before it (programmatic dependent launch)
    };
    host.launch(&kernel, config, args)?;
    host.verify(&problem, [a, b, c])
}
