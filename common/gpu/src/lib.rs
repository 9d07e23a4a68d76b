//! The only crate that talks to CUDA: NVRTC, the driver, events, cuBLAS.
//!
//! It builds with no CUDA on the machine and loads every library at run time. Whatever is missing is
//! a [`GpuError`] that names the remedy; nothing here panics.
//!
//! | file | idea |
//! | --- | --- |
//! | `nvrtc`, `headers` | CUDA C++ in, PTX out; with CUDA's headers in memory, no file is opened |
//! | `stand_ins` | what device code needs of a host's headers |
//! | `device` | which GPUs there are; a [`Context`] is one of them, with a stream |
//! | `memory`, `tensor` | bytes on the device; the map by which TMA reads them |
//! | `module`, `launch`, `params` | PTX in, kernels and variables out; a launch, with arguments checked against the PTX |
//! | `cublas`, `cublaslt` | the opponents |
//! | `timing`, `graph` | who is faster: events, graphs, and alternation |
//! | `kernel_names` | which kernels a library launches |
//! | `clock` | how fast the SMs' clock was meanwhile, counted by the SMs |
//! | `provenance` | clocks, power and temperature while it ran |
//! | `driver`, `primary` | what every call to the driver needs |
//! | `dynamic`, `search` | loading a library, and finding it |
#![allow(unsafe_code)] // A C interface is unsafe by nature: it is confined to this crate.

mod clock;
mod cublas;
mod cublaslt;
mod device;
mod driver;
mod dynamic;
mod error;
mod graph;
mod headers;
mod kernel_names;
mod launch;
mod memory;
mod module;
mod nvrtc;
mod params;
mod primary;
mod provenance;
mod search;
mod stand_ins;
mod statistics;
mod tensor;
mod timing;

pub use cublas::{Cublas, Elements};
pub use cublaslt::CublasLt;
pub use device::{Context, DeviceInfo, devices};
pub use error::GpuError;
pub use kernel_names::kernels_of;
pub use launch::{KernelArg, LaunchConfig};
pub use memory::Buffer;
pub use module::{Function, Module};
pub use nvrtc::{Compiled, Nvrtc, TranslationUnit};
pub use provenance::{Range, Telemetry, driver_version};
pub use tensor::{Element, Fill, Swizzle, TensorMap};
pub use timing::{Contestant, Samples, Timing, alternate};
