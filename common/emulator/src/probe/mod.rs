//! Small kernels whose results are recorded on hardware: the same PTX runs here, and must give the same.
//!
//! | file | recording | what it holds |
//! | --- | --- | --- |
//! | `wgmma_layout` | `wgmma_layout.csv` | which byte of shared memory each element of an operand comes from |
pub mod wgmma_layout;

/// A launch of the kernel `k` of one block, which takes the addresses of its input and of its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The module.
    pub ptx: String,
    /// Threads of the block.
    pub threads: u32,
    /// Dynamic shared memory, in bytes.
    pub dynamic_shared: u32,
    /// The input's bytes.
    pub input: Vec<u8>,
    /// Bytes of the output.
    pub output_bytes: usize,
}

/// Why a probe's output cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unexpected(pub String);
