//! Small kernels whose results are recorded on hardware: the same PTX runs here, and must give the same.
//!
//! | file | recording | what it holds |
//! | --- | --- | --- |
//! | `wgmma_layout` | `wgmma_layout.csv` | which byte of shared memory each element of an operand comes from |
pub mod wgmma_layout;

/// One launch of a probe: one block, whose first parameter is the address of its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The module; its kernel is called `probe`.
    pub ptx: String,
    /// Threads of the block.
    pub threads: u32,
    /// Dynamic shared memory, in bytes.
    pub dynamic_shared: u32,
    /// 32-bit words of the output.
    pub words: usize,
    /// The parameters after the output's address, each of 8 bytes.
    pub arguments: Vec<u64>,
}

/// Why a probe's output cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unexpected(pub String);
