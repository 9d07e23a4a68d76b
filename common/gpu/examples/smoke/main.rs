//! Exercises every part of this crate that needs a GPU. Prints a line for each step; exits with 1 if any step failed.
//!
//! `cargo run -p gpu --example smoke`
mod compiling;
mod cublas;
mod errors;
mod launches;
mod timing;
mod tma;

use std::error::Error;
use std::process::ExitCode;

use gpu::Context;

type Outcome = Result<String, Box<dyn Error>>;
type Step = fn(&Context) -> Outcome;

fn main() -> ExitCode {
    let gpu = match gpu::devices().and_then(|_| Context::open(0)) {
        Ok(gpu) => gpu,
        Err(error) => {
            println!("FAILED open: {error}");
            return ExitCode::FAILURE;
        }
    };
    println!("{:?}, driver {:?}", gpu.info(), gpu::driver_version());
    let steps: [(&str, Step); 14] = [
        ("memory", launches::memory),
        ("kernel", launches::kernel),
        ("dynamic shared memory", launches::dynamic_shared),
        ("cluster", launches::cluster),
        ("tensor map", tma::tensor_map),
        ("NVRTC", compiling::nvrtc),
        ("errors", errors::errors),
        ("cuBLAS f16", cublas::cublas_f16),
        ("cuBLAS f16 to f32", cublas::cublas_f16_to_f32),
        ("cuBLAS f32", cublas::cublas_f32),
        ("cuBLASLt", cublas::cublaslt),
        ("cuBLAS bf16 TN", cublas::cublas_bf16_tn),
        ("alternate", timing::alternation),
        ("telemetry", timing::telemetry),
    ];
    let mut failed = false;
    for (name, step) in steps {
        match step(&gpu) {
            Ok(detail) => println!("OK {name}: {detail}"),
            Err(error) => {
                println!("FAILED {name}: {error}");
                failed = true;
            }
        }
    }
    if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// An error unless `truth` holds.
fn ensure(truth: bool, what: impl Into<String>) -> Result<(), Box<dyn Error>> {
    if truth {
        Ok(())
    } else {
        Err(what.into().into())
    }
}
