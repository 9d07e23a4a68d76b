//! How a C function is exported: under its name, and in a table for `cuGetProcAddress`.
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Answer, UNKNOWN};
use crate::log;

/// An exported function.
pub struct EntryPoint {
    /// With its suffix: `cuMemAlloc_v2`.
    pub name: &'static str,
    /// The CUDA version that introduced it: 3020 is 3.2.
    pub since: i32,
    /// Its address.
    pub address: usize,
    /// The types of its arguments, as they are written here.
    #[cfg(test)]
    pub arguments: &'static [&'static str],
}

/// Exports functions under their C names. The number before each is the CUDA version that introduced it. A function's
/// body evaluates to an [`Answer`]; no panic crosses into the client.
macro_rules! entry_points {
    ($($(#[$doc:meta])* $since:literal fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $body:block)*) => {
        $(
            $(#[$doc])*
            // SAFETY: a name of the driver's C interface; a process loads only one library that defines it.
            #[unsafe(no_mangle)]
            #[allow(non_snake_case)]
            pub extern "C" fn $name($($argument: $kind),*) -> u32 {
                crate::entry::answer(stringify!($name), move || -> crate::error::Answer { $body })
            }
        )*

        /// The functions that this file exports.
        pub fn entry_points() -> Vec<crate::entry::EntryPoint> {
            vec![$(crate::entry::EntryPoint {
                name: stringify!($name),
                since: $since,
                address: $name as *const () as usize,
                #[cfg(test)]
                arguments: &[$(stringify!($kind)),*],
            }),*]
        }
    };
}
pub(crate) use entry_points;

/// Runs a call and converts its answer to a `CUresult`.
pub fn answer(name: &'static str, call: impl FnOnce() -> Answer) -> u32 {
    let answer = match catch_unwind(AssertUnwindSafe(call)) {
        Ok(answer) => answer,
        Err(_) => {
            log::refused(
                name,
                UNKNOWN,
                Some("this is a bug of the emulator: please report it"),
            );
            return UNKNOWN;
        }
    };
    match answer {
        Ok(()) => {
            log::called(name);
            0
        }
        Err(fault) => {
            log::refused(name, fault.code, fault.why.as_deref());
            fault.code
        }
    }
}
