//! The names of the kernels that a library launches. cuBLAS chooses among hundreds, and a name such as
//! `nvjet_sm90_hsh_128x128_64x6_2x1_v_bz_NNT` states the tile, the stages and the cluster.
use crate::driver::check;
use crate::dynamic::{self, api};
use crate::graph::Captured;
use crate::{Context, GpuError};
use cudarc::driver::sys::{self, CUresult};
use std::ffi::{CStr, c_char};
use std::mem::MaybeUninit;
use std::ptr::null;
use std::sync::OnceLock;

// These exist since CUDA 12.3. cudarc is restricted to what every 12.0 driver has, so they are looked up here.
api!(Names {
    cuFuncGetName: fn(*mut *const c_char, sys::CUfunction) -> CUresult;
    cuKernelGetName: fn(*mut *const c_char, sys::CUkernel) -> CUresult;
});

/// The names of the kernels that `enqueue` launches on the stream, in the driver's order of graph nodes. They are
/// captured and do not run. Empty if the driver is older than CUDA 12.3 and does not report names.
///
/// # Errors
/// The error of `enqueue`; [`GpuError::Driver`], also if it does something that cannot be captured.
pub fn kernels_of(
    gpu: &Context,
    enqueue: impl FnOnce() -> Result<(), GpuError>,
) -> Result<Vec<String>, GpuError> {
    let Some(names) = names() else {
        return Ok(Vec::new());
    };
    let captured = Captured::new(&gpu.context, enqueue)?;
    let mut found = Vec::new();
    for node in captured.nodes()? {
        found.extend(names.of(node)?);
    }
    Ok(found)
}

/// The two functions, if libcuda has them.
fn names() -> Option<Names> {
    static NAMES: OnceLock<Option<Names>> = OnceLock::new();
    let load = || {
        let name = if cfg!(windows) {
            "nvcuda.dll"
        } else {
            "libcuda.so.1"
        };
        Names::load(dynamic::open(name).ok()?).ok()
    };
    *NAMES.get_or_init(load)
}

impl Names {
    /// The name of the kernel that a node of a live graph launches; none for a copy or fill.
    fn of(&self, node: sys::CUgraphNode) -> Result<Option<String>, GpuError> {
        // As a number, because a newer driver may have types that the enum lacks.
        let mut kind = 0u32;
        // SAFETY: a node of a live graph and a valid place for its type, a C enum of 32 bits.
        check("cuGraphNodeGetType", unsafe {
            sys::cuGraphNodeGetType(node, (&raw mut kind).cast())
        })?;
        if kind != sys::CUgraphNodeType::CU_GRAPH_NODE_TYPE_KERNEL as u32 {
            return Ok(None);
        }
        let mut params = MaybeUninit::<sys::CUDA_KERNEL_NODE_PARAMS>::zeroed();
        // SAFETY: a kernel node and a valid place for its parameters, of which every field may be zero: pointers and
        // numbers. They are read only if the driver succeeded.
        let params = unsafe {
            let result = sys::cuGraphKernelNodeGetParams_v2(node, params.as_mut_ptr());
            check("cuGraphKernelNodeGetParams", result)?;
            params.assume_init()
        };
        let mut text = null();
        // A kernel belongs to a module (`func`) or to a library (`kern`); the node has the handle with which it was
        // launched.
        // SAFETY: a handle that the driver has just given, and a valid place for a pointer.
        let (call, result) = unsafe {
            match params.func.is_null() {
                false => (
                    "cuFuncGetName",
                    (self.cuFuncGetName)(&raw mut text, params.func),
                ),
                true => (
                    "cuKernelGetName",
                    (self.cuKernelGetName)(&raw mut text, params.kern),
                ),
            }
        };
        check(call, result)?;
        if text.is_null() {
            return Ok(None);
        }
        // SAFETY: the driver succeeded: NUL-terminated text that it keeps as long as the kernel is loaded.
        let text = unsafe { CStr::from_ptr(text) };
        Ok(Some(text.to_string_lossy().into_owned()))
    }
}
