//! cuBLASLt with the fastest of its algorithms: the strongest baseline.
use crate::cublas::{
    CUBLAS_COMPUTE_32F, CUBLAS_OP_T, CUDA_R_16BF, CUDA_R_16F, CUDA_R_32F, StorageOfB,
    WORKSPACE_BYTES, check, dimension, version_text,
};
use crate::dynamic::api;
use crate::primary::Primary;
use crate::{Buffer, Contestant, Context, GpuError, Samples, Timing, alternate, search};
use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;
use std::rc::Rc;

type Opaque = *mut c_void;
api!(Api {
    cublasLtCreate: fn(*mut Opaque) -> c_int;
    cublasLtDestroy: fn(Opaque) -> c_int;
    cublasLtGetVersion: fn() -> usize;
    cublasLtGetStatusString: fn(c_int) -> *const c_char;
    cublasLtMatmulDescCreate: fn(*mut Opaque, c_int, c_int) -> c_int;
    cublasLtMatmulDescSetAttribute: fn(Opaque, c_int, *const c_void, usize) -> c_int;
    cublasLtMatmulDescDestroy: fn(Opaque) -> c_int;
    cublasLtMatrixLayoutCreate: fn(*mut Opaque, c_int, u64, u64, i64) -> c_int;
    cublasLtMatrixLayoutDestroy: fn(Opaque) -> c_int;
    cublasLtMatmulPreferenceCreate: fn(*mut Opaque) -> c_int;
    cublasLtMatmulPreferenceSetAttribute: fn(Opaque, c_int, *const c_void, usize) -> c_int;
    cublasLtMatmulPreferenceDestroy: fn(Opaque) -> c_int;
    cublasLtMatmulAlgoGetHeuristic: fn(
        Opaque, Opaque, Opaque, Opaque, Opaque, Opaque, Opaque, // handle, operation, A, B, C, D, preference
        c_int, *mut Candidate, *mut c_int // how many at most, where to, how many there are
    ) -> c_int;
    cublasLtMatmulAlgoConfigSetAttribute: fn(*mut Algorithm, c_int, *const c_void, usize) -> c_int;
    cublasLtMatmulAlgoCheck: fn(
        Opaque, Opaque, Opaque, Opaque, Opaque, Opaque, // handle, operation, A, B, C, D
        *const Algorithm, *mut Candidate // what it is and needs
    ) -> c_int;
    cublasLtMatmul: fn(
        Opaque, Opaque, *const c_void, // handle, operation, alpha
        *const c_void, Opaque, *const c_void, Opaque, // A, B: pointer, layout
        *const c_void, *const c_void, Opaque, *mut c_void, Opaque, // beta, C, D
        *const Algorithm, *mut c_void, usize, *mut c_void // algorithm, workspace, stream
    ) -> c_int;
});

const CUBLASLT_MATMUL_DESC_TRANSA: c_int = 3;
const CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: c_int = 1;
const CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION: c_int = 5; // a u32
const CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID: c_int = 8; // a u16

/// `cublasLtClusterShape_t`: 1x1, 2x1, 4x1, 1x2, 2x2, 4x2, 1x4, 2x4.
const CLUSTER_SHAPES: std::ops::RangeInclusive<u16> = 2..=9;
/// Values that cuBLASLt 13.1 accepts for its Hopper algorithm. They select the schedule: consumers that share a tile
/// (cooperative), or alternate (ping-pong).
const CUSTOM_OPTIONS: std::ops::Range<u32> = 0..8;

/// `cublasLtMatmulAlgo_t`.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq)]
struct Algorithm([u64; 8]);

/// `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Candidate {
    algorithm: Algorithm,
    workspace_bytes: usize,
    status: c_int,
    waves: f32,
    reserved: [c_int; 4],
}

/// How many candidates [`CublasLt::tune`] requests from the heuristic. cuBLASLt 13.1 offers 8 on an H200, however many
/// are requested.
const CANDIDATES: usize = 64;

/// How many of the fastest in a first round of timing are timed again.
const FINALISTS: usize = 16;

/// cuBLASLt for one shape, with the fastest algorithms for it.
pub struct CublasLt {
    algorithms: Vec<Algorithm>,
    timed: usize,
    description: Part,
    layouts: [Part; 3],
    handle: Part,
    api: Api,
    workspace: Buffer,
    context: Rc<Primary>,
    storage_of_b: StorageOfB,
    shape: [usize; 3],
}

impl CublasLt {
    /// Requests algorithms from the heuristic for C = A B (row-major f16, computed in f32, 64 MiB of workspace), varies
    /// the cluster shape and the schedule of each, times all that run, rotating over these sets of buffers [A, B, C],
    /// and keeps the `kept` fastest, in order. Each C is overwritten.
    ///
    /// # Errors
    /// [`GpuError::NoCublas`], [`GpuError::Size`], [`GpuError::Dimension`], [`GpuError::Cublas`].
    pub fn tune(
        gpu: &Context,
        sets: &[[&Buffer; 3]],
        shape: [usize; 3],
        kept: usize,
    ) -> Result<Self, GpuError> {
        Self::open(gpu, CUDA_R_16F, StorageOfB::RowMajor, shape)?.tuned(gpu, sets, kept)
    }

    /// The same for C = A B^T in bf16, with B stored as n x k.
    ///
    /// # Errors
    /// As [`tune`](Self::tune).
    pub fn tune_bf16_tn(
        gpu: &Context,
        sets: &[[&Buffer; 3]],
        shape: [usize; 3],
        kept: usize,
    ) -> Result<Self, GpuError> {
        Self::open(gpu, CUDA_R_16BF, StorageOfB::KMajor, shape)?.tuned(gpu, sets, kept)
    }

    /// Keeps the `kept` fastest algorithms.
    fn tuned(self, gpu: &Context, sets: &[[&Buffer; 3]], kept: usize) -> Result<Self, GpuError> {
        let mut this = self;
        let [m, n, k] = this.shape;
        let [first, ..] = *sets else {
            return Err(GpuError::Cublas {
                call: "cublasLtMatmul",
                message: "no buffers to time it on".to_owned(),
            });
        };
        for set in sets {
            this.fit(*set)?;
        }
        let mut candidates = this.with_variants(this.candidates()?);
        // Some of the offered algorithms may still refuse to run.
        candidates.retain(|algorithm| this.enqueue(algorithm, first).is_ok());
        this.timed = candidates.len();
        let mut timed = this.by_time(gpu, sets, candidates, 1)?;
        timed.truncate(FINALISTS);
        this.algorithms = this.by_time(gpu, sets, timed, 9)?;
        this.algorithms.truncate(kept);
        if this.algorithms.is_empty() {
            return Err(GpuError::Cublas {
                call: "cublasLtMatmulAlgoGetHeuristic",
                message: format!("no algorithm for {m} x {n} x {k}"),
            });
        }
        Ok(this)
    }

    /// Sorts these algorithms by time, the fastest first.
    fn by_time(
        &self,
        gpu: &Context,
        sets: &[[&Buffer; 3]],
        algorithms: Vec<Algorithm>,
        rounds: usize,
    ) -> Result<Vec<Algorithm>, GpuError> {
        let contestants: Vec<Contestant<'_>> = algorithms
            .iter()
            .map(|algorithm| Contestant {
                name: String::new(),
                enqueue: Box::new(|rotation| {
                    let set = sets.get(rotation).copied();
                    set.map_or(Ok(()), |set| self.enqueue(algorithm, set))
                }),
            })
            .collect();
        // A short product takes less time than its launch, so a sample is a graph of several.
        let is_short = self.shape.iter().product::<usize>() <= 1 << 33;
        let timing = Timing {
            rounds,
            warmup: 1,
            launches_per_sample: if is_short { 10 } else { 1 },
            graph: is_short,
            rotations: sets.len().max(1),
            ..Timing::default()
        };
        let samples = alternate(gpu, &contestants, &timing)?;
        drop(contestants);
        let mut timed: Vec<(Algorithm, f64)> = algorithms
            .into_iter()
            .zip(samples.iter().map(Samples::median))
            .collect();
        timed.sort_by(|x, y| x.1.total_cmp(&y.1));
        Ok(timed.into_iter().map(|(algorithm, _)| algorithm).collect())
    }

    /// How many algorithms were timed.
    pub fn timed(&self) -> usize {
        self.timed
    }

    /// How many of them were kept: at least one, at most as many as requested.
    pub fn kept(&self) -> usize {
        self.algorithms.len()
    }

    /// Enqueues the product with one of the kept algorithms; A, B, C have the shape that was tuned for, m, n, k.
    ///
    /// # Errors
    /// [`GpuError::Size`], [`GpuError::Cublas`]; also if fewer algorithms were kept.
    pub fn run(&self, which: usize, buffers: [&Buffer; 3]) -> Result<(), GpuError> {
        let algorithm = self.algorithms.get(which).ok_or_else(|| GpuError::Cublas {
            call: "cublasLtMatmul",
            message: format!("{} algorithms were kept", self.algorithms.len()),
        })?;
        self.enqueue(algorithm, buffers)
    }

    /// The version, such as `13.0.2`.
    pub fn version(&self) -> String {
        // SAFETY: the function has no arguments.
        version_text(unsafe { (self.api.cublasLtGetVersion)() })
    }

    /// cuBLASLt for matrices of this type, without an algorithm yet.
    fn open(
        gpu: &Context,
        elements: c_int,
        storage_of_b: StorageOfB,
        shape: [usize; 3],
    ) -> Result<Self, GpuError> {
        let found = search::load("cublasLt", &[], None)
            .map_err(|searched| GpuError::NoCublas { searched })?;
        let api = Api::load(found.library)?;
        let workspace = gpu.alloc("workspace", WORKSPACE_BYTES)?;
        let [m, n, k] = shape;
        gpu.context.bind()?;
        // SAFETY: each call below gets a valid place for its handle, in the context that is current.
        let handle = Part::new(&api, "cublasLtCreate", api.cublasLtDestroy, |part| unsafe {
            (api.cublasLtCreate)(part)
        })?;
        let (call, destroy) = ("cublasLtMatmulDescCreate", api.cublasLtMatmulDescDestroy);
        // SAFETY: as above.
        let description = Part::new(&api, call, destroy, |part| unsafe {
            (api.cublasLtMatmulDescCreate)(part, CUBLAS_COMPUTE_32F, CUDA_R_32F)
        })?;
        if storage_of_b == StorageOfB::KMajor {
            let transposed = CUBLAS_OP_T; // cuBLAS's A is our B, as in cublas.rs
            // SAFETY: a live handle, and an attribute of its own size.
            let status = unsafe {
                (api.cublasLtMatmulDescSetAttribute)(
                    description.raw,
                    CUBLASLT_MATMUL_DESC_TRANSA,
                    (&raw const transposed).cast(),
                    size_of::<c_int>(),
                )
            };
            api.check("cublasLtMatmulDescSetAttribute", status)?;
        }
        let layout = |rows: usize, columns: usize| {
            let (rows, columns) = (dimension(rows)?, dimension(columns)?);
            let (call, destroy) = (
                "cublasLtMatrixLayoutCreate",
                api.cublasLtMatrixLayoutDestroy,
            );
            let [rows, columns] = [rows, columns].map(|side| side.unsigned_abs().into());
            let stride = rows as i64; // of a column: at most 32 bits
            // SAFETY: as above.
            Part::new(&api, call, destroy, |part| unsafe {
                (api.cublasLtMatrixLayoutCreate)(part, elements, rows, columns, stride)
            })
        };
        // Column-major, as in cublas.rs: B, then A, then C.
        let [rows_of_b, columns_of_b] = storage_of_b.sides(n, k);
        let of_b = layout(columns_of_b, rows_of_b)?;
        let layouts = [of_b, layout(k, m)?, layout(n, m)?];
        let context = Rc::clone(&gpu.context);
        Ok(Self {
            algorithms: Vec::new(),
            timed: 0,
            description,
            layouts,
            handle,
            api,
            workspace,
            context,
            storage_of_b,
            shape,
        })
    }

    /// The heuristic's algorithms, best guess first.
    fn candidates(&self) -> Result<Vec<Algorithm>, GpuError> {
        let api = &self.api;
        let (call, destroy) = (
            "cublasLtMatmulPreferenceCreate",
            api.cublasLtMatmulPreferenceDestroy,
        );
        // SAFETY: a valid place for the handle.
        let preference = Part::new(api, call, destroy, |part| unsafe {
            (api.cublasLtMatmulPreferenceCreate)(part)
        })?;
        let workspace_bytes = WORKSPACE_BYTES;
        let mut found = [Candidate::default(); CANDIDATES];
        let mut count = 0;
        let [b, a, c] = &self.layouts;
        // SAFETY: live handles, an attribute of its own size, room for as many candidates as asked for.
        unsafe {
            let status = (api.cublasLtMatmulPreferenceSetAttribute)(
                preference.raw,
                CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                (&raw const workspace_bytes).cast(),
                size_of::<usize>(),
            );
            api.check("cublasLtMatmulPreferenceSetAttribute", status)?;
            let status = (api.cublasLtMatmulAlgoGetHeuristic)(
                self.handle.raw,
                self.description.raw,
                b.raw,
                a.raw,
                c.raw,
                c.raw,
                preference.raw,
                CANDIDATES as c_int,
                found.as_mut_ptr(),
                &raw mut count,
            );
            api.check("cublasLtMatmulAlgoGetHeuristic", status)?;
        }
        let found = found.iter().take(count.unsigned_abs() as usize);
        Ok(found
            .filter(|candidate| candidate.status == 0)
            .map(|candidate| candidate.algorithm)
            .collect())
    }

    /// These algorithms, and all variants of cluster shape and custom option that `cublasLtMatmulAlgoCheck` accepts
    /// within the workspace.
    fn with_variants(&self, offered: Vec<Algorithm>) -> Vec<Algorithm> {
        let mut all = offered.clone();
        for one in &offered {
            for (cluster, option) in CLUSTER_SHAPES
                .flat_map(|cluster| CUSTOM_OPTIONS.map(move |option| (cluster, option)))
            {
                let variant = self.variant(*one, cluster, option);
                all.extend(variant.filter(|variant| !all.contains(variant)));
            }
        }
        all
    }

    /// The algorithm with another cluster shape and custom option, if cuBLASLt supports that for this shape.
    fn variant(&self, algorithm: Algorithm, cluster: u16, option: u32) -> Option<Algorithm> {
        let (api, mut variant, mut needs) = (&self.api, algorithm, Candidate::default());
        let [b, a, c] = &self.layouts;
        // SAFETY: an algorithm of this shape, attributes of their own sizes, live handles, a place for the answer.
        let accepted = unsafe {
            (api.cublasLtMatmulAlgoConfigSetAttribute)(
                &raw mut variant,
                CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID,
                (&raw const cluster).cast(),
                size_of::<u16>(),
            ) == 0
                && (api.cublasLtMatmulAlgoConfigSetAttribute)(
                    &raw mut variant,
                    CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION,
                    (&raw const option).cast(),
                    size_of::<u32>(),
                ) == 0
                && (api.cublasLtMatmulAlgoCheck)(
                    self.handle.raw,
                    self.description.raw,
                    b.raw,
                    a.raw,
                    c.raw,
                    c.raw,
                    &raw const variant,
                    &raw mut needs,
                ) == 0
        };
        (accepted && needs.status == 0 && needs.workspace_bytes <= WORKSPACE_BYTES)
            .then_some(variant)
    }

    /// Checks that these operands hold matrices of the shape that was tuned for.
    fn fit(&self, [a, b, c]: [&Buffer; 3]) -> Result<(), GpuError> {
        let [m, n, k] = self.shape;
        a.holds("A", [m, k], 2)?;
        b.holds("B", self.storage_of_b.sides(n, k), 2)?;
        c.holds("C", [m, n], 2)
    }

    fn enqueue(&self, algorithm: &Algorithm, [a, b, c]: [&Buffer; 3]) -> Result<(), GpuError> {
        self.fit([a, b, c])?;
        let (alpha, beta) = (1.0f32, 0.0f32);
        let [b_layout, a_layout, c_layout] = &self.layouts;
        self.context.bind()?;
        // SAFETY: live handles, operands that hold their matrices (checked above), alpha and beta on
        // the host in the scale type, an algorithm of this shape, and a workspace of the size stated.
        let status = unsafe {
            (self.api.cublasLtMatmul)(
                self.handle.raw,
                self.description.raw,
                (&raw const alpha).cast(),
                b.address() as *const c_void,
                b_layout.raw,
                a.address() as *const c_void,
                a_layout.raw,
                (&raw const beta).cast(),
                c.address() as *const c_void,
                c_layout.raw,
                c.address() as *mut c_void,
                c_layout.raw,
                algorithm,
                self.workspace.address() as *mut c_void,
                WORKSPACE_BYTES,
                self.context.stream().cast(),
            )
        };
        self.api.check("cublasLtMatmul", status)
    }
}

impl Drop for CublasLt {
    fn drop(&mut self) {
        let _ = self.context.synchronize(); // before its parts and its workspace go
    }
}

/// One of cuBLASLt's opaque objects, destroyed with this value.
struct Part {
    raw: Opaque,
    destroy: unsafe extern "C" fn(Opaque) -> c_int,
}

impl Part {
    fn new(
        api: &Api,
        call: &'static str,
        destroy: unsafe extern "C" fn(Opaque) -> c_int,
        create: impl FnOnce(*mut Opaque) -> c_int,
    ) -> Result<Self, GpuError> {
        let mut raw = null_mut();
        api.check(call, create(&raw mut raw))?;
        Ok(Self { raw, destroy })
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // SAFETY: made by the matching function in `new`, and destroyed once.
        unsafe { (self.destroy)(self.raw) };
    }
}

impl Api {
    fn check(&self, call: &'static str, status: c_int) -> Result<(), GpuError> {
        check(call, status, self.cublasLtGetStatusString)
    }
}
