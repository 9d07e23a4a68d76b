//! Bytes on the device.
use crate::context::Context;
use crate::driver::check;
use crate::{Gpu, GpuError};
use cudarc::driver::sys;
use std::rc::Rc;

/// Device memory, freed with this value.
///
/// Kernels and cuBLAS write to it through `&Buffer`: its contents are the device's, and the host sees
/// them only through [`Gpu::download`].
pub struct Buffer {
    context: Rc<Context>,
    address: sys::CUdeviceptr,
    bytes: usize,
}

impl Buffer {
    /// Its size in bytes.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether it holds no bytes.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Its address on the device, a multiple of 256.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Where the address is stored: what a launch reads as a pointer argument.
    pub(crate) fn argument(&self) -> *const sys::CUdeviceptr {
        &raw const self.address
    }

    /// That it holds at least a rows x columns matrix of elements of `element` bytes.
    pub(crate) fn holds(
        &self,
        what: &'static str,
        shape: [usize; 2],
        element: usize,
    ) -> Result<(), GpuError> {
        let need = shape[0].saturating_mul(shape[1]).saturating_mul(element);
        if need > self.bytes {
            Err(GpuError::Size {
                what,
                need,
                have: self.bytes,
            })
        } else {
            Ok(())
        }
    }
}

impl Gpu {
    /// A new buffer of `bytes` bytes, all zero.
    ///
    /// # Errors
    /// [`GpuError::Driver`], most often out of memory.
    pub fn alloc(&self, bytes: usize) -> Result<Buffer, GpuError> {
        let mut buffer = self.reserve(bytes)?;
        self.fill(&mut buffer, 0)?;
        Ok(buffer)
    }

    /// A new buffer that holds `bytes`.
    ///
    /// # Errors
    /// [`GpuError::Driver`], most often out of memory.
    pub fn upload(&self, bytes: &[u8]) -> Result<Buffer, GpuError> {
        let mut buffer = self.reserve(bytes.len())?;
        self.write(&mut buffer, bytes)?;
        Ok(buffer)
    }

    /// Copies `bytes` to the start of `buffer`, after all work enqueued so far.
    ///
    /// # Errors
    /// [`GpuError::Size`] if they do not fit; [`GpuError::Driver`].
    pub fn write(&self, buffer: &mut Buffer, bytes: &[u8]) -> Result<(), GpuError> {
        buffer.holds("the data to copy", [1, bytes.len()], 1)?;
        self.context.bind()?;
        // SAFETY: source and destination hold that many bytes (checked above), and the source is
        // borrowed until the copy is done.
        let result = unsafe {
            sys::cuMemcpyHtoDAsync_v2(
                buffer.address,
                bytes.as_ptr().cast(),
                bytes.len(),
                self.context.stream(),
            )
        };
        check("cuMemcpyHtoDAsync", result)?;
        self.synchronize()
    }

    /// Sets every byte of `buffer` to `byte`, in the order of the stream.
    ///
    /// # Errors
    /// [`GpuError::Driver`].
    pub fn fill(&self, buffer: &mut Buffer, byte: u8) -> Result<(), GpuError> {
        self.context.bind()?;
        // SAFETY: the buffer holds that many bytes.
        let result = unsafe {
            sys::cuMemsetD8Async(buffer.address, byte, buffer.bytes, self.context.stream())
        };
        check("cuMemsetD8Async", result)
    }

    /// Waits for all enqueued work and copies `buffer` to the host.
    ///
    /// # Errors
    /// [`GpuError::Driver`]: also where an earlier kernel went wrong.
    pub fn download(&self, buffer: &Buffer) -> Result<Vec<u8>, GpuError> {
        let mut bytes = vec![0; buffer.bytes];
        self.context.bind()?;
        // SAFETY: source and destination hold that many bytes, and both outlive the copy.
        let result = unsafe {
            sys::cuMemcpyDtoHAsync_v2(
                bytes.as_mut_ptr().cast(),
                buffer.address,
                bytes.len(),
                self.context.stream(),
            )
        };
        check("cuMemcpyDtoHAsync", result)?;
        self.synchronize()?;
        Ok(bytes)
    }

    /// A new buffer whose contents nobody has set yet.
    fn reserve(&self, bytes: usize) -> Result<Buffer, GpuError> {
        self.context.bind()?;
        let mut address = 0;
        // SAFETY: a valid place for the address. The driver refuses 0 bytes, hence at least one.
        check("cuMemAlloc", unsafe {
            sys::cuMemAlloc_v2(&raw mut address, bytes.max(1))
        })?;
        Ok(Buffer {
            context: Rc::clone(&self.context),
            address,
            bytes,
        })
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let _ = self.context.bind();
        // SAFETY: allocated in `reserve` and freed once. The driver waits for work that uses it.
        let _ = unsafe { sys::cuMemFree_v2(self.address) };
    }
}
