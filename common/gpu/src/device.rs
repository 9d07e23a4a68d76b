//! Lists the GPUs, and opens one of them.
use crate::driver::{self, check};
use crate::primary::Primary;
use crate::{DeviceInfo, GpuError};
use cudarc::driver::sys::{self, CUdevice_attribute as Attribute};
use std::ffi::c_int;
use std::rc::Rc;

/// The prefix of the device name that the emulator's driver reports.
const EMULATED: &str = "Emulated ";

/// All GPUs that CUDA sees.
///
/// # Errors
/// [`GpuError::NoDriver`], [`GpuError::OldDriver`] or [`GpuError::NoDevice`]; never an empty list.
pub fn devices() -> Result<Vec<DeviceInfo>, GpuError> {
    driver::ready()?;
    (0..count()?)
        .map(|ordinal| describe(ordinal, handle(ordinal)?))
        .collect()
}

/// An open GPU: its context and a stream, on which all work runs in order.
///
/// Values made from it ([`Buffer`](crate::Buffer), [`Function`](crate::Function), …) may outlive it. It
/// stays on the thread that opened it.
pub struct Context {
    pub(crate) context: Rc<Primary>,
    info: DeviceInfo,
}

impl Context {
    /// Opens GPU number `ordinal`.
    ///
    /// # Errors
    /// As [`devices`], and [`GpuError::NoSuchDevice`].
    pub fn open(ordinal: usize) -> Result<Self, GpuError> {
        driver::ready()?;
        let count = count()?;
        if ordinal >= count {
            return Err(GpuError::NoSuchDevice { ordinal, count });
        }
        let device = handle(ordinal)?;
        Ok(Self {
            info: describe(ordinal, device)?,
            context: Rc::new(Primary::open(device)?),
        })
    }

    /// Information about this GPU.
    pub fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// Waits until all enqueued work is done.
    ///
    /// # Errors
    /// [`GpuError::Driver`] if that work failed: a kernel's fault is reported here.
    pub fn synchronize(&self) -> Result<(), GpuError> {
        self.context.synchronize()
    }
}

/// The number of GPUs, at least one. Initializes the driver.
fn count() -> Result<usize, GpuError> {
    let mut count = 0;
    // SAFETY: a valid place for an int.
    check("cuDeviceGetCount", unsafe {
        sys::cuDeviceGetCount(&raw mut count)
    })?;
    usize::try_from(count)
        .ok()
        .filter(|&count| count > 0)
        .ok_or(GpuError::NoDevice)
}

fn handle(ordinal: usize) -> Result<sys::CUdevice, GpuError> {
    let mut device = 0;
    let number = c_int::try_from(ordinal).unwrap_or(c_int::MAX);
    // SAFETY: a valid place for the handle; a wrong number is an error.
    check("cuDeviceGet", unsafe {
        sys::cuDeviceGet(&raw mut device, number)
    })?;
    Ok(device)
}

fn describe(ordinal: usize, device: sys::CUdevice) -> Result<DeviceInfo, GpuError> {
    let attribute = |which: Attribute| {
        let mut value = 0;
        // SAFETY: a device from cuDeviceGet and a valid place for an int.
        check("cuDeviceGetAttribute", unsafe {
            sys::cuDeviceGetAttribute(&raw mut value, which, device)
        })?;
        Ok(value.unsigned_abs())
    };
    let mut name = [0u8; 256];
    let mut memory = 0usize;
    // SAFETY: a device from cuDeviceGet, a buffer with its length, and a valid place for the size.
    unsafe {
        check(
            "cuDeviceGetName",
            sys::cuDeviceGetName(name.as_mut_ptr().cast(), 256, device),
        )?;
        check(
            "cuDeviceTotalMem",
            sys::cuDeviceTotalMem_v2(&raw mut memory, device),
        )?;
    }
    let (major, minor) = driver::cuda_version()?;
    let name = driver::text(&name);
    Ok(DeviceInfo {
        ordinal,
        emulated: name.starts_with(EMULATED),
        name,
        sm: (
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        sms: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        l2_bytes: attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?.into(),
        memory_bytes: memory as u64,
        shared_per_block_optin: attribute(
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
        )?,
        driver_version: format!("{major}.{minor}"),
    })
}
