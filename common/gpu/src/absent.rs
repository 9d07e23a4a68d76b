//! The same API for WebAssembly, where there is no GPU. Types that only a GPU or NVRTC can create have no values here,
//! so the compiler removes the code that uses them. Every search fails with the error of a machine without CUDA.
use std::path::{Path, PathBuf};

use crate::{
    Compiled, Contestant, DeviceInfo, Elements, GpuError, KernelArg, LaunchConfig, Samples,
    Telemetry, TensorMap, Timing, TranslationUnit,
};

/// All GPUs: none.
///
/// # Errors
/// Always [`GpuError::NoDriver`].
pub fn devices() -> Result<Vec<DeviceInfo>, GpuError> {
    Err(GpuError::NoDriver)
}

/// The driver's version: none.
pub fn driver_version() -> Option<String> {
    None
}

/// The kernels that a library launches.
///
/// # Errors
/// Never: there is no [`Context`] to call it with.
pub fn kernels_of(
    gpu: &Context,
    _enqueue: impl FnOnce() -> Result<(), GpuError>,
) -> Result<Vec<String>, GpuError> {
    match *gpu {}
}

/// An open GPU.
pub enum Context {}
/// Memory on a GPU.
pub enum Buffer {}
/// PTX on a GPU.
pub enum Module {}
/// A kernel on a GPU.
pub enum Function {}
/// NVIDIA's run-time compiler.
pub enum Nvrtc {}
/// cuBLAS, which the rungs are compared with.
pub enum Cublas {}
/// cuBLASLt, with the fastest of its algorithms.
pub enum CublasLt {}
/// A third-party GEMM.
pub enum ExternalGemm {}

/// `fn name(&self, …) -> …` of a type without values.
macro_rules! never {
    ($type:ident { $($name:ident($($argument:ident: $of:ty),*) -> $result:ty;)* }) => {
        #[allow(missing_docs, clippy::missing_errors_doc, clippy::must_use_candidate)]
        impl $type {
            $(pub fn $name(&self, $($argument: $of),*) -> $result {
                $(let _ = $argument;)*
                match *self {}
            })*
        }
    };
}

never!(Context {
    info() -> &DeviceInfo;
    synchronize() -> Result<(), GpuError>;
    alloc(name: &str, bytes: usize) -> Result<Buffer, GpuError>;
    upload(name: &str, bytes: &[u8]) -> Result<Buffer, GpuError>;
    write(buffer: &Buffer, bytes: &[u8]) -> Result<(), GpuError>;
    fill(buffer: &Buffer, byte: u8) -> Result<(), GpuError>;
    read(buffer: &Buffer) -> Result<Vec<u8>, GpuError>;
    load_module(ptx: &str) -> Result<Module, GpuError>;
    tensor_map(buffer: &Buffer, map: &TensorMap<'_>) -> Result<[u8; 128], GpuError>;
    launch(function: &Function, config: &LaunchConfig, args: &[KernelArg<'_>]) -> Result<(), GpuError>;
});
never!(Buffer {
    name() -> &str;
    len() -> usize;
    is_empty() -> bool;
    address() -> u64;
});
never!(Module {
    function(name: &str) -> Result<Function, GpuError>;
    global(name: &str) -> Result<Buffer, GpuError>;
});
never!(Function {
    name() -> &str;
    params() -> &[usize];
    registers() -> u32;
    static_shared() -> u32;
    local_bytes() -> u32;
    max_threads() -> u32;
    blocks_per_sm(threads: u32, dynamic_shared: u32) -> Result<u32, GpuError>;
});
never!(Nvrtc {
    has_header(name: &str) -> bool;
    version() -> (u32, u32);
    path() -> Option<&Path>;
    include_dirs() -> &[PathBuf];
    compile(source: &str, name: &str, options: &[String]) -> Result<Compiled, GpuError>;
    compile_unit(given: &TranslationUnit<'_>) -> Result<Compiled, GpuError>;
});
never!(Cublas {
    version() -> String;
    gemm(elements: Elements, buffers: [&Buffer; 3], shape: [usize; 3]) -> Result<(), GpuError>;
    gemm_tn(elements: Elements, buffers: [&Buffer; 3], shape: [usize; 3]) -> Result<(), GpuError>;
});
never!(ExternalGemm {
    run(buffers: [&Buffer; 3], shape: [usize; 3]) -> Result<bool, GpuError>;
});
never!(CublasLt {
    timed() -> usize;
    kept() -> usize;
    run(which: usize, buffers: [&Buffer; 3]) -> Result<(), GpuError>;
    version() -> String;
});

impl Context {
    /// Opens a GPU.
    ///
    /// # Errors
    /// Always [`GpuError::NoDriver`].
    pub fn open(_ordinal: usize) -> Result<Self, GpuError> {
        Err(GpuError::NoDriver)
    }
}

impl Nvrtc {
    /// Finds NVRTC.
    ///
    /// # Errors
    /// Always [`GpuError::NoNvrtc`].
    pub fn find() -> Result<Self, GpuError> {
        Err(GpuError::NoNvrtc {
            searched: Vec::new(),
        })
    }

    /// Reads CUDA's headers.
    ///
    /// # Errors
    /// Never: there is no NVRTC to call it with.
    pub fn hold_headers(&mut self) -> Result<(), GpuError> {
        match *self {}
    }
}

/// Times contestants against each other.
///
/// # Errors
/// Never: there is no GPU to call it with.
pub fn alternate(
    gpu: &Context,
    _contestants: &[Contestant<'_>],
    _options: &Timing,
) -> Result<Vec<Samples>, GpuError> {
    match *gpu {}
}

impl CublasLt {
    /// Selects the fastest algorithms.
    ///
    /// # Errors
    /// Never: there is no GPU to call it with.
    pub fn tune(
        gpu: &Context,
        _sets: &[[&Buffer; 3]],
        _shape: [usize; 3],
        _kept: usize,
    ) -> Result<Self, GpuError> {
        match *gpu {}
    }

    /// The same for C = A B^T in bf16.
    ///
    /// # Errors
    /// Never: there is no GPU to call it with.
    pub fn tune_bf16_tn(
        gpu: &Context,
        _sets: &[[&Buffer; 3]],
        _shape: [usize; 3],
        _kept: usize,
    ) -> Result<Self, GpuError> {
        match *gpu {}
    }
}

#[allow(missing_docs)]
impl Telemetry {
    pub fn during<T>(gpu: &Context, _work: impl FnOnce() -> T) -> (T, Option<Self>) {
        match *gpu {}
    }
}

impl Cublas {
    /// Finds cuBLAS.
    ///
    /// # Errors
    /// Never: there is no GPU to call it with.
    pub fn new(gpu: &Context) -> Result<Self, GpuError> {
        match *gpu {}
    }
}

impl ExternalGemm {
    /// Opens a library.
    ///
    /// # Errors
    /// Never: there is no GPU to call it with.
    pub fn open(gpu: &Context, _file: &Path) -> Result<Self, GpuError> {
        match *gpu {}
    }
}
