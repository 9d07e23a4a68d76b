//! What can go wrong, and what the reader can do about it.
use std::path::PathBuf;

use crate::Size;

/// The result of anything in the harness.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a run failed. Each message names the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A command that needs a GPU.
    #[error(
        "bench times the kernel on a GPU, but {0}; without one, `profile` shows what the kernel does to the memory system"
    )]
    BenchNeedsGpu(String),
    /// The same, where the user chose the emulator.
    #[error(
        "bench times the kernel on a GPU, but the emulator is not one; `profile` shows what the kernel does to the memory system"
    )]
    BenchOnEmulator,
    /// A command that needs the emulator.
    #[error(
        "the sanitizer is part of the emulator, which runs on any machine, but a GPU was chosen"
    )]
    EmulatorOnly,
    /// A command for the rung's own kernels, given another kernel.
    #[error("only the rung's own kernels have a list of tiles")]
    OwnKernelsOnly,
    /// A kernel that this GPU cannot run.
    #[error("{gpu} has compute capability {}.{}, but this kernel is for {arch}; the emulator runs it", sm.0, sm.1)]
    WrongGpu {
        /// The GPU's name.
        gpu: String,
        /// Its compute capability.
        sm: (u32, u32),
        /// The kernel's architecture.
        arch: String,
    },
    /// Both a card to emulate and a GPU were chosen.
    #[error("{0} names a card to emulate, but a GPU was chosen")]
    EmulatedOnGpu(emulator::Card),
    /// A kernel that the emulated GPU cannot run.
    #[error("{card} has compute capability {}.{}, but this kernel is for {arch}; emulate an h100, or take a kernel for sm_80", card.compute_capability().0, card.compute_capability().1)]
    WrongCard {
        /// The emulated GPU.
        card: emulator::Card,
        /// The kernel's architecture.
        arch: String,
    },
    /// An architecture that the rung has no kernel for.
    #[error("{rung} has no kernel for {wanted}; it has one for {}", has.join(" and "))]
    NoArch {
        /// The rung's name.
        rung: String,
        /// The requested architecture.
        wanted: String,
        /// The architectures of its kernels.
        has: Vec<String>,
    },
    /// A tile that the kernel does not have.
    #[error(
        "{file} has no tile {wanted}; {}",
        if has.is_empty() { "it has one tile only".into() } else { format!("it has {}", has.join(" and ")) }
    )]
    NoTile {
        /// The kernel's file.
        file: String,
        /// The requested tile.
        wanted: String,
        /// The tiles that it has.
        has: Vec<String>,
    },
    /// A PTX file for another architecture than the requested one.
    #[error("{file} is for {found}, not for {wanted}")]
    ArchOfPtx {
        /// The PTX file.
        file: String,
        /// Its `.target`.
        found: String,
        /// The requested architecture.
        wanted: String,
    },
    /// A problem too large for `int` indices.
    #[error(transparent)]
    TooLarge(#[from] problem::TooLarge),
    /// A kernel whose result depends on the schedule.
    #[error("run {run} differs from run 1 in {elements} elements of C: the kernel races")]
    Unsteady {
        /// The run that differs, from 1.
        run: u32,
        /// How many elements of C differ.
        elements: usize,
    },
    /// A problem larger than the emulated memory.
    #[error(
        "the matrices need {wanted} bytes, but the limit is {limit}; raise the limit, or take a smaller size"
    )]
    Memory {
        /// Bytes needed.
        wanted: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// A file that cannot be read.
    #[error("cannot read {}: {error}; it must be a text file, CUDA source or PTX", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's reason.
        error: std::io::Error,
    },
    /// A kernel in a file that is neither `.cu` nor `.ptx`.
    #[error("cannot tell what {} is: a kernel's file ends in .cu or .ptx", .0.display())]
    KernelEnding(PathBuf),
    /// A `.cu` file without a compiler.
    #[error("{file} must be compiled, but there is {why}")]
    NoNvrtc {
        /// The source file.
        file: String,
        /// Why NVRTC was not found, and how to get it.
        why: gpu::GpuError,
    },
    /// Committed PTX of another version of the source, without a compiler.
    #[error("{file} has changed since its PTX was committed ({mismatch}), but there is {why}")]
    StalePtx {
        /// The source file.
        file: String,
        /// What differs.
        mismatch: String,
        /// Why NVRTC was not found, and how to get it.
        why: gpu::GpuError,
    },
    /// NVRTC refused the source.
    #[error("{file} does not compile:\n{log}")]
    Compile {
        /// The source file.
        file: String,
        /// NVRTC's messages.
        log: String,
    },
    /// An untrusted kernel, and no sandbox to compile it in.
    #[error("{0}")]
    Locked(String),
    /// PTX that the emulator cannot parse or run.
    #[error("{file}: {error}")]
    Ptx {
        /// The file the PTX came from.
        file: String,
        /// The emulator's message, with the PTX line.
        error: emulator::PtxError,
    },
    /// PTX without a kernel of the required name.
    #[error(
        "{file} has no kernel named `{wanted}`{}; write `extern \"C\" __global__ void {wanted}(...)`",
        found(has)
    )]
    NoEntry {
        /// The file.
        file: String,
        /// The required name.
        wanted: &'static str,
        /// The kernels that it has.
        has: Vec<String>,
    },
    /// A kernel with other parameters.
    #[error("`{entry}` in {file} takes parameters of {found} bytes; expected {expected}")]
    Parameters {
        /// The file.
        file: String,
        /// The kernel's name.
        entry: &'static str,
        /// The sizes found.
        found: String,
        /// The parameters expected.
        expected: String,
    },
    /// A kernel that does not state its launch.
    #[error(
        "{file} does not state how `gemm` is launched ({why}); it needs\n  extern \"C\" __constant__ int gemm_launch[] = {{BM, BN, BK, threads, dynamic shared bytes, cluster}};\nwith a seventh number if its blocks are persistent, how many an SM holds, and an eighth, 1, if those split the partial last wave along K; and if it uses TMA\n  extern \"C\" __constant__ int gemm_boxes[] = {{columns, rows, bytes of the swizzle, for A, B and C}};"
    )]
    NoLaunch {
        /// The file.
        file: String,
        /// What is missing.
        why: String,
    },
    /// A kernel that takes pointers, in a rung whose host function makes tensor maps.
    #[error(
        "{0} states no `gemm_boxes`, but this rung passes tensor maps to its kernel: rungs 01 to 08 take a kernel with pointers"
    )]
    NoBoxes(String),
    /// A kernel that takes tensor maps without stating their boxes.
    #[error(
        "`gemm` in {0} takes tensor maps but states no boxes for them; it needs\n  extern \"C\" __constant__ int gemm_boxes[] = {{columns, rows, bytes of the swizzle, for A, B and C}};"
    )]
    MapsWithoutBoxes(String),
    /// A tensor map that the driver would reject.
    #[error("`gemm_boxes` in {file}: {why}")]
    BadBoxes {
        /// The file.
        file: String,
        /// What is wrong with it.
        why: String,
    },
    /// A launch that the driver would reject.
    #[error("the launch that {file} states has {why}")]
    BadLaunch {
        /// The file.
        file: String,
        /// What is wrong with it.
        why: String,
    },
    /// The emulator could not load or launch.
    #[error(transparent)]
    Emulator(#[from] emulator::Error),
    /// A buffer or function of another device.
    #[error("a buffer or a kernel of one device was used on another")]
    OtherDevice,
    /// A host function that compiles two kernels.
    #[error("the host function compiles `{0}` and then `{1}`; a rung has one kernel")]
    OneKernel(&'static str, &'static str),
    /// A host function that launches twice.
    #[error(
        "the host function launches `{0}` after another launch; a run has one launch, and the report is about that launch"
    )]
    OneLaunch(&'static str),
    /// A host function that launches no kernel, or does not verify its result.
    #[error("the host function of {0} launches no kernel or does not end with `verify`")]
    NothingLaunched(&'static str),
    /// CUDA reported an error.
    #[error(transparent)]
    Gpu(#[from] gpu::GpuError),
    /// The sanitizer found faults in the kernel.
    #[error("{}\nThe kernel made {} mistake{}.", .0.join("\n"), .0.len(), if .0.len() == 1 { "" } else { "s" })]
    Fault(Vec<String>),
    /// The record of ceilings cannot be used.
    #[error("{0}: {1}")]
    Ceilings(&'static str, String),
    /// The bound of a kernel could not be computed.
    #[error("no bound for {0}: {1}")]
    NoBound(Size, String),
    /// The time of a kernel could not be predicted.
    #[error("no prediction for {0}: {1}")]
    NoPrediction(Size, String),
    /// The same, for a kernel that is not a rung's.
    #[error("no prediction for {0}: {1}")]
    NotPredicted(String, String),
    /// The same, because of an indirect call or branch.
    #[error("no prediction for {0}: {1}")]
    IndirectCall(String, String),
    /// The assembler by which clocks are compared was not found.
    #[error("{0}")]
    NoAssembler(String),
    /// A timeline with an unknown file extension.
    #[error("{0}: a timeline is written as .svg or .json, or printed with `-` for the path")]
    PictureEnding(String),
    /// A picture could not be written.
    #[error("cannot write {0}: {1}")]
    Picture(String, std::io::Error),
    /// A kernel that measures a ceiling did not do its work.
    #[error("{0} was not measured: {1}")]
    Ceiling(&'static str, String),
    /// The report could not be written.
    #[error("cannot write the report: {0}")]
    Output(std::io::Error),
}

/// ` (it has a, b)`, or nothing.
fn found(names: &[String]) -> String {
    if names.is_empty() {
        String::new()
    } else {
        format!(" (it has {})", names.join(", "))
    }
}

impl Error {
    /// The exit code: 1 for a wrong result or a fault found, 2 for bad usage, or a missing file or device.
    ///
    /// A kernel stopped by the instruction limit counts as a fault: most kernels that reach it never end.
    pub fn exit_code(&self) -> u8 {
        // The driver's codes for a kernel's faults: an illegal address, a trap, and similar ones.
        let of_kernel = matches!(
            self,
            Self::Fault(_)
                | Self::Unsteady { .. }
                | Self::Emulator(emulator::Error::InstructionLimit { .. })
                | Self::Gpu(gpu::GpuError::Driver {
                    code: 700 | 714..=719,
                    ..
                })
        );
        if of_kernel { 1 } else { 2 }
    }
}
