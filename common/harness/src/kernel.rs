//! PTX that is ready to launch: it holds a `gemm` with the right parameters, and says how it is launched.
use emulator::{Module, Program, PtxError};

use crate::source::Source;
use crate::{Error, Result, Rung, Size};

/// The name every kernel has.
pub const ENTRY: &str = "gemm";
/// The constant in which a kernel states its own launch.
const LAUNCH: &str = "gemm_launch";

/// What one block computes: `bm` x `bn` elements of C, `bk` of K at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Rows of C.
    pub bm: u32,
    /// Columns of C.
    pub bn: u32,
    /// What K is rounded up to.
    pub bk: u32,
}

/// A kernel with its launch.
#[derive(Debug)]
pub struct Kernel {
    /// Where its PTX comes from.
    pub source: Source,
    /// The PTX, lowered for the emulator, or why the emulator cannot run it: a GPU still may.
    pub lowered: std::result::Result<Program, PtxError>,
    /// What one block computes.
    pub tile: Tile,
    /// Threads of a block.
    pub threads: u32,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Blocks of a cluster.
    pub cluster: u32,
}

impl Kernel {
    /// Reads PTX and checks everything that can be checked before a launch.
    pub fn new(rung: &Rung, source: Source) -> Result<Self> {
        let file = source.file.clone();
        let module = Module::parse(&source.ptx).map_err(|error| Error::Ptx {
            file: file.clone(),
            error,
        })?;
        if !module.kernels().any(|name| name == ENTRY) {
            let has = module.kernels().map(str::to_owned).collect();
            return Err(Error::NoGemm { file, has });
        }
        let launch = launch(&module).map_err(|why| Error::NoLaunch {
            file: file.clone(),
            why,
        })?;
        let lowered = Program::new(&module, ENTRY);
        if let Ok(program) = &lowered {
            check_parameters(rung, &file, program)?;
        }
        check_launch(launch).map_err(|why| Error::BadLaunch { file, why })?;
        let [bm, bn, bk, threads, dynamic_shared, cluster] = launch.map(i32::unsigned_abs);
        Ok(Self {
            source,
            lowered,
            tile: Tile { bm, bn, bk },
            threads,
            dynamic_shared,
            cluster,
        })
    }

    /// The kernel as the emulator runs it.
    pub fn program(&self) -> Result<&Program> {
        self.lowered.as_ref().map_err(|error| Error::Ptx {
            file: self.source.file.clone(),
            error: error.clone(),
        })
    }

    /// The grid: one block for each tile of C, numbered along x. Which block takes which tile is the
    /// kernel's choice.
    pub fn grid(&self, padded: Size) -> [u32; 3] {
        [padded.m / self.tile.bm * (padded.n / self.tile.bn), 1, 1]
    }
}

/// The six numbers of `gemm_launch`.
fn launch(module: &Module) -> std::result::Result<[i32; 6], String> {
    let bytes = module
        .variable(LAUNCH)
        .ok_or(format!("it has no initialised constant `{LAUNCH}`"))?;
    if bytes.len() != 24 {
        return Err(format!(
            "its `{LAUNCH}` has {} bytes, expected 6 ints, which are 24 bytes",
            bytes.len()
        ));
    }
    let mut numbers = [0; 6];
    for (number, bytes) in numbers.iter_mut().zip(bytes.chunks_exact(4)) {
        *number = i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    Ok(numbers)
}

/// What the CUDA C++ Programming Guide allows on any GPU, with the 227 KiB of compute capability 9.0.
fn check_launch(launch: [i32; 6]) -> std::result::Result<(), String> {
    let [bm, bn, bk, threads, dynamic_shared, cluster] = launch;
    let within = |name: &str, value: i32, low: i32, high: i32| {
        if (low..=high).contains(&value) {
            Ok(())
        } else {
            Err(format!("{name} = {value}; it can be {low} to {high}"))
        }
    };
    within("BM", bm, 1, 65536)?;
    within("BN", bn, 1, 65536)?;
    within("BK", bk, 1, 65536)?;
    within("threads", threads, 1, 1024)?;
    within("dynamic shared bytes", dynamic_shared, 0, 227 * 1024)?;
    within("cluster", cluster, 1, 16)
}

/// A, B, C, M, N, K, and an `int` for each switch.
fn check_parameters(rung: &Rung, file: &str, program: &Program) -> Result<()> {
    let expected: Vec<u32> = [8, 8, 8, 4, 4, 4]
        .into_iter()
        .chain(rung.switches.iter().map(|_| 4))
        .collect();
    let found: Vec<u32> = program.params().iter().map(|param| param.bytes).collect();
    if found == expected {
        return Ok(());
    }
    let list = |sizes: &[u32]| {
        if sizes.is_empty() {
            return "no".to_owned();
        }
        sizes
            .iter()
            .map(u32::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let switches: String = rung
        .switches
        .iter()
        .map(|switch| format!(", int {}", switch.flag.replace('-', "_")))
        .collect();
    Err(Error::Parameters {
        file: file.to_owned(),
        found: list(&found),
        expected: format!(
            "{}: gemm(const unsigned short* A, const unsigned short* B, unsigned short* C, int M, int N, int K{switches})",
            list(&expected)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_that_no_gpu_allows_is_named() {
        let good = [128, 128, 8, 256, 0, 1];
        assert_eq!(check_launch(good), Ok(()));
        for (index, bad, word) in [
            (0, 0, "BM"),
            (1, -1, "BN"),
            (2, 0, "BK"),
            (3, 1025, "threads"),
            (4, 1 << 20, "shared"),
            (5, 0, "cluster"),
        ] {
            let mut launch = good;
            launch[index] = bad;
            assert!(
                check_launch(launch).is_err_and(|why| why.contains(word)),
                "{launch:?}"
            );
        }
    }
}
