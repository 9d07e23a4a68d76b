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
//! | `on_emulator`, `on_gpu` | how is a launch made there? |
//! | `time` | how fast are the variants, beside each other? |
//! | `report`, `json` | how does the reader see it? |
mod arguments;
mod expected;
mod experiments;
mod json;
mod lab;
mod on_emulator;
mod on_gpu;
mod report;
mod run;
mod time;

pub use run::{main, names, rehearse};
