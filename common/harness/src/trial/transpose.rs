//! Rows to columns: the one assignment that multiplies nothing.
use emulator::{Arg, Launch, LaunchError, Limits, Memory, Module, Program};
use half::f16;

use super::{Launched, MEMORY};
use crate::launch::{Unstated, ints, within};
use crate::problem::{from_bytes, poison, to_bytes};
use crate::{Error, Problem, Result, Size, Source, Tile, Verification};

const ENTRY: &str = "transpose";
const LAUNCH: &str = "transpose_launch";

/// Pointers and ints.
const PARAMETERS: [u32; 4] = [8, 8, 4, 4];

/// Warp instructions for each element: a thread that moves one of them takes fewer than 40, so a warp takes little
/// more than one.
const ENOUGH: u64 = 64;

pub(super) struct Transpose {
    source: Source,
    program: Program,
    /// As the kernel states them: rows and columns of a tile, threads, dynamic bytes of shared memory.
    stated: [u32; 4],
}

impl Transpose {
    pub fn new(source: Source) -> Result<Self> {
        let file = source.file.clone();
        let ptx = |error| Error::Ptx {
            file: file.clone(),
            error,
        };
        let module = Module::parse(&source.ptx).map_err(ptx)?;
        if !module.kernels().any(|name| name == ENTRY) {
            return Err(Error::NoEntry {
                file,
                wanted: ENTRY,
                has: module.kernels().map(str::to_owned).collect(),
            });
        }
        let stated = stated(&module).map_err(|why| Error::BadLaunch {
            file: file.clone(),
            why,
        })?;
        let program = Program::new(&module, ENTRY).map_err(ptx)?;
        let found: Vec<u32> = program.params().iter().map(|param| param.bytes).collect();
        if found != PARAMETERS {
            return Err(Error::Parameters {
                file,
                entry: ENTRY,
                found: format!("{found:?}"),
                expected: format!(
                    "{PARAMETERS:?}: transpose(const unsigned short* in, unsigned short* out, int rows, int cols)"
                ),
            });
        }
        Ok(Self {
            source,
            program,
            stated,
        })
    }
}

fn stated(module: &Module) -> std::result::Result<[u32; 4], String> {
    let numbers = ints(module, LAUNCH)
        .map_err(|(Unstated::Missing(why) | Unstated::Bad(why))| why)?
        .ok_or_else(|| format!("{LAUNCH}: there is no such initialised constant"))?;
    let &[rows, columns, threads, dynamic] = &numbers[..] else {
        return Err(format!(
            "{LAUNCH}: it has {} ints, expected 4",
            numbers.len()
        ));
    };
    within("rows of a tile", rows, 1, 65536)?;
    within("columns of a tile", columns, 1, 65536)?;
    within("threads", threads, 1, 1024)?;
    within("dynamic shared bytes", dynamic, 0, 227 * 1024)?;
    Ok([rows, columns, threads, dynamic].map(i32::unsigned_abs))
}

impl super::Kernel for Transpose {
    fn tile(&self) -> Tile {
        let [bm, bn, ..] = self.stated;
        Tile { bm, bn, bk: 1 }
    }

    fn threads(&self) -> u32 {
        self.stated[2]
    }

    fn dynamic_shared(&self) -> u32 {
        self.stated[3]
    }

    fn source(&self) -> &Source {
        &self.source
    }

    fn program(&self) -> Result<&Program> {
        Ok(&self.program)
    }

    fn launch(&self, size: Size, seed: u64, schedule: u64) -> Result<Launched> {
        // As A, with k as long as n: the problem's own A, and nothing of its B.
        let [rows, columns, threads, dynamic_shared] = self.stated;
        let tile = Tile {
            bm: rows,
            bn: 1,
            bk: columns,
        };
        let problem = Problem::new(
            Size {
                m: size.m,
                n: 1,
                k: size.n,
            },
            tile,
            seed,
        )?;
        let Size { m, k: n, .. } = problem.padded;
        let mut memory = Memory::new(MEMORY);
        let mut alloc = |name, values: &[f16]| {
            memory
                .alloc(name, to_bytes(values))
                .map_err(|error| Error::Memory {
                    wanted: error.wanted,
                    limit: error.limit,
                })
        };
        let input = alloc("in", &problem.a)?;
        let poison = poison(m as usize * n as usize);
        let output = alloc("out", &poison)?;
        let tiles = u64::from(m / rows) * u64::from(n / columns);
        let too_many = |_| Error::Launch(LaunchError::Invalid(format!("{tiles} blocks")));
        let launch = Launch {
            grid: [u32::try_from(tiles).map_err(too_many)?, 1, 1],
            block: [threads, 1, 1],
            dynamic_shared,
            cluster: [1; 3],
            args: vec![Arg::U64(input), Arg::U64(output), Arg::U32(m), Arg::U32(n)],
        };
        let limits = Limits {
            instructions: (u64::from(m) * u64::from(n) * ENOUGH).max(1 << 20),
            memory: MEMORY,
            ..Limits::default()
        };
        let options = super::options(schedule, limits);
        let run = emulator::launch(&self.program, &mut memory, &launch, &options)?;
        let found = memory.bytes(output).map(from_bytes).unwrap_or_default();
        Ok(Launched {
            verification: verify(&problem, &found),
            run,
        })
    }
}

/// Every element, bit by bit: nothing is computed.
fn verify(problem: &Problem, found: &[f16]) -> Verification {
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
