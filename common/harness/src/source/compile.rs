//! The compiler: NVRTC in this process, or any other that implements [`Compile`], such as a sandboxed one.
use gpu::{GpuError, Nvrtc};

use crate::source::machine_code;
use crate::tools::{self, NVDISASM, PTXAS};
use crate::{Error, Result};

/// A compiler from CUDA C++ to PTX.
pub trait Compile: Send + Sync {
    /// The PTX of `source`. `name` is the file in messages and line information; make it absolute.
    ///
    /// # Errors
    /// [`Error::Compile`], with the compiler's messages, if the source is at fault; any other if the compiler is.
    fn compile(&self, source: &str, name: &str, options: &[String]) -> Result<String>;

    /// The machine code of a kernel of this PTX, in the format of `kernel.sass`. The pinned ptxas assembles it, so it is
    /// the same everywhere.
    ///
    /// # Errors
    /// [`Error::NoAssembler`] if that ptxas or nvdisasm is not found; [`Error::NotPredicted`] if it refuses the PTX.
    fn assemble(&self, ptx: &str, kernel: &str, arch: &str) -> Result<String>;

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

    fn assemble(&self, ptx: &str, kernel: &str, arch: &str) -> Result<String> {
        let no = |error: anyhow::Error| Error::NoAssembler(format!("{error:#}"));
        let ptxas = tools::pinned("ptxas", PTXAS).map_err(no)?;
        let nvdisasm = tools::find("nvdisasm", NVDISASM).map_err(no)?;
        let text = machine_code::text_by([&ptxas, &nvdisasm], ptx, kernel, arch);
        text.map_err(|error| Error::NotPredicted(kernel.into(), format!("{error:#}")))
    }

    fn version(&self) -> (u32, u32) {
        Self::version(self)
    }
}
