//! A third-party GEMM from a shared library, as an opponent.
use crate::cublas::dimension;
use crate::primary::Primary;
use crate::{Buffer, Context, GpuError, dynamic};
use std::ffi::{c_int, c_void};
use std::path::Path;
use std::rc::Rc;

/// M, N, K; A, B and C on the device; the stream.
type Gemm = unsafe extern "C" fn(
    c_int,
    c_int,
    c_int,
    *const c_void,
    *const c_void,
    *mut c_void,
    *mut c_void,
) -> c_int;

/// The function `gemm_bf16_tn` of a shared library, which enqueues C = A B^T in bf16 on a stream:
///
/// ```c
/// int gemm_bf16_tn(int m, int n, int k, const void* a, const void* b, void* c, cudaStream_t stream);
/// ```
///
/// A is m x k, B n x k and C m x n, all row-major and without gaps. It returns 0 if the product is enqueued, 1 if it does not multiply this
/// size, and another code if it failed. A call with the size of the previous call must not allocate or wait, since a graph may be captured.
pub struct ExternalGemm {
    gemm: Gemm,
    context: Rc<Primary>,
}

impl ExternalGemm {
    /// Opens the library `file`, which stays open until the process ends.
    ///
    /// # Errors
    /// [`GpuError::ExternalGemm`] if it is not a shared library with this function.
    pub fn open(gpu: &Context, file: &Path) -> Result<Self, GpuError> {
        let unfit = |reason: String| GpuError::ExternalGemm {
            file: file.display().to_string(),
            reason,
        };
        // A name without a folder would be searched for in the system's folders.
        let file = file
            .canonicalize()
            .map_err(|error| unfit(error.to_string()))?;
        gpu.context.bind()?;
        let library = dynamic::open(&file).map_err(|error| unfit(error.to_string()))?;
        // SAFETY: the type is that of the declaration above, which the library's author has to follow.
        let gemm = unsafe { dynamic::symbol(library, "gemm_bf16_tn") }
            .map_err(|error| unfit(error.to_string()))?;
        Ok(Self {
            gemm,
            context: Rc::clone(&gpu.context),
        })
    }

    /// Enqueues C = A B^T, row-major: A m x k, B n x k and C m x n, in bf16. Returns whether the library multiplies this
    /// size.
    ///
    /// # Errors
    /// [`GpuError::Size`], [`GpuError::Dimension`], [`GpuError::Driver`], [`GpuError::ExternalGemmFailed`].
    pub fn run(&self, [a, b, c]: [&Buffer; 3], [m, n, k]: [usize; 3]) -> Result<bool, GpuError> {
        a.holds("A", [m, k], 2)?;
        b.holds("B", [n, k], 2)?;
        c.holds("C", [m, n], 2)?;
        let [m, n, k] = [dimension(m)?, dimension(n)?, dimension(k)?];
        self.context.bind()?;
        // SAFETY: the operands hold their matrices (checked above), and the stream belongs to the context that is current.
        let code = unsafe {
            (self.gemm)(
                m,
                n,
                k,
                a.address() as *const c_void,
                b.address() as *const c_void,
                c.address() as *mut c_void,
                self.context.stream().cast(),
            )
        };
        match code {
            0 => Ok(true),
            1 => Ok(false),
            code => Err(GpuError::ExternalGemmFailed {
                code,
                size: [m, n, k],
            }),
        }
    }
}
