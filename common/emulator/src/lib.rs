//! Runs PTX as an H100 would: the same bits, the same memory counters, and the faults that
//! compute-sanitizer would find. It knows PTX and hardware, and nothing of any kernel in particular.
//!
//! A program begins with a [`Context`], as one on CUDA's driver API does; README.md has a first one, and `examples/` has
//! more. From text to counters:
//!
//! | step | where |
//! | --- | --- |
//! | a GPU as CUDA's driver API sees it | [`Context`], `context/` |
//! | text to statements | [`Ptx::parse`], `ptx/` |
//! | statements to typed operations, once | [`Module::function`], `lower/` |
//! | device memory | `memory.rs` |
//! | operations over grid, blocks, warps | [`Context::launch`], `exec/` |
//! | which GPU, and what it refuses | [`Card`], `card.rs` |
//! | what an access costs | [`shared_wavefronts`], [`global_sectors`], `banks.rs` |
//! | what a launch asks of each resource | [`Demand`], `demand.rs` |
//! | the bits of approximate instructions | [`approximate`], `approximate/` |
//! | those of tensor cores | [`tensor`], `tensor/` |
//! | what each instruction does | [`InstructionKind`], `instruction_kind.rs` |
//! | what happens before what | `happens_before.rs` |
//! | races and uninitialised reads | `shadow/` |
//! | tiles that TMA moves | [`TensorMap`], `tensor_map.rs` |
//! | shared memory and registers at an instruction | [`Snapshot`], `snapshot.rs` |
//! | what warps executed, in order | [`WarpTrace`], `trace.rs` |
//! | what matrix products multiplied, and how early copies were issued | [`MatrixFactors`], [`CopyLead`], `observed.rs` |
//! | what was found wrong | [`Finding`], `finding.rs` |
pub mod approximate;
mod banks;
mod card;
mod context;
mod counters;
mod def_use;
mod demand;
mod descriptor;
mod exec;
mod finding;
mod happens_before;
mod instruction_kind;
mod launch;
mod lower;
mod memory;
mod observed;
mod op;
mod printf;
mod program;
mod ptx;
mod random;
mod shadow;
mod snapshot;
pub mod tensor;
mod tensor_map;
mod trace;
mod vector_clock;

pub use banks::{LANES, SharedAccess, global_sectors, shared_wavefronts};
pub use card::Card;
pub use context::{Buffer, Context, Error, Function, Module, SavedMemory, SharedVariable};
pub use counters::{AccessPattern, Counters, Wait, Wavefronts};
pub use demand::Demand;
pub use exec::MbarrierModel;
pub use finding::{
    AccessKind, Conflict, Finding, FindingKind, Location, MemoryAccess, Severity, Synchronization,
    UndefinedUse,
};
pub use instruction_kind::{
    Base, FactorFormat, Fence, InstructionKind, MatrixProduct, Number, Space, SumFormat, Transfer,
};
pub use launch::{KernelArg, LaunchConfig, LaunchReport, Limits, Options, Printed, Progress, Simd};
pub use lower::SHARED_BASE;
pub use observed::{CopyLead, MatrixFactors};
pub use program::{Instruction, Param, ParamKind, SourceLine};
pub use ptx::{Ptx, PtxError};
pub use snapshot::{
    Landed, Operand, OperandSnapshot, SharedSnapshot, Snapshot, SnapshotRequest, StepSnapshot,
};
pub use tensor_map::{Element, Fill, Swizzle, TensorMap, TensorMapError};
pub use trace::{Effect, TraceEffect, TraceEvent, TraceLine, TraceRequest, WarpTrace};

/// The README's first program is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
