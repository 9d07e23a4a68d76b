//! Runs PTX as an H100 would: the same bits, the same memory counters, and the faults that
//! compute-sanitizer would find. It knows PTX and hardware, and nothing of any kernel in particular.
//!
//! From text to counters:
//!
//! | step | where |
//! | --- | --- |
//! | text to statements | [`Module::parse`], `ptx/` |
//! | statements to typed operations, once | [`Program::new`], `lower/` |
//! | device memory | [`Memory`], `memory.rs` |
//! | operations over grid, blocks, warps | [`launch`], `exec/` |
//! | which GPU, and what it refuses | [`Card`], `card.rs` |
//! | what an access costs | [`shared_wavefronts`], [`global_sectors`], `banks.rs` |
//! | what a launch asks of each resource | [`Demand`], `demand.rs` |
//! | what is ordered before what | `order.rs` |
//! | races and uninitialised reads | `shadow/` |
//! | tiles that TMA moves | [`TensorMap`], `tensor_map.rs` |
//! | what was found wrong | [`Finding`], `finding.rs` |
//! | whether all of that is what hardware does | [`calibrate`], `calibrate/` |
mod banks;
pub mod calibrate;
mod card;
mod counters;
mod demand;
mod descriptor;
mod exec;
mod finding;
mod launch;
mod lower;
mod memory;
mod op;
mod order;
mod program;
mod ptx;
mod random;
mod roles;
mod shadow;
pub mod tensor;
mod tensor_map;

pub use banks::{LANES, SharedAccess, global_sectors, shared_wavefronts};
pub use card::Card;
pub use counters::{Asked, Counters, Wait, Wavefronts};
pub use demand::Demand;
pub use finding::{Access, Finding, Kind, Place, Space};
pub use launch::{Arg, Launch, LaunchError, Limits, Options, Run, Simd, launch};
pub use memory::{Memory, OutOfMemory};
pub use program::{Instruction, Param, Program, SourceLine};
pub use ptx::{Module, PtxError};
pub use tensor_map::{Element, Fill, Swizzle, TensorMap, TensorMapError};
