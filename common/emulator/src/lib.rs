//! Runs PTX as an H100 would: the same bits, the same memory counters, and the faults that
//! compute-sanitizer would find. It models PTX and the hardware, and contains nothing about any
//! particular kernel.
//!
//! A program begins with a [`Context`], as with CUDA's driver API; README.md has a first program, and `examples/` has
//! more. From text to counters:
//!
//! | step | where |
//! | --- | --- |
//! | a GPU as in CUDA's driver API | [`Context`], `context/` |
//! | text to statements | [`Ptx::parse`], `ptx/` |
//! | statements to typed operations, once | [`Module::function`], `lower/` |
//! | device memory | `memory.rs` |
//! | operations over grid, blocks, warps | [`Context::launch`], `exec/` |
//! | which GPU, and what it refuses | [`Card`], `card.rs` |
//! | the cost of an access | [`shared_wavefronts`], [`global_sectors`], `banks.rs` |
//! | the demand of a launch on each resource | [`Demand`], `demand.rs` |
//! | the bits of approximate instructions | [`approximate`], `approximate/` |
//! | the bits of tensor cores | [`tensor`], `tensor/` |
//! | what each instruction does | [`InstructionKind`], `instruction_kind.rs` |
//! | the happens-before relation | `happens_before/` |
//! | races and uninitialized reads | `shadow/` |
//! | tiles moved by TMA | [`TensorMap`], `tensor_map.rs` |
//! | shared memory and registers at an instruction | [`Snapshot`], `snapshot.rs` |
//! | shared memory before each load, recorded and replayed | [`SharedRecording`], `shared_recording.rs` |
//! | what warps executed, in order | [`WarpTrace`], `trace.rs` |
//! | the factors of matrix products, and how early copies were issued | [`MatrixFactors`], [`CopyLead`], `observed.rs` |
//! | the mistakes that were found | [`Finding`], `finding/` |
pub mod approximate;
mod banks;
mod card;
mod context;
mod counters;
mod decimal;
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
mod shared_recording;
mod snapshot;
pub mod tensor;
mod tensor_map;
mod trace;
mod vector_clock;

pub use banks::{LANES, SharedAccess, global_sectors, shared_wavefronts};
pub use card::Card;
pub use context::{Buffer, Context, Error, Function, Module, SavedMemory, SharedVariable};
pub use counters::{AccessPattern, Counters, Wait, Wavefronts};
pub use decimal::parse_f64;
pub use demand::Demand;
pub use exec::MbarrierModel;
pub use finding::{
    AccessKind, Arrivals, Conflict, Finding, FindingKind, Location, MbarrierMisuse, MemoryAccess,
    Severity, Synchronization, UndefinedUse, WaitingThreads, WaitsAt, WgmmaOrder,
};
pub use instruction_kind::{
    Base, FactorFormat, Fence, InstructionKind, MatrixProduct, Number, Space, SumFormat, Transfer,
};
pub use launch::{
    BeforeLoad, KernelArg, LaunchConfig, LaunchReport, Limits, Options, Printed, Progress, Simd,
};
pub use lower::SHARED_BASE;
pub use observed::{CopyLead, MatrixFactors};
pub use program::{Callee, Instruction, Param, ParamKind, SourceLine};
pub use ptx::{Ptx, PtxError};
pub use shared_recording::SharedRecording;
pub use snapshot::{
    Landed, Operand, OperandSnapshot, SharedSnapshot, Snapshot, SnapshotRequest, StepSnapshot,
};
pub use tensor_map::{Element, Fill, Swizzle, TensorMap, TensorMapError};
pub use trace::{Effect, TraceEffect, TraceEvent, TraceLine, TraceRequest, WarpTrace};

/// The README's first program is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
