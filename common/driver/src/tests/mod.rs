//! The C interface, called as a client calls it, by numbers and addresses.
//!
//! All tests of a process share one device, as a client's threads do; each works in a context of its own.
mod arguments;
mod contexts;
mod every_function;
mod fuzz;
mod graph_nodes;
mod graphs;
mod host_memory;
mod launches;
mod linking;
mod lookup;
mod meaning;
mod pools;

use crate::context::{cuCtxCreate_v2, cuCtxDestroy_v2};
use crate::device::cuInit;
use crate::error::describe;
use crate::host::{In, Out, Plain, Text};
use crate::memory::{cuMemAlloc_v2, cuMemcpyDtoH_v2, cuMemcpyHtoD_v2};
use crate::module::{cuModuleGetFunction, cuModuleLoadData};
use crate::table::Handle;

/// Adds `by` to each of `n` numbers; block `b` begins at `256 b`.
const ADD: &str = "
.version 8.0
.target sm_90
.address_size 64
.global .align 4 .u32 launches;
.visible .entry add(.param .u64 data, .param .u32 by, .param .u32 n)
{
    .reg .pred %p;
    .reg .b32 %r<6>;
    .reg .b64 %d<4>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %tid.x;
    mad.lo.u32 %r1, %r1, 256, %r2;
    ld.param.u32 %r3, [n];
    setp.ge.u32 %p, %r1, %r3;
    @%p ret;
    ld.param.u64 %d1, [data];
    mul.wide.u32 %d2, %r1, 4;
    add.u64 %d1, %d1, %d2;
    ld.param.u32 %r4, [by];
    ld.global.u32 %r5, [%d1];
    add.u32 %r5, %r5, %r4;
    st.global.u32 [%d1], %r5;
    setp.ne.u32 %p, %r1, 0;
    @%p ret;
    mov.u64 %d3, launches;
    red.global.add.u32 [%d3], 1;
    ret;
}
.visible .entry bare() { ret; }
";

fn out<T: Plain>(place: &mut T) -> Out<T> {
    Out::at(std::ptr::from_mut(place) as usize)
}

fn input<T: Plain>(values: &[T]) -> In<T> {
    In::at(values.as_ptr() as usize)
}

fn text(words: &std::ffi::CStr) -> Text {
    Text::at(words.as_ptr() as usize)
}

/// That a call succeeded.
#[track_caller]
fn ok(code: u32) {
    assert_eq!(code, 0, "{:?}", describe(code).map(|[name, _]| name));
}

/// A value that a call writes.
#[track_caller]
fn got<T: Plain + Default>(call: impl FnOnce(Out<T>) -> u32) -> T {
    let mut value = T::default();
    ok(call(out(&mut value)));
    value
}

/// A context, current on this thread until it is dropped.
struct Current(Handle);

impl Current {
    fn new() -> Self {
        ok(cuInit(0));
        Self(got(|context| cuCtxCreate_v2(context, 0, 0)))
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        cuCtxDestroy_v2(self.0);
    }
}

fn module(ptx: &str) -> Handle {
    let ptx = std::ffi::CString::new(ptx).expect("no NUL");
    got(|module| cuModuleLoadData(module, ptx.as_ptr() as usize))
}

fn function(module: Handle, name: &std::ffi::CStr) -> Handle {
    got(|function| cuModuleGetFunction(function, module, text(name)))
}

fn upload(values: &[u32]) -> u64 {
    let bytes = size_of_val(values);
    let address = got(|address| cuMemAlloc_v2(address, bytes));
    ok(cuMemcpyHtoD_v2(address, values.as_ptr() as u64, bytes));
    address
}

fn download(address: u64, count: usize) -> Vec<u32> {
    let mut values = vec![0u32; count];
    ok(cuMemcpyDtoH_v2(
        values.as_mut_ptr() as u64,
        address,
        4 * count,
    ));
    values
}
