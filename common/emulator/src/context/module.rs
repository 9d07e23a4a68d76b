//! Loaded modules, their kernels, and handles of device memory.
use std::sync::Arc;

use super::Error;
use crate::lower::{self, SHARED_BASE};
use crate::memory::Region;
use crate::program::{Instruction, Param, Program};
use crate::ptx::Ptx;

/// A number that no two contexts of a process share.
pub(super) type ContextId = u64;
/// A number that no two modules of a context share.
pub(super) type ModuleId = u64;

/// Device memory: what [`crate::Context::alloc`] returned, or a variable of a module.
///
/// It is a handle, like CUDA's `CUdeviceptr`: copying it does not copy the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    pub(super) context: ContextId,
    pub(super) address: u64,
    pub(super) bytes: usize,
    pub(super) owner: Owner,
}

/// What frees a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The host, or the next reset of the context.
    Host {
        /// Resets of the context before the buffer was allocated.
        generation: u64,
    },
    /// A module.
    Module,
}

impl Buffer {
    /// The device address of its first byte, as a kernel's pointer holds it. As on a GPU, a `__constant__` variable
    /// has a second address in the constant bank, which kernels of its module use.
    pub fn address(&self) -> u64 {
        self.address
    }
    /// Size in bytes.
    pub fn len(&self) -> usize {
        self.bytes
    }
    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }
}

/// PTX that was loaded into a context: a `CUmodule`. It is a handle; copies are the same module.
#[derive(Clone, Debug)]
pub struct Module {
    pub(super) context: ContextId,
    pub(super) id: ModuleId,
    pub(super) ptx: Ptx,
    pub(super) variables: Arc<[(String, Buffer)]>,
}

impl Module {
    /// The kernel of this name, ready to be launched (`cuModuleGetFunction`).
    ///
    /// # Errors
    /// If there is no such kernel, or it holds an instruction that the emulator does not execute; the message
    /// quotes it.
    pub fn function(&self, name: &str) -> Result<Function, Error> {
        Ok(Function {
            context: self.context,
            module: self.id,
            name: name.into(),
            program: Arc::new(lower::kernel(&self.ptx, name)?),
        })
    }
    /// Names of the kernels, in the order of the text.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        self.ptx.kernels()
    }
    /// The `__device__` or `__constant__` variable of this name (`cuModuleGetGlobal`).
    ///
    /// # Errors
    /// If there is no such variable.
    pub fn global(&self, name: &str) -> Result<Buffer, Error> {
        let found = self.variables.iter().rfind(|(known, _)| known == name);
        found
            .map(|&(_, buffer)| buffer)
            .ok_or_else(|| Error::NoVariable { name: name.into() })
    }
    /// Bytes of its `__constant__` variables.
    pub fn constant_bytes(&self) -> u64 {
        let all = self.variables.iter().map(|(_, buffer)| buffer);
        let constants = all.filter(|buffer| Region::Constants.holds(buffer.address));
        constants.map(|buffer| buffer.bytes as u64).sum()
    }
    /// The text that was loaded.
    pub fn ptx(&self) -> &Ptx {
        &self.ptx
    }
    /// The `.target`, such as `sm_90a`.
    pub fn target(&self) -> &str {
        self.ptx.target()
    }
}

/// A kernel of a loaded module: a `CUfunction`. It is a handle, cheap to copy.
#[derive(Clone, Debug)]
pub struct Function {
    pub(super) context: ContextId,
    pub(super) module: ModuleId,
    name: Arc<str>,
    pub(super) program: Arc<Program>,
}

/// A variable in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedVariable<'a> {
    /// The name in the source.
    pub name: &'a str,
    /// Its address in the shared-memory window.
    pub address: u32,
    /// Its offset from the first byte that a kernel can use.
    pub start: u32,
    /// `None` for dynamic shared memory, whose size the launch sets.
    pub bytes: Option<u32>,
}

impl Function {
    /// Its name in the PTX.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Its PTX instructions, in the order of the text; the instructions of inlined functions replace the calls.
    pub fn instructions(&self) -> &[Instruction] {
        &self.program.instructions
    }
    /// Its parameters, in order.
    pub fn params(&self) -> &[Param] {
        &self.program.params
    }
    /// Static shared memory of a block, in bytes.
    pub fn static_shared(&self) -> u32 {
        self.program.static_shared
    }
    /// The most threads of a block that it is compiled for, if declared (`.maxntid` or `.reqntid`).
    pub fn max_threads(&self) -> Option<u64> {
        let sides = self.program.max_threads?;
        Some(sides.map(u64::from).iter().product())
    }
    /// The cluster size that it is compiled for, if declared (`.reqnctapercluster`).
    pub fn cluster(&self) -> Option<[u32; 3]> {
        self.program.cluster
    }
    /// Bytes of local memory per thread that the PTX declares; spilled registers are not counted.
    pub fn local_bytes(&self) -> u32 {
        self.program.local_bytes
    }
    /// Variables in shared memory, by their addresses.
    pub fn shared_variables(&self) -> impl Iterator<Item = SharedVariable<'_>> {
        let all = self.program.symbols.iter();
        all.map(|symbol| SharedVariable {
            name: &symbol.name,
            address: symbol.start,
            start: symbol.start - SHARED_BASE,
            bytes: symbol.bytes,
        })
    }
    /// Where the results may differ from a GPU's in some bits, such as f32 rounding that PTX leaves to ptxas.
    pub fn warnings(&self) -> &[String] {
        &self.program.warnings
    }
}
