//! CUDA's driver API over the emulator: a `libcuda.so.1` for machines without a GPU. README.md says how it is used.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `host` | how is the client's memory read and written? |
//! | `nvrtc` | how does a program that asks NVRTC for machine code get PTX? |
//! | `entry`, `proc_address`, `refusals` | how is a function exported, how is it found, and which are refused? |
//! | `error`, `results`, `log` | what does a call answer, and what is said of it? |
//! | `state`, `table` | what does the driver know, and what is a handle? |
//! | `device`, `context` | which GPU, and who works on it? |
//! | `module`, `image`, `jit`, `link`, `merge` | which kernels are there? |
//! | `memory`, `host_memory`, `pool`, `pointer`, `copy` | where are bytes? |
//! | `stream`, `event`, `graph`, `graph_node`, `graph_memory` | what happens in which order? |
//! | `launch`, `occupancy`, `tensor_map` | what does a kernel get? |
//! | `report` | what is printed of a launch? |
#![allow(unsafe_code)] // A C interface is unsafe by nature: it is confined to `host.rs` and `nvrtc.rs`.
#![allow(missing_docs)] // Of C's functions NVIDIA's documentation is the reference.

mod context;
mod copy;
mod device;
mod entry;
mod error;
mod event;
mod graph;
mod graph_memory;
mod graph_node;
mod host;
mod host_memory;
mod image;
mod jit;
mod launch;
mod link;
mod log;
mod memory;
mod merge;
mod module;
#[cfg(target_os = "linux")]
mod nvrtc;
mod occupancy;
mod pointer;
mod pool;
mod proc_address;
mod refusals;
mod report;
mod results;
mod state;
mod stream;
mod table;
mod tensor_map;
#[cfg(test)]
mod tests;
