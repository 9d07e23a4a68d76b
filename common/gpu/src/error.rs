//! Errors, and what to do about them.

/// Why the GPU or a CUDA library could not do what was requested.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GpuError {
    /// NVRTC was not found.
    #[error(
        "no NVRTC, the compiler from CUDA C++ to PTX: {}; looked in{}",
        get_nvrtc(std::env::consts::OS),
        list(searched)
    )]
    NoNvrtc {
        /// The places that were searched, in order, with the loader's reason if a file would not load.
        searched: Vec<String>,
    },
    /// The source does not compile, or an option was refused.
    #[error("NVRTC does not compile the kernel; fix the errors that it names:\n{log}")]
    Compile {
        /// NVRTC's log.
        log: String,
    },
    /// NVRTC itself failed, not the source.
    #[error("{call} failed: {message}; get a fresh NVRTC with `cargo ladder get-nvrtc`")]
    Nvrtc {
        /// The function that failed.
        call: &'static str,
        /// NVRTC's message.
        message: String,
    },
    /// CUDA's headers were found but cannot be read.
    #[error(
        "cannot read CUDA's headers, {place}: {reason}; get fresh ones with `cargo ladder get-nvrtc`"
    )]
    Headers {
        /// The file or folder.
        place: String,
        /// The system's message.
        reason: String,
    },
    /// A text for CUDA contains a NUL byte, which would end it early.
    #[error("{what} contains a NUL byte: remove it")]
    Nul {
        /// Which text.
        what: &'static str,
    },
    /// A library was found but lacks a function.
    #[error("a CUDA library is too old or damaged: {reason}; install CUDA 12 or later")]
    Library {
        /// The loader's message.
        reason: String,
    },
    /// This machine has no libcuda.
    #[error(
        "no NVIDIA driver on this machine (libcuda is missing, or a stub): install the driver, \
         or run on the emulator, which needs none"
    )]
    NoDriver,
    /// The driver is older than CUDA 12.0.
    #[error(
        "the NVIDIA driver is too old: it supports CUDA {found}, but 12.0 is needed; update the driver, or \
         run on the emulator"
    )]
    OldDriver {
        /// The CUDA version that it supports.
        found: String,
    },
    /// There is a driver, but no GPU.
    #[error(
        "the NVIDIA driver sees no GPU: check `nvidia-smi` and CUDA_VISIBLE_DEVICES, or run on the \
         emulator"
    )]
    NoDevice,
    /// The emulator poses as a GPU: it computes the same bits, but it has no timing.
    #[error(
        "this GPU is emulated, so its times would be those of this machine; measure on a GPU, or predict with `time` on the emulator"
    )]
    Emulated,
    /// There is no GPU with that number.
    #[error("no GPU number {ordinal}: this machine has {count}, counted from 0")]
    NoSuchDevice {
        /// The requested number.
        ordinal: usize,
        /// The number of GPUs.
        count: usize,
    },
    /// A driver call failed.
    #[error("{call} failed: {name} ({code}); {}", remedy(*code))]
    Driver {
        /// The driver function.
        call: &'static str,
        /// Its `CUresult`.
        code: u32,
        /// The name of that code, such as `CUDA_ERROR_OUT_OF_MEMORY`.
        name: String,
    },
    /// The driver's assembler refused the PTX.
    #[error("the driver refused the PTX: {name}; {}\n{log}", remedy(*code))]
    Load {
        /// Its `CUresult`.
        code: u32,
        /// The name of that code, such as `CUDA_ERROR_INVALID_PTX`.
        name: String,
        /// The assembler's log, which names the PTX lines.
        log: String,
    },
    /// The PTX has no such kernel.
    #[error("the PTX has no kernel `{name}`: declare it `extern \"C\" __global__ void {name}(…)`")]
    NoKernel {
        /// The requested name.
        name: String,
    },
    /// The PTX has no such variable.
    #[error(
        "the PTX has no variable `{name}`: declare it `extern \"C\" __device__` or `__constant__`, and use it in a \
         kernel so that the compiler keeps it"
    )]
    NoVariable {
        /// The requested name.
        name: String,
    },
    /// The arguments do not fit the kernel's parameters.
    #[error(
        "kernel `{entry}` takes parameters of {expected:?} bytes, but was given {given:?}: make the \
         launch fit its signature"
    )]
    Arguments {
        /// The kernel.
        entry: String,
        /// Bytes of each parameter, from the PTX.
        expected: Vec<usize>,
        /// Bytes of each argument.
        given: Vec<usize>,
    },
    /// More shared memory than a block can have.
    #[error(
        "kernel `{entry}` needs {asked} bytes of shared memory, but a block has at most {allowed}: use a \
         smaller tile or fewer stages"
    )]
    SharedMemory {
        /// The kernel.
        entry: String,
        /// Static and dynamic bytes together.
        asked: u64,
        /// The GPU's limit per block.
        allowed: u32,
    },
    /// A buffer is too small for what was to be read from or written to it.
    #[error(
        "{what} needs {need} bytes, but the buffer has {have}: allocate it for the padded shape"
    )]
    Size {
        /// Which operand.
        what: &'static str,
        /// Bytes needed.
        need: usize,
        /// Bytes that it has.
        have: usize,
    },
    /// A dimension that does not fit into the 32 bits that cuBLAS takes.
    #[error("dimension {size} is too large for cuBLAS: use a smaller problem")]
    Dimension {
        /// The dimension.
        size: usize,
    },
    /// A tensor map whose fields contradict each other.
    #[error(
        "a tensor map of {dimensions} dimensions with {strides} strides, {tile} tile sides and {element_strides} element strides: \
         give N, N - 1, N and N (or none) of them, for an N from 1 to 5"
    )]
    TensorRank {
        /// Number of extents.
        dimensions: usize,
        /// Number of strides.
        strides: usize,
        /// Number of tile sides.
        tile: usize,
        /// Number of element strides.
        element_strides: usize,
    },
    /// cuBLAS was not found.
    #[error(
        "no cuBLAS to compare with: install the CUDA toolkit and set CUDA_HOME, or activate a Python \
         environment that has nvidia-cublas; looked in{}",
        list(searched)
    )]
    NoCublas {
        /// The places that were searched, in order.
        searched: Vec<String>,
    },
    /// A cuBLAS call failed.
    #[error(
        "{call} failed: {message}; check that the driver supports this cuBLAS's CUDA version and that \
         the GPU has memory to spare"
    )]
    Cublas {
        /// The function that failed.
        call: &'static str,
        /// cuBLAS's message.
        message: String,
    },
    /// A third-party library cannot be used.
    #[error(
        "{file}: {reason}; it must be a shared library for this machine that exports `gemm_bf16_tn` \
         (book/labs/README.md, \"Beside a library\")"
    )]
    ExternalGemm {
        /// The library.
        file: String,
        /// The system's message.
        reason: String,
    },
    /// A third-party library failed.
    #[error(
        "`gemm_bf16_tn` returned {code} for M, N, K = {size:?}: see what this library says of the code"
    )]
    ExternalGemmFailed {
        /// What it returned.
        code: i32,
        /// M, N and K.
        size: [i32; 3],
    },
}

/// How to get the compiler, which NVIDIA does not make for macOS.
fn get_nvrtc(os: &str) -> &'static str {
    match os {
        "macos" => {
            "NVIDIA has no NVRTC for macOS; work in a Linux container, such as the .devcontainer of a course \
             (`cargo ladder export-course` writes it)"
        }
        _ => "run `cargo ladder get-nvrtc`, or set GEMM_NVRTC to the folder that has it",
    }
}

fn list(places: &[String]) -> String {
    places.iter().map(|place| format!("\n  {place}")).collect()
}

/// What to do about a `CUresult`.
fn remedy(code: u32) -> &'static str {
    match code {
        1 => "check grid, block, cluster and shared memory against the GPU's limits",
        2 => "use a smaller problem, or close what else uses this GPU",
        209 => "the PTX is for another architecture: choose the GPU's own",
        218 => "its log names the line to fix",
        222 => {
            "the PTX is newer than the driver: update the driver, or compile with the NVRTC that \
             `cargo ladder get-nvrtc` pins"
        }
        700 | 714..=719 => {
            "the kernel went wrong on the GPU: run it with `sanitize`, which names thread, address \
             and line (this process can use the GPU no more)"
        }
        701 => "the block needs more registers or threads than an SM has: use fewer threads",
        900..=908 => "a graph may hold launches only: take copies and allocations out of it",
        912 => "the cluster is too large for this kernel: use a smaller one",
        _ => "look at `nvidia-smi`, and at this code in the CUDA driver's list of errors",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_is_fetched_where_there_is_one() {
        assert!(get_nvrtc("macos").contains("container"));
        for os in ["linux", "windows"] {
            assert!(get_nvrtc(os).contains("cargo ladder get-nvrtc"), "{os}");
        }
    }
}
