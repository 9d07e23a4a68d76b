//! The only crate that talks to CUDA: NVRTC, the driver, events, cuBLAS.
//!
//! It builds without CUDA on the machine and loads every library at run time. A missing library is a [`GpuError`] that
//! names the remedy; nothing here panics.
//!
//! | file | idea |
//! | --- | --- |
//! | `nvrtc`, `headers` | CUDA C++ in, PTX out; CUDA's headers can be kept in memory, so no file is opened |
//! | `stand_ins` | the parts of host headers that device code needs |
//! | `device` | the GPUs; a [`Context`] is an open one, with a stream |
//! | `memory`, `tensor` | bytes on the device; the map by which TMA reads them |
//! | `module`, `launch`, `params` | PTX in, kernels and variables out; a launch, with arguments checked against the PTX |
//! | `cublas`, `cublaslt` | the baselines |
//! | `external_gemm` | a third-party GEMM from a shared library |
//! | `timing`, `graph` | which kernel is faster: events, graphs, interleaved samples |
//! | `kernel_names` | the names of a library's kernels |
//! | `clock` | the SM clock during a measurement, counted by the SMs |
//! | `provenance` | clocks, power and temperature during a measurement |
//! | `driver`, `primary` | what every call to the driver needs |
//! | `dynamic`, `search` | loading a library, and finding it |
//! | `plain` | values without a driver |
//! | `absent` | the same API for WebAssembly, where there is no GPU |
#![allow(unsafe_code)] // A C interface is unsafe by nature: it is confined to this crate.

mod error;
mod plain;
mod statistics;

#[cfg(target_family = "wasm")]
mod absent;
#[cfg(target_family = "wasm")]
pub use absent::*;

#[cfg(not(target_family = "wasm"))]
mod clock;
#[cfg(not(target_family = "wasm"))]
mod cublas;
#[cfg(not(target_family = "wasm"))]
mod cublaslt;
#[cfg(not(target_family = "wasm"))]
mod device;
#[cfg(not(target_family = "wasm"))]
mod driver;
#[cfg(not(target_family = "wasm"))]
mod dynamic;
#[cfg(not(target_family = "wasm"))]
mod external_gemm;
#[cfg(not(target_family = "wasm"))]
mod graph;
#[cfg(not(target_family = "wasm"))]
mod headers;
#[cfg(not(target_family = "wasm"))]
mod kernel_names;
#[cfg(not(target_family = "wasm"))]
mod launch;
#[cfg(not(target_family = "wasm"))]
mod memory;
#[cfg(not(target_family = "wasm"))]
mod module;
#[cfg(not(target_family = "wasm"))]
mod nvrtc;
#[cfg(not(target_family = "wasm"))]
mod params;
#[cfg(not(target_family = "wasm"))]
mod primary;
#[cfg(not(target_family = "wasm"))]
mod provenance;
#[cfg(not(target_family = "wasm"))]
mod search;
#[cfg(not(target_family = "wasm"))]
mod stand_ins;
#[cfg(not(target_family = "wasm"))]
mod tensor;
#[cfg(not(target_family = "wasm"))]
mod timing;

#[cfg(not(target_family = "wasm"))]
pub use cublas::Cublas;
#[cfg(not(target_family = "wasm"))]
pub use cublaslt::CublasLt;
#[cfg(not(target_family = "wasm"))]
pub use device::{Context, devices};
pub use error::GpuError;
#[cfg(not(target_family = "wasm"))]
pub use external_gemm::ExternalGemm;
#[cfg(not(target_family = "wasm"))]
pub use kernel_names::kernels_of;
#[cfg(not(target_family = "wasm"))]
pub use memory::Buffer;
#[cfg(not(target_family = "wasm"))]
pub use module::{Function, Module};
#[cfg(not(target_family = "wasm"))]
pub use nvrtc::Nvrtc;
pub use plain::{
    Compiled, Contestant, DeviceInfo, Element, Elements, Fill, KernelArg, LaunchConfig, Range,
    Samples, Swizzle, Telemetry, TensorMap, Timing, TranslationUnit,
};
#[cfg(not(target_family = "wasm"))]
pub use provenance::driver_version;
#[cfg(not(target_family = "wasm"))]
pub use timing::alternate;
