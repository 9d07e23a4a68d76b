//! The client's memory and functions: the only file that follows a pointer.
//!
//! The C interface promises what a null pointer means and no more: as with NVIDIA's driver, any other pointer that a client
//! passes for host memory has to be one. Device pointers and handles are never followed; they are looked up in tables.
use std::ffi::{CStr, c_char, c_void};

use crate::error::{Answer, Fault, INVALID_VALUE};

/// Below it no system maps memory (Linux: `vm.mmap_min_addr`): such a number is a null pointer plus an offset.
const LOWEST: usize = 64 << 10;

/// Numbers, and structs of numbers, as C lays them out: any bits are a value.
///
/// # Safety
/// The type has no padding that is read and no bits that are not a value.
pub unsafe trait Plain: Copy {}
macro_rules! plain {
    ($($kind:ty),*) => {
        // SAFETY: integers and floating-point numbers, of which any bits are a value.
        $(unsafe impl Plain for $kind {})*
    };
}
plain!(u8, u16, u32, i32, u64, usize, f32, f64);
// SAFETY: as its elements, without anything between them.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// A struct of the driver's C header, of which every field is a number.
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
        // SAFETY: all fields are plain (checked above), and what is between them is never read.
        unsafe impl crate::host::Plain for $name {}
    };
}
pub(crate) use plain_struct;

/// Where the driver reads one value or several: `const T*`.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct In<T>(*const T);

/// Where the driver writes one value or several, and may read what is there: `T*`.
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

fn mapped(address: usize) -> Answer {
    match address < LOWEST {
        true => Err(Fault::silent(INVALID_VALUE)),
        false => Ok(()),
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
        mapped(self.0 as usize)?;
        // SAFETY: not null, so the client's word that a T is there; any bits are one, at any alignment.
        Ok(unsafe { self.0.read_unaligned() })
    }
    /// The values of an array.
    pub fn all(self, count: usize) -> Result<Vec<T>, Fault> {
        if count == 0 {
            return Ok(Vec::new());
        }
        mapped(self.0 as usize)?;
        // SAFETY: not null, so the client's word that so many are there; any bits are values, at any alignment.
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
    /// That a value can be written, before anything is done.
    pub fn check(self) -> Answer {
        mapped(self.0 as usize)
    }
    pub fn get(self) -> Result<T, Fault> {
        In(self.0.cast_const()).get()
    }
    pub fn put(self, value: T) -> Answer {
        self.put_at(0, value)
    }
    /// Nothing if the client does not want it.
    pub fn put_if_wanted(self, value: T) -> Answer {
        match self.is_null() {
            true => Ok(()),
            false => self.put(value),
        }
    }
    fn put_at(self, index: usize, value: T) -> Answer {
        mapped(self.0 as usize)?;
        // SAFETY: not null, so the client's word that there is room, at any alignment.
        unsafe { self.0.wrapping_add(index).write_unaligned(value) };
        Ok(())
    }
    /// As many values as there are, from the first place on.
    pub fn put_all(self, values: &[T]) -> Answer {
        let mut all = values.iter().enumerate();
        all.try_for_each(|(index, &value)| self.put_at(index, value))
    }
}

impl Out<u8> {
    /// Text with a NUL behind it, cut to the room that there is.
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
        mapped(self.0 as usize)?;
        // SAFETY: not null, so the client's word that a NUL-terminated string is there.
        let text = unsafe { CStr::from_ptr(self.0) };
        Ok(text.to_string_lossy().into_owned())
    }
}

/// Bytes of the host's memory, copied from an address on.
pub fn read(address: u64, into: &mut [u8]) -> Answer {
    if into.is_empty() {
        return Ok(());
    }
    mapped(address as usize)?;
    // SAFETY: not null, so the client's word that so many bytes are there; nobody else has `into`.
    unsafe {
        std::ptr::copy(address as usize as *const u8, into.as_mut_ptr(), into.len());
    }
    Ok(())
}

/// The same towards the host.
pub fn write(address: u64, bytes: &[u8]) -> Answer {
    if bytes.is_empty() {
        return Ok(());
    }
    mapped(address as usize)?;
    // SAFETY: not null, so the client's word that there is room for so many bytes.
    unsafe {
        std::ptr::copy(bytes.as_ptr(), address as usize as *mut u8, bytes.len());
    }
    Ok(())
}

/// From one place of the host's memory to another; they may overlap.
pub fn copy(from: u64, to: u64, bytes: u64) -> Answer {
    if bytes == 0 {
        return Ok(());
    }
    mapped(from as usize)?;
    mapped(to as usize)?;
    // SAFETY: neither is null, so the client's word that so many bytes are there.
    unsafe {
        std::ptr::copy(
            from as usize as *const u8,
            to as usize as *mut u8,
            bytes as usize,
        );
    }
    Ok(())
}

/// Calls a function of the client.
pub fn call(function: HostFunction, argument: usize) {
    if let Some(function) = function {
        // SAFETY: the client's word that it may be called with what it gave for it, on any thread.
        unsafe { function(argument as *mut c_void) };
    }
}

/// Calls what `cuStreamAddCallback` was given.
pub fn call_back(function: StreamCallback, stream: usize, status: u32, argument: usize) {
    if let Some(function) = function {
        // SAFETY: as in `call`.
        unsafe { function(stream, status, argument as *mut c_void) };
    }
}
