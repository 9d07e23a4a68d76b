//! cuBLAS, the baseline: row-major C = A B, or C = A B^T.
//!
//! cuBLAS expects column-major matrices, so a row-major matrix appears transposed to it. Since C^T = B^T A^T, swapping
//! the operands is enough. C = A B^T, with B stored as (N, K), is C^T = B A^T: cuBLAS sees B's memory as a column-major
//! B^T and transposes it. In its terms this is *TN*, transposed times not transposed; both operands are contiguous
//! along K.
use crate::dynamic::api;
use crate::primary::Primary;
use crate::{Buffer, Context, Elements, GpuError, search};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::rc::Rc;

type Handle = *mut c_void;
api!(Api {
    cublasCreate_v2: fn(*mut Handle) -> c_int;
    cublasDestroy_v2: fn(Handle) -> c_int;
    cublasGetVersion_v2: fn(Handle, *mut c_int) -> c_int;
    cublasGetStatusString: fn(c_int) -> *const c_char;
    cublasSetStream_v2: fn(Handle, *mut c_void) -> c_int;
    cublasSetWorkspace_v2: fn(Handle, *mut c_void, usize) -> c_int;
    cublasGemmEx: fn(
        Handle, c_int, c_int, c_int, c_int, c_int, *const c_void, // transpositions, m, n, k, alpha
        *const c_void, c_int, c_int, *const c_void, c_int, c_int, // A, B: pointer, type, stride
        *const c_void, *mut c_void, c_int, c_int, // beta, C
        c_int, c_int // compute type, algorithm
    ) -> c_int;
});

// Values from NVIDIA's headers (library_types.h, cublas_api.h), under their names.
pub(crate) const CUDA_R_32F: c_int = 0;
pub(crate) const CUDA_R_16F: c_int = 2;
pub(crate) const CUDA_R_16BF: c_int = 14;
pub(crate) const CUBLAS_COMPUTE_32F: c_int = 68;
const CUBLAS_OP_N: c_int = 0;
pub(crate) const CUBLAS_OP_T: c_int = 1;
const CUBLAS_GEMM_DEFAULT: c_int = -1;

/// The size of cuBLAS's workspace; it uses at most 32 MiB on Hopper.
pub(crate) const WORKSPACE_BYTES: usize = 64 << 20;

/// How B is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StorageOfB {
    /// k x n, row-major: contiguous along N, as in C = A B.
    RowMajor,
    /// n x k, row-major: contiguous along K, as in C = A B^T.
    KMajor,
}

impl StorageOfB {
    /// Rows and columns in memory.
    pub(crate) fn sides(self, n: usize, k: usize) -> [usize; 2] {
        match self {
            Self::RowMajor => [k, n],
            Self::KMajor => [n, k],
        }
    }
}

/// A cuBLAS handle on a [`Context`]'s stream, with 64 MiB of workspace.
pub struct Cublas {
    api: Api,
    handle: Handle,
    context: Rc<Primary>,
    /// cuBLAS holds its address.
    workspace: Buffer,
}

impl Cublas {
    /// Finds cuBLAS where [`Nvrtc::find`](crate::Nvrtc::find) looks for NVRTC, and opens it.
    ///
    /// # Errors
    /// [`GpuError::NoCublas`]; [`GpuError::Cublas`] if it is not compatible with the driver.
    pub fn new(gpu: &Context) -> Result<Self, GpuError> {
        let found = search::load("cublas", &["cublasLt"], None)
            .map_err(|searched| GpuError::NoCublas { searched })?;
        let api = Api::load(found.library)?;
        let workspace = gpu.alloc("workspace", WORKSPACE_BYTES)?;
        gpu.context.bind()?;
        let mut handle = null_mut();
        // SAFETY: a valid place for the handle, in the context that is current.
        api.check("cublasCreate", unsafe {
            (api.cublasCreate_v2)(&raw mut handle)
        })?;
        let this = Self {
            api,
            handle,
            context: Rc::clone(&gpu.context),
            workspace,
        };
        // SAFETY: a live handle, the stream of the current context, and device memory that lives as long as the handle.
        // The stream is set first, because setting it discards the workspace.
        unsafe {
            this.api.check(
                "cublasSetStream",
                (api.cublasSetStream_v2)(handle, gpu.context.stream().cast()),
            )?;
            let workspace = this.workspace.address() as *mut c_void;
            this.api.check(
                "cublasSetWorkspace",
                (api.cublasSetWorkspace_v2)(handle, workspace, WORKSPACE_BYTES),
            )?;
        }
        Ok(this)
    }

    /// The version, such as `13.0.2`.
    pub fn version(&self) -> String {
        let mut version = 0;
        // SAFETY: a live handle and a valid place for an int.
        let status = unsafe { (self.api.cublasGetVersion_v2)(self.handle, &raw mut version) };
        if status == 0 {
            version_text(version.unsigned_abs() as usize)
        } else {
            "unknown".into()
        }
    }

    /// Enqueues C = A B, row-major: A m x k, B k x n and C m x n, computed in f32 (`CUBLAS_COMPUTE_32F`).
    ///
    /// # Errors
    /// [`GpuError::Size`], [`GpuError::Dimension`], [`GpuError::Cublas`].
    pub fn gemm(
        &self,
        elements: Elements,
        buffers: [&Buffer; 3],
        shape: [usize; 3],
    ) -> Result<(), GpuError> {
        self.multiply(elements, StorageOfB::RowMajor, buffers, shape)
    }

    /// Enqueues C = A B^T, row-major: A m x k, B n x k and C m x n, computed in f32 (`CUBLAS_COMPUTE_32F`).
    ///
    /// # Errors
    /// [`GpuError::Size`], [`GpuError::Dimension`], [`GpuError::Cublas`].
    pub fn gemm_tn(
        &self,
        elements: Elements,
        buffers: [&Buffer; 3],
        shape: [usize; 3],
    ) -> Result<(), GpuError> {
        self.multiply(elements, StorageOfB::KMajor, buffers, shape)
    }

    fn multiply(
        &self,
        elements: Elements,
        storage_of_b: StorageOfB,
        [a, b, c]: [&Buffer; 3],
        [m, n, k]: [usize; 3],
    ) -> Result<(), GpuError> {
        let (input, output) = match elements {
            Elements::F16 => (CUDA_R_16F, CUDA_R_16F),
            Elements::F16ToF32 => (CUDA_R_16F, CUDA_R_32F),
            Elements::Bf16 => (CUDA_R_16BF, CUDA_R_16BF),
            Elements::F32 => (CUDA_R_32F, CUDA_R_32F),
        };
        a.holds("A", [m, k], bytes(input))?;
        b.holds("B", storage_of_b.sides(n, k), bytes(input))?;
        c.holds("C", [m, n], bytes(output))?;
        let [m, n, k] = [dimension(m)?, dimension(n)?, dimension(k)?];
        // The stride of B is the length of its rows in memory.
        let (op_b, stride_b) = match storage_of_b {
            StorageOfB::RowMajor => (CUBLAS_OP_N, n),
            StorageOfB::KMajor => (CUBLAS_OP_T, k),
        };
        let (alpha, beta) = (1.0f32, 0.0f32);
        self.context.bind()?;
        // SAFETY: a live handle, operands that hold their matrices (checked above), and alpha and beta on the host in
        // the compute type, read before the call returns. Column-major means that B comes first.
        let status = unsafe {
            (self.api.cublasGemmEx)(
                self.handle,
                op_b,
                CUBLAS_OP_N,
                n,
                m,
                k,
                (&raw const alpha).cast(),
                b.address() as *const c_void,
                input,
                stride_b,
                a.address() as *const c_void,
                input,
                k,
                (&raw const beta).cast(),
                c.address() as *mut c_void,
                output,
                n,
                CUBLAS_COMPUTE_32F,
                CUBLAS_GEMM_DEFAULT,
            )
        };
        self.api.check("cublasGemmEx", status)
    }
}

impl Drop for Cublas {
    fn drop(&mut self) {
        let _ = self.context.synchronize();
        // SAFETY: a live handle, destroyed once, before its workspace.
        unsafe { (self.api.cublasDestroy_v2)(self.handle) };
    }
}

impl Api {
    fn check(&self, call: &'static str, status: c_int) -> Result<(), GpuError> {
        check(call, status, self.cublasGetStatusString)
    }
}

/// Converts the status of a cuBLAS or cuBLASLt call into a `Result`, with the library's own `text` for it.
pub(crate) fn check(
    call: &'static str,
    status: c_int,
    text: unsafe extern "C" fn(c_int) -> *const c_char,
) -> Result<(), GpuError> {
    if status == 0 {
        return Ok(());
    }
    // SAFETY: for any status both libraries return static, NUL-terminated text.
    let message = unsafe { CStr::from_ptr(text(status)) };
    Err(GpuError::Cublas {
        call,
        message: message.to_string_lossy().into_owned(),
    })
}

/// `130002` is 13.0.2.
pub(crate) fn version_text(version: usize) -> String {
    format!(
        "{}.{}.{}",
        version / 10_000,
        version / 100 % 100,
        version % 100
    )
}

/// Converts a dimension to the type that cuBLAS takes.
pub(crate) fn dimension(size: usize) -> Result<c_int, GpuError> {
    c_int::try_from(size).map_err(|_| GpuError::Dimension { size })
}

/// Bytes per element.
fn bytes(kind: c_int) -> usize {
    if kind == CUDA_R_32F { 4 } else { 2 }
}
