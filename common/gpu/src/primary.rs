//! A device's primary context and the one stream on which all work of this crate runs.
use crate::GpuError;
use crate::driver::check;
use cudarc::driver::sys;
use std::ptr::null_mut;

/// The primary context of a device, which cuBLAS shares, and a stream of our own, because graphs cannot be captured on
/// the default stream. Every buffer, kernel and handle holds it in an `Rc`, so that it is dropped last, whatever the
/// order of the others.
pub(crate) struct Primary {
    device: sys::CUdevice,
    context: sys::CUcontext,
    stream: sys::CUstream,
}

impl Primary {
    /// Opens a device of an initialized driver.
    pub(crate) fn open(device: sys::CUdevice) -> Result<Self, GpuError> {
        let mut this = Self {
            device,
            context: null_mut(),
            stream: null_mut(),
        };
        // SAFETY: a device from cuDeviceGet and valid places for the handles. If a call fails, what was created before
        // is released with `this`.
        unsafe {
            check(
                "cuDevicePrimaryCtxRetain",
                sys::cuDevicePrimaryCtxRetain(&raw mut this.context, device),
            )?;
            this.bind()?;
            let flags = sys::CUstream_flags_enum::CU_STREAM_NON_BLOCKING as u32;
            check(
                "cuStreamCreate",
                sys::cuStreamCreate(&raw mut this.stream, flags),
            )?;
        }
        Ok(this)
    }

    /// Makes this the current thread's context, on which nearly every driver call acts.
    pub(crate) fn bind(&self) -> Result<(), GpuError> {
        // SAFETY: the context lives as long as this value.
        check("cuCtxSetCurrent", unsafe {
            sys::cuCtxSetCurrent(self.context)
        })
    }

    pub(crate) fn device(&self) -> sys::CUdevice {
        self.device
    }

    pub(crate) fn stream(&self) -> sys::CUstream {
        self.stream
    }

    /// Waits for all enqueued work.
    pub(crate) fn synchronize(&self) -> Result<(), GpuError> {
        self.bind()?;
        // SAFETY: the stream lives as long as this value.
        check("cuStreamSynchronize", unsafe {
            sys::cuStreamSynchronize(self.stream)
        })
    }
}

impl Drop for Primary {
    fn drop(&mut self) {
        if self.context.is_null() {
            return;
        }
        let _ = self.bind(); // After a fault on the GPU these fail, and nothing can be done.
        // SAFETY: both were created in `open`, and everything that uses them keeps this value alive.
        unsafe {
            if !self.stream.is_null() {
                let _ = sys::cuStreamDestroy_v2(self.stream);
            }
            let _ = sys::cuDevicePrimaryCtxRelease_v2(self.device);
        }
    }
}
