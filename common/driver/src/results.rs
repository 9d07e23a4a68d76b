//! Names and descriptions of result codes.
use crate::entry::entry_points;
use crate::error::{Fault, INVALID_VALUE, describe};
use crate::host::Out;

entry_points! {
    /// The name of a result; null for an unknown code.
    6000 fn cuGetErrorName(code: u32, name: Out<usize>) {
        match describe(code) {
            Some([known, _]) => name.put(known.as_ptr() as usize),
            None => { name.put(0)?; Err(Fault::silent(INVALID_VALUE)) }
        }
    }
    /// The description of a result; null for an unknown code.
    6000 fn cuGetErrorString(code: u32, text: Out<usize>) {
        match describe(code) {
            Some([_, known]) => text.put(known.as_ptr() as usize),
            None => { text.put(0)?; Err(Fault::silent(INVALID_VALUE)) }
        }
    }
    /// Profiling is controlled by `GEMM_EMULATE`, not by calls.
    4000 fn cuProfilerStart() { Ok(()) }
    /// Profiling is controlled by `GEMM_EMULATE`, not by calls.
    4000 fn cuProfilerStop() { Ok(()) }
}
