//! What a rung's `main.rs` calls: it takes the arguments, finds a device and the kernel's PTX, sets up
//! the problem, launches, verifies, times and reports.
//!
//! A map, in the order in which a run passes through:
//!
//! | file | what it answers |
//! | --- | --- |
//! | `rung` | what is a rung? |
//! | `arguments` | what did the reader ask for? |
//! | `device` | emulator or GPU? |
//! | `source` | where does the PTX come from: NVRTC, the committed file, a file of the reader's? |
//! | `compile` | who compiles? |
//! | `ptx_file` | what does a committed `kernel.ptx` look like, and is it current? |
//! | `kernel` | does the PTX hold a `gemm` that can be launched, and how is it launched? |
//! | `choice` | which of its tiles is taken at which size? |
//! | `size`, `problem` | which numbers are multiplied? |
//! | `run` | one run: launch, verify, report |
//! | `trial` | somebody else's kernel, launch after launch, nothing printed |
//! | `on_disk` | which kernels lie in a rung's folder? |
//! | `on_emulator`, `on_gpu` | how is it launched there? |
//! | `verify`, `reference` | is C right? |
//! | `bench`, `occupancy`, `provenance` | how fast is it, and what do the numbers belong to? |
//! | `experiment` | what does a GPU make of the kernels that the emulator is compared with? |
//! | `ceilings`, `bound` | what limits it, and how fast could it be at most? |
//! | `accesses` | what did each instruction ask the memory for? |
//! | `lines` | what did each line of `kernel.cu` do to the memory? |
//! | `waits` | who waited for whom in a pipeline? |
//! | `report`, `profile`, `sanitize`, `json`, `table`, `progress` | how does the reader see it? |
//! | `error` | what went wrong, and what to do about it |
mod accesses;
mod arguments;
mod bench;
mod bound;
pub mod ceilings;
mod choice;
mod compile;
mod device;
mod error;
mod experiment;
mod json;
mod kernel;
mod launch;
pub mod lines;
mod occupancy;
mod on_disk;
mod on_emulator;
mod on_gpu;
mod problem;
mod profile;
mod progress;
mod provenance;
pub mod ptx_file;
mod reference;
mod report;
mod run;
mod rung;
mod sanitize;
mod size;
mod source;
pub mod table;
mod trial;
mod verify;
mod waits;

pub use accesses::operation;
pub use arguments::{Bytes, Device as WantedDevice};
pub use bench::{Contest, SIZES};
pub use compile::Compile;
pub use error::{Error, Result};
pub use experiment::Laboratory;
pub use gpu::Nvrtc;
pub use json::{lines as counted_lines, pretty};
pub(crate) use kernel::Kernel;
pub use launch::{TensorBox, Tile};
pub use on_disk::KernelOnDisk;
pub use on_gpu::load;
pub use problem::{Problem, hex, random_matrix, to_bytes};
pub use profile::source_lines;
pub use provenance::{OnGpu, Provenance};
pub use report::print;
pub use run::{main, rehearse};
pub use rung::{KernelFile, Rung, Switch};
pub use sanitize::text as findings;
pub use size::Size;
pub use source::{Origin, Source};
pub use table::thousands;
pub use trial::{Launched, Task, Trial};
pub use verify::{Verification, Wrong, verify};
