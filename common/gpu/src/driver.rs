//! The driver library: is it installed, is it new enough, and what did a call return?
use crate::GpuError;
use cudarc::driver::sys::{self, CUresult};
use std::ffi::{CStr, c_char, c_int};

/// Makes sure that the driver can be called. Every path to the GPU in this crate begins here, because cudarc panics if
/// a function is missing.
pub(crate) fn ready() -> Result<(), GpuError> {
    // SAFETY: tries to load libcuda, whose initializers have no preconditions.
    if !unsafe { sys::is_culib_present() } {
        return Err(GpuError::NoDriver);
    }
    // SAFETY: libcuda is present, and every version of it has this function.
    match unsafe { sys::cuInit(0) } {
        CUresult::CUDA_ERROR_STUB_LIBRARY => return Err(GpuError::NoDriver),
        CUresult::CUDA_ERROR_NO_DEVICE => return Err(GpuError::NoDevice),
        result => check("cuInit", result)?,
    }
    let (major, minor) = cuda_version()?;
    if major < 12 {
        return Err(GpuError::OldDriver {
            found: format!("{major}.{minor}"),
        });
    }
    Ok(())
}

/// The newest CUDA version that the driver supports.
pub(crate) fn cuda_version() -> Result<(c_int, c_int), GpuError> {
    let mut version = 0;
    // SAFETY: a valid place for an int; every libcuda has this function.
    check("cuDriverGetVersion", unsafe {
        sys::cuDriverGetVersion(&raw mut version)
    })?;
    Ok((version / 1000, version % 1000 / 10))
}

/// Converts the result of a driver call into a `Result`.
pub(crate) fn check(call: &'static str, result: CUresult) -> Result<(), GpuError> {
    match result {
        CUresult::CUDA_SUCCESS => Ok(()),
        _ => Err(GpuError::Driver {
            call,
            code: result as u32,
            name: name(result),
        }),
    }
}

/// The name of a result, such as `CUDA_ERROR_OUT_OF_MEMORY`.
pub(crate) fn name(result: CUresult) -> String {
    let mut text: *const c_char = std::ptr::null();
    // SAFETY: a valid place for a pointer. The driver sets it to static text, or to null for an unknown code.
    unsafe {
        let _ = sys::cuGetErrorName(result, &raw mut text);
        if text.is_null() {
            "an unknown error".into()
        } else {
            CStr::from_ptr(text).to_string_lossy().into_owned()
        }
    }
}

/// Text that a C function wrote into `buffer`.
pub(crate) fn text(buffer: &[u8]) -> String {
    let bytes = buffer.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}
