//! Bytes on the device.
use crate::driver::check;
use crate::module::Loaded;
use crate::primary::Primary;
use crate::{Context, GpuError};
use cudarc::driver::sys;
use std::rc::Rc;

/// Device memory: an allocation, freed with this value, or a variable of a module.
///
/// Kernels and cuBLAS write to it through `&Buffer`: its contents live on the device, and the host sees them only
/// through [`Context::read`].
pub struct Buffer {
    owner: Owner,
    name: Box<str>,
    address: sys::CUdeviceptr,
    bytes: usize,
}

/// The owner of the memory, which must outlive the buffer.
enum Owner {
    /// The buffer's own.
    Allocation(Rc<Primary>),
    /// A variable of a module.
    Module(#[allow(dead_code)] Rc<Loaded>),
}

impl Buffer {
    pub(crate) fn of_module(
        module: &Rc<Loaded>,
        name: &str,
        address: sys::CUdeviceptr,
        bytes: usize,
    ) -> Self {
        Self {
            owner: Owner::Module(Rc::clone(module)),
            name: name.into(),
            address,
            bytes,
        }
    }

    /// The name that it was allocated with, or the variable's name.
    pub fn name(&self) -> &str {
        &self.name
    }

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

    /// The address of the address: a launch reads a pointer argument from there.
    pub(crate) fn argument(&self) -> *const sys::CUdeviceptr {
        &raw const self.address
    }

    /// Checks that it has room for a rows x columns matrix with `element` bytes per element.
    pub(crate) fn holds(
        &self,
        what: &'static str,
        shape: [usize; 2],
        element: usize,
    ) -> Result<(), GpuError> {
        let need = shape[0].saturating_mul(shape[1]).saturating_mul(element);
        let have = self.bytes;
        if need > have {
            return Err(GpuError::Size { what, need, have });
        }
        Ok(())
    }
}

impl Context {
    /// A new buffer of `bytes` bytes, all zero (`cuMemAlloc`, `cuMemsetD8`); messages call it `name`.
    ///
    /// # Errors
    /// [`GpuError::Driver`], usually out of memory.
    pub fn alloc(&self, name: &str, bytes: usize) -> Result<Buffer, GpuError> {
        let buffer = self.reserve(name, bytes)?;
        self.fill(&buffer, 0)?;
        Ok(buffer)
    }

    /// A new buffer that holds `bytes` (`cuMemAlloc`, `cuMemcpyHtoD`); messages call it `name`.
    ///
    /// # Errors
    /// [`GpuError::Driver`], usually out of memory.
    pub fn upload(&self, name: &str, bytes: &[u8]) -> Result<Buffer, GpuError> {
        let buffer = self.reserve(name, bytes.len())?;
        self.write(&buffer, bytes)?;
        Ok(buffer)
    }

    /// Copies `bytes` to the start of `buffer`, after all work enqueued so far.
    ///
    /// # Errors
    /// [`GpuError::Size`] if they are too many; [`GpuError::Driver`].
    pub fn write(&self, buffer: &Buffer, bytes: &[u8]) -> Result<(), GpuError> {
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

    /// Sets every byte of `buffer` to `byte`, in stream order.
    ///
    /// # Errors
    /// [`GpuError::Driver`].
    pub fn fill(&self, buffer: &Buffer, byte: u8) -> Result<(), GpuError> {
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
    /// [`GpuError::Driver`]: also if an earlier kernel failed.
    pub fn read(&self, buffer: &Buffer) -> Result<Vec<u8>, GpuError> {
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

    /// A new, uninitialized buffer.
    fn reserve(&self, name: &str, bytes: usize) -> Result<Buffer, GpuError> {
        self.context.bind()?;
        let mut address = 0;
        // SAFETY: a valid place for the address. The driver refuses 0 bytes, hence at least one.
        check("cuMemAlloc", unsafe {
            sys::cuMemAlloc_v2(&raw mut address, bytes.max(1))
        })?;
        Ok(Buffer {
            owner: Owner::Allocation(Rc::clone(&self.context)),
            name: name.into(),
            address,
            bytes,
        })
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let Owner::Allocation(context) = &self.owner else {
            return;
        };
        let _ = context.bind();
        // SAFETY: allocated in `reserve` and freed once. The driver waits for work that uses it.
        let _ = unsafe { sys::cuMemFree_v2(self.address) };
    }
}
