//! The small experiments that the book's text runs: `cargo run -p labs -- transpose`.
//!
//! Each is a folder with its kernels and the PTX that was committed for them, and a file in `experiments/` that says
//! with what they are launched and what must come out. Whatever a rung does too (PTX, counters beside the source,
//! findings, provenance) is the harness's.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `lab` | what is an experiment? |
//! | `experiments` | which are there? |
//! | `arguments` | what did the reader ask for? |
//! | `expected` | is the output right? |
//! | `device` | how is a launch made, on the emulator or a GPU? |
//! | `against_cublas` | how fast is a matrix product beside cuBLAS, in both regimes? |
//! | `time` | how fast are the variants, beside each other? |
//! | `report`, `json` | how does the reader see it? |
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
