//! The client's memory and functions: the only file that dereferences its pointers.
//!
//! As with NVIDIA's driver, a null pointer is detected, and any other pointer that a client passes as host memory must
//! be valid. Device pointers and handles are never dereferenced but looked up in tables.
use std::ffi::{CStr, c_char, c_void};

#[cfg(target_os = "linux")]
use crate::error::OUT_OF_MEMORY;
use crate::error::{Answer, Fault, INVALID_VALUE};

/// No system maps memory below this address (Linux: `vm.mmap_min_addr`): a smaller number is a null pointer plus an
/// offset.
const LOWEST: usize = 64 << 10;

/// No system gives a process memory from this address on (x86-64 with five-level paging: 2^56; Arm: 2^52).
const HIGHEST: usize = 1 << 56;

/// Numbers, and structs of numbers in C's layout: every bit pattern is valid.
///
/// # Safety
/// The type must have no padding that is read, and every bit pattern must be a valid value.
pub unsafe trait Plain: Copy {}
macro_rules! plain {
    ($($kind:ty),*) => {
        // SAFETY: integers and floating-point numbers, of which every bit pattern is valid.
        $(unsafe impl Plain for $kind {})*
    };
}
plain!(u8, u16, u32, i32, u64, usize, f32, f64);
// SAFETY: an array is its elements without gaps.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// A struct of the driver's C header whose fields are all numbers.
macro_rules! plain_struct {
    ($(#[$doc:meta])* pub struct $name:ident { $(pub $field:ident: $kind:ty,)* }) => {
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $name { $(pub $field: $kind,)* }
        const _: () = {
            const fn number<T: crate::host::Plain>() {}
            $(number::<$kind>();)*
        };
        // SAFETY: all fields are plain (checked above), and padding is never read.
        unsafe impl crate::host::Plain for $name {}
    };
}
pub(crate) use plain_struct;

/// A pointer that the driver reads one or several values through: `const T*`.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct In<T>(*const T);

/// A pointer that the driver writes one or several values through, and may read: `T*`.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Out<T>(*mut T);

/// A NUL-terminated string: `const char*`.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Text(*const c_char);

/// `void (*)(void*)`, or null.
pub type HostFunction = Option<unsafe extern "C" fn(*mut c_void)>;
/// What `cuStreamAddCallback` takes, or null.
pub type StreamCallback = Option<unsafe extern "C" fn(usize, u32, *mut c_void)>;

/// Checks that an address can be one of client memory, and so can that of the last byte.
fn mapped(address: usize, bytes: usize) -> Answer {
    let end = address.checked_add(bytes);
    match address >= LOWEST && end.is_some_and(|end| end <= HIGHEST) {
        true => Ok(()),
        false => Err(Fault::silent(INVALID_VALUE)),
    }
}

impl<T: Plain> In<T> {
    /// From an address that the client gave as a number.
    pub fn at(address: usize) -> Self {
        Self(address as *const T)
    }
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }
    /// The address itself.
    pub fn address(self) -> usize {
        self.0 as usize
    }
    pub fn get(self) -> Result<T, Fault> {
        mapped(self.0 as usize, 1)?;
        // SAFETY: not null, so the client guarantees that it points to a T; every bit pattern is valid, at any
        // alignment.
        Ok(unsafe { self.0.read_unaligned() })
    }
    /// The values of an array.
    pub fn all(self, count: usize) -> Result<Vec<T>, Fault> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let bytes = count.checked_mul(size_of::<T>());
        mapped(self.0 as usize, bytes.ok_or(Fault::silent(INVALID_VALUE))?)?;
        // SAFETY: not null, so the client guarantees this many elements; every bit pattern is valid, at any alignment.
        let one = |index| unsafe { self.0.wrapping_add(index).read_unaligned() };
        Ok((0..count).map(one).collect())
    }
}

impl<T: Plain> Out<T> {
    /// From an address that the client gave as a number.
    pub fn at(address: usize) -> Self {
        Self(address as *mut T)
    }
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }
    /// The address itself.
    pub fn address(self) -> usize {
        self.0 as usize
    }
    /// Checks that a value can be written, before the call has any effect.
    pub fn check(self) -> Answer {
        mapped(self.0 as usize, 1)
    }
    pub fn get(self) -> Result<T, Fault> {
        In(self.0.cast_const()).get()
    }
    pub fn put(self, value: T) -> Answer {
        self.put_at(0, value)
    }
    /// Does nothing if the client passed null.
    pub fn put_if_wanted(self, value: T) -> Answer {
        match self.is_null() {
            true => Ok(()),
            false => self.put(value),
        }
    }
    fn put_at(self, index: usize, value: T) -> Answer {
        mapped(self.0 as usize, 1)?;
        // SAFETY: not null, so the client guarantees that there is room, at any alignment.
        unsafe { self.0.wrapping_add(index).write_unaligned(value) };
        Ok(())
    }
    /// Writes all values, starting at the first element.
    pub fn put_all(self, values: &[T]) -> Answer {
        let mut all = values.iter().enumerate();
        all.try_for_each(|(index, &value)| self.put_at(index, value))
    }
}

impl Out<u8> {
    /// Writes a NUL-terminated text, truncated to the buffer.
    pub fn put_text(self, text: &str, room: usize) -> Answer {
        let Some(most) = room.checked_sub(1) else {
            return Err(Fault::silent(INVALID_VALUE));
        };
        let bytes = &text.as_bytes()[..text.len().min(most)];
        self.put_all(&[bytes, &[0]].concat())
    }
}

impl Text {
    /// From an address that the client gave as a number.
    pub fn at(address: usize) -> Self {
        Self(address as *const c_char)
    }
    pub fn get(self) -> Result<String, Fault> {
        mapped(self.0 as usize, 1)?;
        // SAFETY: not null, so the client guarantees a NUL-terminated string.
        let text = unsafe { CStr::from_ptr(self.0) };
        Ok(text.to_string_lossy().into_owned())
    }
}

/// Copies host memory at an address into a slice.
pub fn read(address: u64, into: &mut [u8]) -> Answer {
    if into.is_empty() {
        return Ok(());
    }
    mapped(address as usize, into.len())?;
    // SAFETY: not null, so the client guarantees this many bytes; `into` is borrowed exclusively.
    unsafe {
        std::ptr::copy(address as usize as *const u8, into.as_mut_ptr(), into.len());
    }
    Ok(())
}

/// The same into a vector, which is only allocated if the address is plausible.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE`, also if there is not enough memory.
pub fn bytes(address: u64, count: usize) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    if count == 0 {
        return Ok(bytes);
    }
    mapped(address as usize, count)?;
    let reserved = bytes.try_reserve_exact(count);
    reserved.map_err(|_| Fault::silent(INVALID_VALUE))?;
    // SAFETY: not null, so the client guarantees this many bytes; `bytes` has the capacity, and all are written.
    unsafe {
        std::ptr::copy(address as usize as *const u8, bytes.as_mut_ptr(), count);
        bytes.set_len(count);
    }
    Ok(bytes)
}

/// Copies bytes to host memory.
pub fn write(address: u64, bytes: &[u8]) -> Answer {
    if bytes.is_empty() {
        return Ok(());
    }
    mapped(address as usize, bytes.len())?;
    // SAFETY: not null, so the client guarantees room for this many bytes.
    unsafe {
        std::ptr::copy(bytes.as_ptr(), address as usize as *mut u8, bytes.len());
    }
    Ok(())
}

/// Copies within host memory; source and destination may overlap.
pub fn copy(from: u64, to: u64, bytes: u64) -> Answer {
    if bytes == 0 {
        return Ok(());
    }
    mapped(from as usize, bytes as usize)?;
    mapped(to as usize, bytes as usize)?;
    // SAFETY: neither is null, so the client guarantees this many bytes.
    unsafe {
        std::ptr::copy(
            from as usize as *const u8,
            to as usize as *mut u8,
            bytes as usize,
        );
    }
    Ok(())
}

/// Pages of this process at an address that the driver chose, unmapped on drop.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub struct Mapping {
    start: usize,
    bytes: usize,
}

#[cfg(target_os = "linux")]
impl Mapping {
    /// Zeroed pages that hold `bytes` bytes from `address` on.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY` if the system refuses, or something else is mapped there.
    pub fn at(address: u64, bytes: usize) -> Result<Self, Fault> {
        const PAGE: usize = 4096;
        let start = address as usize / PAGE * PAGE;
        let end = (address as usize).checked_add(bytes);
        let end = end.and_then(|end| end.checked_next_multiple_of(PAGE));
        let none = || {
            Fault::of(
                OUT_OF_MEMORY,
                format!("the system cannot map {bytes} bytes at 0x{address:x}"),
            )
        };
        let bytes = end.ok_or_else(none)? - start;
        // SAFETY: with MAP_FIXED_NOREPLACE nothing existing is replaced: the pages are new, or the call fails.
        let got = unsafe {
            libc::mmap(
                start as *mut c_void,
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE
                    | libc::MAP_ANONYMOUS
                    | libc::MAP_NORESERVE
                    | libc::MAP_FIXED_NOREPLACE,
                -1,
                0,
            )
        };
        if got == libc::MAP_FAILED {
            return Err(none());
        }
        let mapping = Self {
            start: got as usize,
            bytes,
        };
        // A Linux kernel before 4.17 takes the address as a hint; a mapping elsewhere is dropped.
        match mapping.start == start {
            true => Ok(mapping),
            false => Err(none()),
        }
    }
}

#[cfg(target_os = "linux")]
impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: pages that `at` mapped; the client guarantees not to use memory that it has freed.
        unsafe { libc::munmap(self.start as *mut c_void, self.bytes) };
    }
}

/// On other systems no process loads `libcuda.so.1`.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
pub enum Mapping {}

#[cfg(not(target_os = "linux"))]
impl Mapping {
    /// # Errors
    /// Always.
    pub fn at(_address: u64, _bytes: usize) -> Result<Self, Fault> {
        Err(Fault::of(
            crate::error::NOT_SUPPORTED,
            "host memory that kernels read needs Linux",
        ))
    }
}

/// A function pointer of the client, possibly null, stored at an address.
pub fn function_at(address: usize) -> Result<HostFunction, Fault> {
    match In::<usize>::at(address).get()? {
        0 => return Ok(None),
        function => mapped(function, 1)?,
    }
    // SAFETY: the address is not null, so the client guarantees a function pointer there; an `Option` of one may be
    // null.
    Ok(unsafe { (address as *const HostFunction).read_unaligned() })
}

/// Checks that all of this memory is mapped: registered memory must exist.
pub fn check_mapped(address: u64, bytes: usize) -> Answer {
    mapped(address as usize, bytes)?;
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 4096;
        let end = (address as usize + bytes).next_multiple_of(PAGE);
        let mut resident = [0; 4096];
        // In pieces, so that a size of terabytes stops at the first missing page.
        let pieces = (address as usize / PAGE * PAGE..end).step_by(resident.len() * PAGE);
        for start in pieces {
            let bytes = (end - start).min(resident.len() * PAGE);
            // SAFETY: mincore reads no client memory, and `resident` has a byte for each page.
            let code = unsafe { libc::mincore(start as *mut c_void, bytes, resident.as_mut_ptr()) };
            if code != 0 {
                return Err(Fault::silent(INVALID_VALUE));
            }
        }
    }
    Ok(())
}

/// Calls a function of the client.
pub fn call(function: HostFunction, argument: usize) {
    if let Some(function) = function {
        // SAFETY: the client guarantees that the function may be called with this argument, on any thread.
        unsafe { function(argument as *mut c_void) };
    }
}

/// Calls a callback of `cuStreamAddCallback`.
pub fn call_back(function: StreamCallback, stream: usize, status: u32, argument: usize) {
    if let Some(function) = function {
        // SAFETY: as in `call`.
        unsafe { function(stream, status, argument as *mut c_void) };
    }
}

/// Calls a function of this library by address, with at most twelve integers and pointers. In C, a caller may pass more
/// arguments than the function reads.
#[cfg(test)]
pub fn call_any(address: usize, [a, b, c, d, e, f, g, h, i, j, k, l]: [usize; 12]) -> u32 {
    type W = usize;
    type Any = extern "C" fn(W, W, W, W, W, W, W, W, W, W, W, W) -> u32;
    // SAFETY: the caller guarantees that the address is that of a function exported by `entry_points!`.
    let call = unsafe { std::mem::transmute::<usize, Any>(address) };
    call(a, b, c, d, e, f, g, h, i, j, k, l)
}
