//! The small experiments that the book's text runs: `cargo run -p labs -- transpose`.
//!
//! Each is a folder with its kernels and their committed PTX, and a file in `experiments/` that defines the launches
//! and the expected output. Everything that rungs do too (PTX, counters beside the source, findings, provenance) is
//! in the harness.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `lab` | what is an experiment? |
//! | `experiments` | which experiments are there? |
//! | `arguments` | what does the command line say? |
//! | `expected` | is the output right? |
//! | `device` | how is a launch made, on the emulator or a GPU? |
//! | `against_cublas` | how fast is a matrix product compared with cuBLAS, in both regimes? |
//! | `time` | how fast are the variants, interleaved? |
//! | `report`, `json` | what does the reader see? |
mod against_cublas;
mod arguments;
mod device;
mod expected;
mod experiments;
mod json;
mod lab;
mod report;
mod run;
mod time;

pub use run::{command_line, main, main_with, names};
