//! CUDA's driver API over the emulator: a `libcuda.so.1` for machines without a GPU. README.md says how it is used.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `host` | how is the client's memory read and written? the only `unsafe` |
//! | `entry`, `proc_address` | how is a function exported, and how is it found? |
//! | `error`, `results`, `log` | what does a call answer, and what is said of it? |
//! | `state`, `table` | what does the driver know, and what is a handle? |
//! | `device`, `context` | which GPU, and who works on it? |
//! | `module`, `image`, `jit`, `link` | which kernels are there? |
//! | `memory`, `pool`, `copy` | where are bytes? |
//! | `stream`, `event`, `graph` | what happens in which order? |
//! | `launch`, `occupancy`, `tensor_map` | what does a kernel get? |
//! | `report` | what is printed of a launch? |
#![allow(unsafe_code)] // A C interface is unsafe by nature: it is confined to `host.rs`.
#![allow(missing_docs)] // Of C's functions NVIDIA's documentation is the reference.

mod context;
mod copy;
mod device;
mod entry;
mod error;
mod event;
mod graph;
mod host;
mod image;
mod jit;
mod launch;
mod link;
mod log;
mod memory;
mod module;
mod occupancy;
mod pool;
mod proc_address;
mod report;
mod results;
mod state;
mod stream;
mod table;
mod tensor_map;
#[cfg(test)]
mod tests;
