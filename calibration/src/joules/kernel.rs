//! The kernel of `wgmma.cu`: its launch, its operands, and its expected result.
use anyhow::{Result, bail};
use emulator::Ptx;
use gpu::Nvrtc;
use half::f16;
use harness::{ptx_file, random_matrix};

/// The kernel's name.
pub const ENTRY: &str = "joules";
/// The constant in which it states its launch.
const LAUNCH: &str = "joules_launch";

const WARPGROUPS: usize = 2;
/// Elements of a warpgroup along M, along N, and along K.
const M: usize = 64;
const N: usize = 256;
const K: usize = 128;
/// Elements along K that are contiguous in shared memory.
const CORE_MATRIX_ROW: usize = 8;
/// Elements of A, of both warpgroups together.
const ALL_OF_A: usize = WARPGROUPS * M * K;

/// The launch that the kernel states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Threads of a block.
    pub threads: u32,
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Turns of the loop after which the sums restart at 0.
    pub turns_of_sum: u32,
    /// FLOP of a block in a turn.
    pub flop: u32,
}

/// The kernel's PTX, for sm_90a.
///
/// # Errors
/// If it does not compile.
pub fn compile(nvrtc: &Nvrtc) -> Result<String> {
    let source = include_str!("wgmma.cu");
    let options = ptx_file::options("sm_90a", "");
    Ok(harness::compile_text(
        nvrtc,
        source,
        "/joules/wgmma.cu",
        &options,
        "wgmma.cu",
    )?)
}

impl Launch {
    /// Reads the launch that this PTX states.
    ///
    /// # Errors
    /// If it states none.
    pub fn of(ptx: &str) -> Result<Self> {
        let words = Ptx::parse(ptx)?.variable(LAUNCH).unwrap_or_default();
        let (words, _) = words.as_chunks::<4>();
        let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let [threads, shared_bytes, turns_of_sum, flop] = words[..] else {
            bail!("wgmma.cu has no constant `{LAUNCH}` of 4 ints");
        };
        Ok(Self {
            threads,
            shared_bytes,
            turns_of_sum,
            flop,
        })
    }
}

/// The values of the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// 0.
    Zeros,
    /// 1.
    Ones,
    /// Roughly normal, like those of the rungs' problems.
    Normal,
}

impl Values {
    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zeros => "zeros",
            Self::Ones => "ones",
            Self::Normal => "normal",
        }
    }

    /// A matrix of these values; `which` distinguishes the matrices of a product.
    pub fn matrix(self, rows: u32, columns: u32, which: u64) -> Vec<f16> {
        let constant = |value| vec![value; rows as usize * columns as usize];
        match self {
            Self::Zeros => constant(f16::ZERO),
            Self::Ones => constant(f16::ONE),
            Self::Normal => random_matrix(0, which, rows, columns),
        }
    }

    /// The kernel's input: A of each warpgroup and B, in the order of shared memory.
    pub fn data(self) -> Vec<f16> {
        let a = self.matrix((WARPGROUPS * M) as u32, K as u32, 0);
        [a, self.matrix(N as u32, K as u32, 1)].concat()
    }
}

/// Checks the four sums that every thread of every block wrote to `check` after this many turns.
///
/// # Errors
/// Names the first sum that is wrong.
pub fn verify(data: &[f16], launch: &Launch, turns: u32, check: &[u8]) -> Result<()> {
    let (found, _) = check.as_chunks::<4>();
    let found: Vec<f32> = found.iter().map(|sum| f32::from_le_bytes(*sum)).collect();
    // The turns since the sums restarted at 0.
    let turns = f64::from((turns.max(1) - 1) % launch.turns_of_sum + 1);
    let expected: Vec<_> = (0..launch.threads as usize)
        .flat_map(|thread| SUMS.map(|sum| expected(data, thread, sum)))
        .collect();
    for (place, found) in found.iter().enumerate() {
        let [want, magnitude] = expected[place % expected.len()].map(|one| one * turns);
        // Tensor cores round each of at most 256 steps by less than 2^-21 of the largest sum.
        let bound = magnitude / 4096.0;
        let near = (f64::from(*found) - want).abs() <= bound; // NaN is not
        if !near {
            let (thread, sum) = (
                place / SUMS.len() % launch.threads as usize,
                place % SUMS.len(),
            );
            bail!(
                "sum {} of thread {thread} is {found} instead of {want}",
                SUMS[sum]
            );
        }
    }
    Ok(())
}

/// The ones of its 128 sums that a thread writes.
const SUMS: [usize; 4] = [0, 1, 126, 127];

/// A sum after one turn, and the same sum of magnitudes (PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16").
fn expected(data: &[f16], thread: usize, sum: usize) -> [f64; 2] {
    let (warpgroup, lane) = (thread / 128, thread % 128);
    let row = lane / 32 * 16 + lane % 32 / 4 + sum / 2 % 2 * 8;
    let column = sum / 4 * 8 + lane % 4 * 2 + sum % 2;
    let at = |rows: usize, row: usize, k: usize| {
        (k / CORE_MATRIX_ROW * rows + row) * CORE_MATRIX_ROW + k % CORE_MATRIX_ROW
    };
    let product = |k: usize| {
        let a = data[warpgroup * M * K + at(M, row, k)];
        let b = data[ALL_OF_A + at(N, column, k)];
        a.to_f64() * b.to_f64()
    };
    let all = (0..K).map(product);
    [all.clone().sum(), all.map(f64::abs).sum()]
}

#[cfg(test)]
mod tests {
    use emulator::{Demand, KernelArg, LaunchConfig, Options};
    use harness::to_bytes;

    use super::*;

    /// The kernel's four sums of each thread of each block, on the emulator.
    fn run(ptx: &str, launch: &Launch, data: &[f16], turns: u32) -> Vec<u8> {
        const BLOCKS: u32 = 2;
        let mut context = emulator::Context::new(Options {
            sanitize: true,
            ..Options::default()
        });
        let module = context.load_module(ptx).expect("PTX");
        let kernel = module.function(ENTRY).expect("a kernel");
        let data = context.upload("data", &to_bytes(data)).expect("it fits");
        let check = context.alloc("check", (BLOCKS * launch.threads * 16) as usize);
        let check = check.expect("it fits");
        let config = LaunchConfig {
            grid: [BLOCKS, 1, 1],
            block: [launch.threads, 1, 1],
            dynamic_shared: launch.shared_bytes,
            ..LaunchConfig::default()
        };
        let args = [
            KernelArg::Buffer(&data),
            KernelArg::Buffer(&check),
            KernelArg::U32(turns),
        ];
        let run = context.launch(&kernel, &config, &args).expect("a run");
        assert_eq!(run.findings, []);
        let demand = Demand::new(kernel.instructions(), &run.counters);
        let stated = u64::from(launch.flop) * u64::from(BLOCKS * turns);
        assert_eq!(demand.wgmma, stated);
        context.read(&check).expect("it was allocated above")
    }

    /// On the emulator.
    #[test]
    fn the_kernel_multiplies_what_it_was_given() {
        let Ok(nvrtc) = Nvrtc::find() else {
            assert!(std::env::var("GEMM_REQUIRE_NVRTC").is_err(), "no NVRTC");
            return;
        };
        let ptx = compile(&nvrtc).expect("it compiles");
        let launch = Launch::of(&ptx).expect("it states its launch");
        assert_eq!((launch.threads, launch.shared_bytes), (256, 96 << 10));
        // 2 turns after the sums restarted at 0; after 1 turn nothing would have been accumulated.
        let turns = launch.turns_of_sum + 2;
        for values in [Values::Zeros, Values::Ones, Values::Normal] {
            let data = values.data();
            assert_eq!(2 * data.len(), launch.shared_bytes as usize);
            let check = run(&ptx, &launch, &data, turns);
            verify(&data, &launch, turns, &check).expect("a right product");
        }
    }

    #[test]
    fn a_wrong_sum_is_found() {
        let launch = Launch {
            threads: 256,
            shared_bytes: 96 << 10,
            turns_of_sum: 32,
            flop: 1,
        };
        let data = Values::Ones.data();
        let sums = |value: f32| value.to_le_bytes().repeat(4 * 256);
        for (turns, value) in [(1, 128.0), (32, 4096.0), (33, 128.0), (6400, 4096.0)] {
            verify(&data, &launch, turns, &sums(value)).expect("a right product");
            for wrong in [0.0, value + 1.5, f32::NAN] {
                let mut check = sums(value);
                check[4 * 700..][..4].copy_from_slice(&wrong.to_le_bytes());
                let error = verify(&data, &launch, turns, &check).expect_err("one is wrong");
                assert!(
                    error.to_string().starts_with("sum 0 of thread 175 is "),
                    "{error}"
                );
            }
        }
    }
}
