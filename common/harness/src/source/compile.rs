//! Who compiles: NVRTC in this process, or somebody to whom the text is handed.
use gpu::{GpuError, Nvrtc};

use crate::{Error, Result};

/// A compiler from CUDA C++ to PTX.
pub trait Compile: Send + Sync {
    /// The PTX of `source`. `name` is what messages and line information call it; make it absolute.
    ///
    /// # Errors
    /// [`Error::Compile`], with the compiler's messages, if the source is at fault; any other if the compiler is.
    fn compile(&self, source: &str, name: &str, options: &[String]) -> Result<String>;

    /// The CUDA version that the compiler belongs to, such as (13, 0).
    fn version(&self) -> (u32, u32);
}

/// In this process. An `#include` may name any file that the process can read, and nothing bounds time and memory: for
/// sources that are trusted.
impl Compile for Nvrtc {
    fn compile(&self, source: &str, name: &str, options: &[String]) -> Result<String> {
        match Self::compile(self, source, name, options) {
            Ok(compiled) => Ok(compiled.ptx),
            Err(GpuError::Compile { log }) => Err(Error::Compile {
                file: name.into(),
                log,
            }),
            // Which a text may hold, and the options and names here never do.
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
