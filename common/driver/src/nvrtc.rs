//! A shim for NVRTC: `nvrtcGetCUBIN` returns PTX, and all other functions forward to NVIDIA's library, which
//! `cargo ladder run-on-emulator` names in the variable `GEMM_NVIDIA_NVRTC`.
//!
//! For `--gpu-architecture=sm_90` NVRTC keeps the PTX from which it generated the machine code.
use std::env;
use std::ffi::{CStr, CString};
use std::sync::OnceLock;

/// The environment variable with the path of NVIDIA's library.
const NVIDIA_NVRTC: &str = "GEMM_NVIDIA_NVRTC";
/// `NVRTC_ERROR_INTERNAL_ERROR`.
const INTERNAL_ERROR: usize = 11;

/// NVIDIA's library, loaded once and kept.
fn library() -> Option<usize> {
    static HANDLE: OnceLock<Option<usize>> = OnceLock::new();
    *HANDLE.get_or_init(|| {
        let file = env::var(NVIDIA_NVRTC).ok().and_then(|file| CString::new(file).ok());
        // SAFETY: loading runs the initializers of NVIDIA's library, which need nothing of the process.
        let handle = file.map(|file| unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW) } as usize);
        let handle = handle.filter(|&handle| handle != 0);
        if handle.is_none() {
            eprintln!(
                "emulated GPU: NVRTC is missing: fetch it by `cargo ladder get-nvrtc` and start the program by `cargo ladder run-on-emulator`"
            );
        }
        handle
    })
}

/// The address of a function of NVIDIA's library.
fn function(name: &CStr) -> Option<usize> {
    // SAFETY: a handle that dlopen returned, which is never closed.
    let address = unsafe { libc::dlsym(library()? as *mut _, name.as_ptr()) } as usize;
    (address != 0).then_some(address)
}

/// Exports functions that call one of NVIDIA's. Arguments and results are integers and pointers, one register each.
macro_rules! forward {
    ($($name:ident to $target:ident($($argument:ident),*);)*) => {$(
        // SAFETY: exports a name of NVRTC's C interface, which this library interposes.
        #[unsafe(no_mangle)]
        #[allow(non_snake_case)]
        pub extern "C" fn $name($($argument: usize),*) -> usize {
            const NAME: &str = concat!(stringify!($target), "\0");
            let address = CStr::from_bytes_with_nul(NAME.as_bytes()).ok().and_then(function);
            let Some(address) = address else {
                return INTERNAL_ERROR;
            };
            // SAFETY: the function of this name takes this many integers and pointers; the caller's are forwarded unchanged.
            let target: extern "C" fn($(forward!(@ $argument)),*) -> usize = unsafe { std::mem::transmute(address) };
            target($($argument),*)
        }
    )*};
    (@ $argument:ident) => { usize };
}

forward! {
    nvrtcGetCUBINSize to nvrtcGetPTXSize(program, size);
    nvrtcGetCUBIN to nvrtcGetPTX(program, text);
    nvrtcVersion to nvrtcVersion(major, minor);
    nvrtcGetNumSupportedArchs to nvrtcGetNumSupportedArchs(count);
    nvrtcGetSupportedArchs to nvrtcGetSupportedArchs(archs);
    nvrtcCreateProgram to nvrtcCreateProgram(program, source, name, count, headers, names);
    nvrtcDestroyProgram to nvrtcDestroyProgram(program);
    nvrtcCompileProgram to nvrtcCompileProgram(program, count, options);
    nvrtcGetPTXSize to nvrtcGetPTXSize(program, size);
    nvrtcGetPTX to nvrtcGetPTX(program, text);
    nvrtcGetLTOIRSize to nvrtcGetLTOIRSize(program, size);
    nvrtcGetLTOIR to nvrtcGetLTOIR(program, code);
    nvrtcGetOptiXIRSize to nvrtcGetOptiXIRSize(program, size);
    nvrtcGetOptiXIR to nvrtcGetOptiXIR(program, code);
    nvrtcGetProgramLogSize to nvrtcGetProgramLogSize(program, size);
    nvrtcGetProgramLog to nvrtcGetProgramLog(program, log);
    nvrtcAddNameExpression to nvrtcAddNameExpression(program, name);
    nvrtcGetLoweredName to nvrtcGetLoweredName(program, name, lowered);
    nvrtcGetPCHHeapSize to nvrtcGetPCHHeapSize(size);
    nvrtcSetPCHHeapSize to nvrtcSetPCHHeapSize(size);
    nvrtcGetPCHCreateStatus to nvrtcGetPCHCreateStatus(program);
    nvrtcGetPCHHeapSizeRequired to nvrtcGetPCHHeapSizeRequired(program, size);
    nvrtcSetFlowCallback to nvrtcSetFlowCallback(program, callback, payload);
}

/// The name of a result. It must be a string even if NVIDIA's library is missing.
///
// SAFETY: exports a name of NVRTC's C interface, which this library interposes.
#[unsafe(no_mangle)]
pub extern "C" fn nvrtcGetErrorString(result: u32) -> *const std::ffi::c_char {
    let Some(address) = function(c"nvrtcGetErrorString") else {
        return c"NVRTC is missing".as_ptr();
    };
    // SAFETY: the function of this name has this type.
    let target: extern "C" fn(u32) -> *const std::ffi::c_char =
        unsafe { std::mem::transmute(address) };
    target(result)
}
