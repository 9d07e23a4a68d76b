//! How long does a card's clock take to settle? cuBLAS multiplies 8192x8192 matrices: 250 times random numbers, then
//! 250 times zeros, which need less power, and so on. Prints each launch's SM clock and the milliseconds since its 250
//! began: `cargo run --release -p gpu --example settle`.
use gpu::{Contestant, Context, Cublas, Elements, GpuError, Timing, alternate};
use half::f16;

const N: usize = 8192;
/// Consecutive launches with the same numbers.
const TURN: usize = 250;
const ROUNDS: usize = 3;

fn main() -> Result<(), GpuError> {
    let gpu = Context::open(0)?;
    let operands = [
        gpu.upload("random", &random())?,
        gpu.alloc("zeros", N * N * 2)?,
    ];
    gpu.fill(&operands[1], 0)?;
    let c = gpu.alloc("C", N * N * 2)?;
    let cublas = Cublas::new(&gpu)?;
    let launch = |which: usize| {
        let operand = &operands[which / TURN];
        let (cublas, c) = (&cublas, &c);
        Contestant {
            name: String::new(),
            enqueue: Box::new(move |_| cublas.gemm(Elements::F16, [operand, operand, c], [N; 3])),
        }
    };
    let launches: Vec<_> = (0..2 * TURN).map(launch).collect();
    let timing = Timing {
        rounds: ROUNDS,
        warmup: 0,
        launches_per_sample: 1,
        ..Timing::default()
    };
    let samples = alternate(&gpu, &launches, &timing)?;
    for round in 0..ROUNDS {
        for turn in samples.chunks(TURN) {
            let mut ms = 0.0;
            // Every other round runs in reverse order.
            let backwards = round % 2 == 0;
            for place in 0..TURN {
                let one = &turn[if backwards { TURN - 1 - place } else { place }];
                ms += one.milliseconds[round];
                if place < 10 || place % 10 == 0 {
                    let mhz = one.mhz.get(round).copied().unwrap_or(f64::NAN);
                    println!("round {round}, {ms:6.1} ms: {mhz:.0} MHz");
                }
            }
        }
    }
    Ok(())
}

/// Sums of four uniform deviates, from -2 to 2: nearly normal.
fn random() -> Vec<u8> {
    let mut state = 1u32;
    let mut uniform = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 24) as f32 - 0.5
    };
    let sums = (0..N * N).map(|_| (0..4).map(|_| uniform()).sum::<f32>());
    sums.flat_map(|sum| f16::from_f32(sum).to_le_bytes())
        .collect()
}
