//! The compiler: NVRTC in this process, or any other that implements [`Compile`], such as a sandboxed one.
use gpu::{GpuError, Nvrtc};

use crate::{Error, Result};

/// A compiler from CUDA C++ to PTX.
pub trait Compile: Send + Sync {
    /// The PTX of `source`. `name` is the file in messages and line information; make it absolute.
    ///
    /// # Errors
    /// [`Error::Compile`], with the compiler's messages, if the source is at fault; any other if the compiler is.
    fn compile(&self, source: &str, name: &str, options: &[String]) -> Result<String>;

    /// The CUDA version of the compiler, such as (13, 0).
    fn version(&self) -> (u32, u32);
}

/// In this process. An `#include` may name any file that the process can read, and time and memory are unbounded: for
/// trusted sources only.
impl Compile for Nvrtc {
    fn compile(&self, source: &str, name: &str, options: &[String]) -> Result<String> {
        match Self::compile(self, source, name, options) {
            Ok(compiled) => Ok(compiled.ptx),
            Err(GpuError::Compile { log }) => Err(Error::Compile {
                file: name.into(),
                log,
            }),
            // A source may contain a NUL byte; the options and names here never do.
            Err(error @ GpuError::Nul { .. }) => Err(Error::Compile {
                file: name.into(),
                log: error.to_string(),
            }),
            Err(error) => Err(error.into()),
        }
    }

    fn version(&self) -> (u32, u32) {
        Self::version(self)
    }
}
