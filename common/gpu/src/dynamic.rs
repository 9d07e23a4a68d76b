//! C libraries, loaded at run time.
use crate::GpuError;
use libloading::Library;
use std::ffi::OsStr;

/// Opens a library and keeps it for the life of the process, as NVIDIA's libraries expect.
pub(crate) fn open(name: impl AsRef<OsStr>) -> Result<&'static Library, libloading::Error> {
    // SAFETY: loading runs the library's initializers. It is one of NVIDIA's, whose initializers have no preconditions,
    // and it comes from where the user keeps CUDA; or the user names it in order to run it.
    let library = unsafe { Library::new(name.as_ref()) }?;
    Ok(Box::leak(Box::new(library)))
}

/// The address of `name` in `library`, as a function of type `F`.
///
/// # Safety
/// `F` is the type that the library's C header declares for `name`.
pub(crate) unsafe fn symbol<F: Copy>(library: &Library, name: &str) -> Result<F, GpuError> {
    // SAFETY: the caller guarantees the type.
    let found = unsafe { library.get::<F>(name.as_bytes()) };
    Ok(*found.map_err(|error| GpuError::Library {
        reason: error.to_string(),
    })?)
}

/// A struct of a library's functions, each named and typed as in its C header, filled by `load`.
macro_rules! api {
    ($name:ident { $($function:ident: fn($($argument:ty),*) -> $result:ty;)* }) => {
        #[allow(non_snake_case)] // the C header's names
        #[derive(Clone, Copy)]
        struct $name { $($function: unsafe extern "C" fn($($argument),*) -> $result,)* }

        impl $name {
            fn load(library: &'static libloading::Library) -> Result<Self, crate::GpuError> {
                // SAFETY: the types below are those of the C header. The library is never closed,
                // so the addresses stay valid.
                unsafe {
                    Ok(Self { $($function: crate::dynamic::symbol(library, stringify!($function))?,)* })
                }
            }
        }
    };
}
pub(crate) use api;
